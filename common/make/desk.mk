# Builds the desk's programs, when they are missing or older than their sources: build/desk, which the Makefile asks, and what only
# some targets need: build/desk-work for patches, runs judged and exercises, build/desk-records for results and
# the elite loop. A make of its own, because the Makefile asks while it is being read; common/make/ask.mk calls it under a lock, so that
# several makes take turns.
#   make -f common/make/desk.mk HOST_CXX=g++ [build/desk-work build/desk-records build/desk-objects/librecords.a]
MAKEFLAGS += --no-builtin-rules --no-print-directory
O := build/desk-objects
FLAGS := -std=c++20 -Wall -Wextra -I.

# Several sources are compiled as one text, as most of the time would go into headers and templates that they share; their anonymous
# namespaces are one then. NAME_TEXT lists them; a new file of a room is in its last text by itself. Every make from a clean tree
# waits for asked-1 and -2: one a core.
texts = $(1:%=$(O)/%.o)
rest = $(filter-out $(2) %/main,$(basename $(wildcard $(1))))
asked-1_TEXT := $(addprefix checks/desk/,main ladder)
asked-2_TEXT := $(addprefix checks/desk/,desk patch) common/conf
desk-1_TEXT := $(call rest,checks/desk/*.cpp) common/conf checks/acceptance/verdict checks/expression
searches_TEXT := $(addprefix checks/desk/records/,sanitizer_report)
records-1_TEXT := $(addprefix checks/desk/records/,bench records resources) \
  checks/bench/bench_samples checks/budget/ptxas common/gpu_fit checks/acceptance/format reference/npy
records-2_TEXT := $(call rest,checks/desk/records/*.cpp checks/desk/evolve/*.cpp,$(records-1_TEXT) $(searches_TEXT))
learnt-1_TEXT := $(addprefix checks/exercises/learn/,exercise handout card grade)
learnt-2_TEXT := $(call rest,checks/exercises/learn/*.cpp,$(learnt-1_TEXT)) checks/exercises/rule
# Code that searches texts with std::regex takes ten times as long at -O0, and so does a program with one such object: the linker keeps
# the first copy of a template. Nothing else here is worth the time to make it quick.
text_flags = $(FLAGS) $(if $(filter searches,$(1)),-O1,-O0)
build/desk: $(call texts,asked-1 asked-2)
$(O)/%.o: common/make/desk.mk $(O)/%.text | $(O)/.
	@$(HOST_CXX) $(call text_flags,$*) -MMD -MP -MF $(@:.o=.d) -MT $@ -x c++ -c $(O)/$*.text -o $@
# Changes when a source is added or removed.
$(O)/%.text: FORCE | $(O)/.
	@printf '#include "%s.cpp"\n' $($*_TEXT) | cmp -s - $@ || printf '#include "%s.cpp"\n' $($*_TEXT) > $@
FORCE:
.PHONY: FORCE
.SECONDARY:
build/desk-work: $(O)/checks/desk/work/main.o $(O)/liblearn.a $(O)/libdesk.a
build/desk-records: $(O)/checks/desk/records/main.o $(O)/librecords.a $(O)/libdesk.a
build/desk build/desk-work build/desk-records:
	@$(HOST_CXX) $^ -pthread -o $@.new && mv $@.new $@

# The objects that the unit tests link.
$(O)/libdesk.a: $(call texts,desk-1)
$(O)/librecords.a: $(call texts,records-1 records-2 searches)
$(O)/liblearn.a: $(call texts,learnt-1 learnt-2)
$(O)/libdesk.a $(O)/librecords.a $(O)/liblearn.a:
	@rm -f $@; ar rcs $@ $^
$(O)/checks/%.o: checks/%.cpp common/make/desk.mk
	@mkdir -p $(@D); $(HOST_CXX) $(FLAGS) -O0 -MMD -MP -c $< -o $@
$(O)/.:
	@mkdir -p $@; echo 'building the desk: a minute or so the first time' >&2

.DELETE_ON_ERROR:
-include $(shell find $(O) -name '*.d' 2>/dev/null)
