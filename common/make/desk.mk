# Builds the desk's programs, when they are missing or older than their sources: build/desk, which the Makefile asks, and what
# only some targets need: build/desk-work for patches, runs judged and mutants, build/desk-records for results, tables and pages,
# build/desk-learn for exercises, build/desk-evolve for the elite loop. A make of its own, because the Makefile asks while it is being read; common/make/ask.mk calls it under a lock, so that several
# makes take turns.
#   make -f common/make/desk.mk HOST_CXX=g++ [build/desk-work build/desk-records build/desk-learn build/desk-objects/librecords.a]
MAKEFLAGS += --no-builtin-rules --no-print-directory
O := build/desk-objects
# What searches texts with std::regex takes ten times as long at -O0; nothing else here is worth the time to make it quick.
FLAGS := -std=c++20 -Wall -Wextra -I.
SEARCHES := $(addprefix checks/desk/,mutants records/pages records/tables records/sanitizer_report)
objects = $(patsubst %.cpp,$(O)/%.o,$(filter-out %/main.cpp,$(wildcard $(1))))

# Every make from a clean tree waits for build/desk. Its sources are compiled as two texts, one a core: most of the time would
# go into headers that they share.
ASKED_1 := $(addprefix checks/desk/,main names nearest ladder)
ASKED_2 := $(addprefix checks/desk/,dispatch desk patch) common/conf
build/desk: $(O)/asked-1.o $(O)/asked-2.o
$(O)/asked-%.o: common/make/desk.mk | $(O)/.
	@{ $(foreach source,$(ASKED_$*),echo '#include "$(source).cpp"';) } | $(HOST_CXX) $(FLAGS) -O0 -MMD -MP -MF $(@:.o=.d) -MT $@ -x c++ -c - -o $@
build/desk-work: $(O)/checks/desk/work/main.o $(O)/libdesk.a
build/desk-records: $(O)/checks/desk/records/main.o $(O)/librecords.a $(O)/libdesk.a
build/desk-learn: $(O)/checks/desk/learn/main.o $(O)/liblearn.a $(O)/libdesk.a
build/desk-evolve: $(O)/checks/desk/evolve/main.o $(O)/libevolve.a $(O)/librecords.a $(O)/libdesk.a
build/desk build/desk-work build/desk-records build/desk-learn build/desk-evolve:
	@$(HOST_CXX) $^ -pthread -o $@.new && mv $@.new $@

# What the unit tests link.
$(O)/libdesk.a: $(call objects,checks/desk/*.cpp common/conf.cpp)
$(O)/librecords.a: $(call objects,checks/desk/records/*.cpp checks/bench/bench_samples.cpp checks/budget/ptxas.cpp common/gpu_fit.cpp checks/acceptance/format.cpp)
$(O)/libevolve.a: $(call objects,checks/desk/evolve/*.cpp)
# Two texts, as those of build/desk: whoever begins with an exercise waits for it, and it spends its time waiting itself.
LEARNT_1 := $(addprefix checks/desk/learn/,exercise handout state points attempt lay_out)
LEARNT_2 := $(filter-out $(LEARNT_1) %/main,$(basename $(wildcard checks/desk/learn/*.cpp))) checks/exercises/rule
$(O)/liblearn.a: $(O)/learnt-1.o $(O)/learnt-2.o
$(O)/learnt-%.o: common/make/desk.mk $(wildcard checks/desk/learn) | $(O)/.
	@{ $(foreach source,$(LEARNT_$*),echo '#include "$(source).cpp"';) } | $(HOST_CXX) $(FLAGS) -O0 -MMD -MP -MF $(@:.o=.d) -MT $@ -x c++ -c - -o $@
$(O)/libdesk.a $(O)/librecords.a $(O)/liblearn.a $(O)/libevolve.a:
	@rm -f $@; ar rcs $@ $^

# The standard library is read once (build.mk says more); not for the two texts above, which would wait longer for it.
$(O)/parsed.hpp.gch: common/make/parsed.hpp common/make/desk.mk | $(O)/.
	@cp $< $(@:.gch=) && $(HOST_CXX) $(FLAGS) -O0 -x c++-header $(@:.gch=) -o $@.new && mv $@.new $@
$(O)/%.o: %.cpp common/make/desk.mk | $(O)/parsed.hpp.gch
	@mkdir -p $(@D); $(HOST_CXX) $(FLAGS) $(if $(filter $(SEARCHES),$*),-O1,-O0 -include $(O)/parsed.hpp) -MMD -MP -c $< -o $@
$(O)/.:
	@mkdir -p $@; echo 'building the desk...' >&2

.DELETE_ON_ERROR:
-include $(shell find $(O) -name '*.d' 2>/dev/null)
