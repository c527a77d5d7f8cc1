# The user's words: a wrong one is one line and exit status 2, for a misspelt word would be a wrong answer (casual=1 is not
# causal). The lists of goals and words are the Makefile's.
# A word is text, and nothing of it is ever run: the lines below take it as it was typed, before anything expands it, and a recipe reads it
# from its environment, "$$word". No recipe, target or prerequisite pastes a word, and neither does an $(eval).
comma := ,
define newline


endef
quote = '$(subst ','\'',$(1))'
goals_among = $(filter $(1),$(MAKECMDGOALS))
typed := $(foreach _,$(.VARIABLES),$(if $(findstring command line,$(origin $(_))),$(_)))
taken_as_typed = $(if $(findstring $(newline),$(value $(1))),$(error $(1)= holds a line break))$(strip \
  $(if $(strip $(value $(1))),,$(error $(1)= is empty)))$(eval override $(1) := $$(value $(1)))$(eval export $(1))
$(foreach word,$(filter $(WORDS) JOBS GPU_ARCHS SANITIZE,$(typed)),$(call taken_as_typed,$(word)))
# A word is what was typed behind make, and no variable of that name that the environment happens to hold.
$(foreach word,$(filter-out $(typed),$(WORDS)),$(eval override undefine $(word))$(eval unexport $(word)))
# Of the words named, those that were given, as a program takes them: shape="$shape" seed="$seed".
given = $(foreach word,$(1),$(if $(filter $(word),$(typed)),$(word)="$$$(word)"))
# What is left of a text without letters, digits and _ - . / : they alone may become part of a target's name.
strange = $(shell printf %s $(call quote,$(1)) | tr -d 'a-zA-Z0-9_./ -')
# $(call need,WORDS,MESSAGE): all of the words, or make ends with the message.
need = $(if $(filter-out $(typed),$(1)),$(error $(2)))

# A rule looks like a goal, or like a word with its =.
saying = $(if $(call goals_among,predict),$(error predict takes it as say='...', as in make predict n=1 say='row % 16 < 4'))
odd := $(filter-out $(WORDS) $(TOOL_WORDS) -%,$(typed))
ifneq ($(odd),)
$(saying)
$(error $(firstword $(odd))= means nothing here; the words are $(WORDS))
endif
taken := $(foreach goal,$(MAKECMDGOALS),$(WORDS_OF_$(goal)))
takes_all := $(foreach goal,$(MAKECMDGOALS),$(if $(WORDS_OF_$(goal)),,$(goal)))
idle := $(if $(strip $(takes_all)),,$(filter-out $(taken) backend bugs $(TOOL_WORDS) -%,$(typed)))
ifneq ($(and $(MAKECMDGOALS),$(idle)),)
$(error make $(firstword $(MAKECMDGOALS)) takes no $(firstword $(idle))=; its words are $(taken))
endif
ifneq ($(filter-out 1 2 3 4 5 6 7 8 9,$(JOBS)),)
ifneq ($(shell printf %s $(call quote,$(JOBS)) | grep -cx '[1-9][0-9]*'),1)
$(error JOBS=$(JOBS): must be a whole number of at least 1)
endif
endif
$(if $(filter-out whole quick,$(SANITIZE)),$(error SANITIZE is for make sanitize))

# clean beside other goals comes first, before anything that they need is built; not with make -n.
clean_first := $(and $(call goals_among,clean),$(filter-out clean,$(MAKECMDGOALS)))
ifneq ($(and $(clean_first),$(if $(findstring n,$(filter-out -%,$(firstword $(MAKEFLAGS)))),,really)),)
$(shell rm -rf build)
endif

# Asked once: ?= would look for a GPU at each use.
ifeq ($(backend),)
override backend := $(if $(and $(shell command -v nvcc 2>/dev/null),$(shell nvidia-smi -L 2>/dev/null)),gpu,cpu)
endif
ifneq ($(filter-out cpu gpu,$(backend))$(word 2,$(backend)),)
$(error backend=$(backend) is unknown; it is cpu or gpu)
endif
ifeq ($(backend),gpu)
ifeq ($(shell command -v nvcc 2>/dev/null),)
$(error backend=gpu needs nvcc, which is not on the PATH; backend=cpu runs the same kernels with no GPU)
endif
ifneq ($(filter-out host-as-gpu evolve-labs,$(MAKECMDGOALS)),)
ifeq ($(shell nvidia-smi -L 2>/dev/null),)
$(error backend=gpu needs a GPU, and nvidia-smi finds none; backend=cpu runs the same kernels with no GPU)
endif
endif
endif

# Bugs outside of the repository, DIR/STAGE/NAME.patch, .cpp and .exercise: for this make and those below it they lie behind a link.
ifneq ($(bugs),)
linked := $(shell test -d $(call quote,$(bugs)) && mkdir -p build && \
  ln -sfn "$$(realpath $(call quote,$(bugs)))" build/outside-bugs && echo linked)
ifeq ($(linked),)
$(error bugs=$(bugs): there is no such folder)
endif
export LAB_BUGS := build/outside-bugs
endif
ifneq ($(bug),)
$(if $(stage),,$(error bug=$(bug) needs stage=NAME; see 'make list'))
$(if $(call goals_among,profile),$(error profile takes no bug=))
endif
ifneq ($(call goals_among,$(GPU_GOALS)),)
ifneq ($(backend),gpu)
$(error make $(firstword $(call goals_among,$(GPU_GOALS))) needs nvcc and a GPU, and this is backend=$(backend))
endif
endif

# --- compilers: the first g++ that is new enough; CXX=... overrides ---
new_enough = $(shell test "$$($(1) -dumpversion 2>/dev/null | cut -d. -f1)" -ge 12 2>/dev/null && echo $(1))
first_gcc = $(or $(call new_enough,g++),$(call new_enough,g++-14),$(call new_enough,g++-13),$(call new_enough,g++-12))
ifeq ($(origin CXX),default)
CXX := $(or $(first_gcc),g++)
endif
ifneq ($(filter-out help clean,$(MAKECMDGOALS)),)
CXX_MAJOR := $(shell $(CXX) -dumpversion 2>/dev/null | cut -d. -f1)
ifeq ($(shell test "$(CXX_MAJOR)" -ge 12 2>/dev/null && echo new),)
too_old := $(CXX) $(if $(CXX_MAJOR),is version $(CXX_MAJOR),cannot be run)
$(error $(too_old); the lab needs g++ 12 or newer (CXX=g++-12 chooses one; sh common/setup.sh installs it))
endif
# Headers, and the packages that have them.
LIBRARIES := nlohmann/json.hpp nlohmann-json3-dev doctest/doctest.h doctest-dev \
  $(if $(filter cpu,$(backend)),boost/context/detail/fcontext.hpp libboost-context-dev)
lacking := $(shell printf '\043if !__has_include(<%s>)\n%s\n\043endif\n' $(LIBRARIES) | \
  $(CXX) $(filter -I% -isystem% --sysroot%,$(CXXFLAGS)) -E -P -x c++ - 2>&1)
ifneq ($(lacking),)
$(error not installed: $(lacking); sh common/setup.sh installs what the lab needs)
endif
endif

# --- what only the desk can judge: goals, stages, bugs ---
include common/make/ask.mk
odd_goals := $(filter-out $(GOALS) $(INNER_GOALS),$(foreach goal,$(MAKECMDGOALS),$(if $(findstring /,$(goal)),$(if $(call strange,$(goal)),$(goal)),$(goal))))
number := $(firstword $(foreach goal,$(odd_goals),$(if $(shell echo $(call quote,$(goal)) | tr -d 0-9),,$(goal))))
ifneq ($(odd_goals),)
$(saying)
as_n = $(error a number is given as n=, as in make $(firstword $(MAKECMDGOALS)) n=$(number))
$(if $(and $(number),$(filter-out $(number),$(MAKECMDGOALS))),$(as_n))
$(call ask,goals $(foreach goal,$(odd_goals),$(call quote,$(goal))) -- $(GOALS))
endif

# Several goals are met one after the other, as they were typed; only what they are built from is made in parallel.
before :=
in_order = $(if $(before),$(eval $(1): | $(lastword $(before))))$(eval before += $(1))
$(foreach goal,$(MAKECMDGOALS),$(if $(filter $(goal),$(before)),,$(call in_order,$(goal))))
