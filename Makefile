# The SDPA lab notebook. `make` says what can be done here.
#
# A binary is a stage's kernel.cu, compiled for one backend with at most one bug's patch applied, linked with the harness:
#   build/<backend>/<stage>/<variant>/lab     variant: fixed, checked (CPU, instrumented), bug-<name>
# Bug builds on the CPU are instrumented too; the checker sleeps until a test wakes it.

.DEFAULT_GOAL := help
.SECONDEXPANSION:
.DELETE_ON_ERROR:
.SECONDARY:
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
# A make below this one shares its jobs.
MAKEFLAGS += --no-builtin-rules --no-print-directory $(if $(filter 0,$(MAKELEVEL)),-j$(JOBS))
STAGES_SH := sh common/stages.sh
SHELL := /bin/sh

# --- the user's words: wrong ones are one line and exit status 2 ---------------------------------------------
comma := ,
quote = '$(subst ','\'',$(1))'
asked = $(shell $(STAGES_SH) $(1) 2>&1 || echo ' FAILED')
checked_words = $(if $(filter FAILED,$(1)),$(error $(filter-out FAILED,$(1))),$(1))

backend ?= $(if $(and $(shell command -v nvcc 2>/dev/null),$(shell nvidia-smi -L 2>/dev/null)),gpu,cpu)
ifeq ($(filter $(backend),cpu gpu),)
$(error backend=$(backend) is unknown; it is cpu or gpu)
endif
ifeq ($(backend),gpu)
ifeq ($(shell command -v nvcc 2>/dev/null),)
$(error backend=gpu needs nvcc, which is not on the PATH; backend=cpu runs the same kernels with no GPU)
endif
ifneq ($(filter-out build-gpu,$(MAKECMDGOALS)),)
ifeq ($(shell nvidia-smi -L 2>/dev/null),)
$(error backend=gpu needs a GPU, and nvidia-smi finds none; backend=cpu runs the same kernels with no GPU)
endif
endif
endif

# A misspelt word would be a wrong answer: casual=1 is not causal.
WORDS := stage bug backend full q k v out causal scale seconds seed cases case check only shape rounds json sample
TOOL_WORDS := JOBS CXX CXXFLAGS NVCC NVCCFLAGS CUDA_HOME GPU_ARCHS PYTHON CLANG SANITIZE MAKE MAKEFLAGS SHELL
typed := $(foreach name,$(.VARIABLES),$(if $(findstring command line,$(origin $(name))),$(name)))
odd := $(filter-out $(WORDS) $(TOOL_WORDS) -%,$(typed))
ifneq ($(odd),)
$(error $(firstword $(odd))= means nothing here; the words are $(WORDS))
endif
ifneq ($(bug),)
ifeq ($(stage),)
$(error bug=$(bug) needs stage=NAME; see 'make list')
endif
ifneq ($(filter bench-cpu profile,$(MAKECMDGOALS)),)
$(error $(firstword $(filter bench-cpu profile,$(MAKECMDGOALS))) takes no bug=)
endif
endif
ifeq ($(shell test "$(JOBS)" -ge 1 2>/dev/null && echo good),)
$(error JOBS=$(JOBS): must be a whole number of at least 1)
endif

ALL_STAGES := $(shell $(STAGES_SH) dirs)
ifdef stage
STAGE := $(call checked_words,$(call asked,resolve $(call quote,$(stage))))
ifneq ($(findstring :,$(STAGE)),)
BROKEN := $(STAGE)# a version of the notes that never worked: only its bugs exist
endif
PAIRS := $(call checked_words,$(call asked,bugs $(call quote,$(stage)) $(call quote,$(bug))))
else
PAIRS := $(foreach s,$(ALL_STAGES),$(shell $(STAGES_SH) bugs $(s)))
endif
one_stage = $(if $(stage),,$(error which stage? $@ needs stage=NAME; see 'make list'))

# --- compilers ----------------------------------------------------------------------------------------------
# The first g++ that is new enough; CXX=... overrides.
ifeq ($(origin CXX),default)
CXX := $(or $(firstword $(foreach c,g++ g++-14 g++-13 g++-12,$(shell test "$$($(c) -dumpversion 2>/dev/null | cut -d. -f1)" -ge 12 2>/dev/null && echo $(c)))),g++)
endif
ifeq ($(filter help list clean,$(or $(MAKECMDGOALS),help)),)
CXX_MAJOR := $(shell $(CXX) -dumpversion 2>/dev/null | cut -d. -f1)
ifeq ($(shell test "$(CXX_MAJOR)" -ge 12 2>/dev/null && echo new),)
$(error $(CXX) $(if $(CXX_MAJOR),is version $(CXX_MAJOR),cannot be run); the lab needs g++ 12 or newer (CXX=g++-12 chooses one; sh common/setup.sh installs it))
endif
endif
NVCC := nvcc
GPU_ARCHS := 89 90
# A sibling call leaves no frame behind, and a report would name the caller's caller.
CXXFLAGS := -std=c++20 -O2 -g -fno-optimize-sibling-calls -Wall -Wextra -Wno-unknown-pragmas
# make sanitize: a build of its own. The checker's instrumentation and AddressSanitizer exclude each other.
ifdef SANITIZE
CXXFLAGS += -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all -Wno-clobbered
endif
NVCCFLAGS := -std=c++20 -O3 -lineinfo -ccbin $(CXX) $(foreach a,$(GPU_ARCHS),-gencode arch=compute_$(a),code=sm_$(a)) -Xcompiler -Wall

B := build/$(if $(SANITIZE),asan,$(backend))
ifeq ($(backend),gpu)
CUDA_HOME ?= $(patsubst %/bin/nvcc,%,$(shell readlink -f "$$(command -v nvcc)"))
INCLUDES := -I. -DLAB_GPU -isystem $(CUDA_HOME)/include
LIBS := -L$(CUDA_HOME)/lib64 -lcudart_static -ldl -lrt -pthread
BACKEND_SRC := $(wildcard common/gpu/*.cpp checks/bench/gpu/*.cpp)
else
INCLUDES := -Icommon/cpu -I.
LIBS := -lboost_context -pthread
LIBS += $(if $(SANITIZE),-fsanitize=address$(comma)undefined)
BACKEND_SRC := $(wildcard common/cpu/exec/*.cpp)
endif
LIB_SRC := $(BACKEND_SRC) $(wildcard reference/*.cpp) $(filter-out checks/tests/% checks/desk/% checks/fuzz/fuzz_npy.cpp,$(wildcard checks/*.cpp checks/*/*.cpp)) checks/desk/patch.cpp
LIB_OBJ := $(LIB_SRC:%.cpp=$(B)/obj/%.o) $(if $(filter gpu,$(backend)),$(patsubst %.cu,$(B)/obj/%.o,$(wildcard common/gpu/*.cu checks/bench/gpu/*.cu)))
UNIT_OBJ := $(patsubst %.cpp,$(B)/obj/%.o,$(wildcard checks/tests/test_*.cpp))

# A changed flag rebuilds what was built with the old one.
FLAGS := $(CXX) $(CXXFLAGS) | $(NVCC) $(NVCCFLAGS) | $(INCLUDES) $(LIBS)
$(B)/flags: FORCE
	@mkdir -p $(@D); printf '%s\n' '$(FLAGS)' | cmp -s - $@ || printf '%s\n' '$(FLAGS)' > $@
FORCE:

$(B)/obj/%.o: %.cpp $(B)/flags
	@mkdir -p $(@D)
	@$(CXX) $(CXXFLAGS) $(INCLUDES) -MMD -MP -c $< -o $@

$(B)/obj/%.o: %.cu $(B)/flags
	@mkdir -p $(@D)
	@$(NVCC) $(NVCCFLAGS) -I. -MD -MP -MF $(@:.o=.d) -c $< -o $@

# $* is STAGE/VARIANT.
variant_of = $(notdir $(1))
stage_of = $(patsubst %/,%,$(dir $(1)))
planted_in = $(patsubst bug-%,%,$(filter bug-%,$(call variant_of,$(1))))
instrumented = $(if $(filter fixed,$(call variant_of,$(1))),,-fsanitize=thread)
$(B)/%/kernel.o: $$(if $$(call planted_in,$$*),$(B)/$$*,stages/$$(call stage_of,$$*))/kernel.cu $(B)/flags
	@mkdir -p $(@D)
ifeq ($(backend),gpu)
	@$(NVCC) $(NVCCFLAGS) -I. -MD -MP -MF $(@:.o=.d) -c $< -o $@
else
	@$(CXX) -x c++ $(CXXFLAGS) $(INCLUDES) $(call instrumented,$*) -MMD -MP -c $< -o $@
endif

# The kernel with a bug's patch applied. #line directives in it name the lines of kernel.cu and of the patch.
PATCH := build/patch
$(B)/%/kernel.cu: stages/$$(call stage_of,$$*)/kernel.cu stages/$$(call stage_of,$$*)/bugs/$$(call planted_in,$$*).patch $(PATCH)
	@mkdir -p $(@D)
	@$(PATCH) $(call stage_of,$*) $(call planted_in,$*) $@
$(PATCH): checks/desk/patch.cpp checks/desk/patch_main.cpp checks/desk/patch.hpp reference/bad_input.hpp
	@mkdir -p $(@D)
	@$(CXX) -std=c++20 -O1 -Wall -Wextra -I. $(filter %.cpp,$^) -o $@

# How the kernel was built, for the binary to say.
build_info = -DLAB_STAGE='"$(1)"' -DLAB_BUG='"$(2)"' -DLAB_TARGET='"$(3)"'
$(B)/%/build_info.o: common/build_info.cpp stages/$$(call stage_of,$$*)/stage.conf $(B)/flags
	@mkdir -p $(@D)
	@$(CXX) $(CXXFLAGS) $(INCLUDES) $(if $(filter cpu,$(backend)),$(call instrumented,$*)) -MMD -MP -c $< -o $@ \
	  $(call build_info,$(call stage_of,$*),$(call planted_in,$*),$(shell $(STAGES_SH) conf $(call stage_of,$*) target))
$(B)/obj/unit_build_info.o: common/build_info.cpp $(B)/flags
	@mkdir -p $(@D)
	@$(CXX) $(CXXFLAGS) $(INCLUDES) -MMD -MP -c $< -o $@ $(call build_info,unit tests,,sm_89)

# Fingerprints belong to the stage, not to the variant: their objects serve all of a stage's binaries.
$(B)/%/lab: $(B)/%/kernel.o $(B)/%/build_info.o $$(addprefix $(B)/obj/,$$(addsuffix .o,$$(basename $$(wildcard stages/$$(call stage_of,$$*)/bugs/*.cpp)))) $(B)/liblab.a
	@$(CXX) -no-pie -g $^ $(LIBS) -o $@

$(B)/liblab.a: $(LIB_OBJ)
	@rm -f $@; ar rcs $@ $^

-include $(shell find build -name '*.d' 2>/dev/null)

# Several goals are met one after the other, as they were typed; only what they are built from is made in parallel.
before :=
$(foreach goal,$(MAKECMDGOALS),$(if $(filter $(goal),$(before)),,$(if $(before),$(eval $(goal): | $(lastword $(before))))$(eval before += $(goal))))

lab_of = $(B)/$(1)/$(2)/lab
bug_lab = $(B)/$(firstword $(subst :, ,$(1)))/bug-$(lastword $(subst :, ,$(1)))/lab
fixed_of_pair = $(B)/$(firstword $(subst :, ,$(1)))/$(if $(filter gpu,$(backend)),fixed,checked)/lab

BUG_LABS := $(foreach p,$(PAIRS),$(call bug_lab,$(p)))
FIXED_LABS := $(foreach s,$(ALL_STAGES),$(call lab_of,$(s),fixed))
CHECKED_LABS := $(foreach s,$(ALL_STAGES),$(call lab_of,$(s),checked))
fixed = $(call lab_of,$(1),fixed)
# The correct kernel of a stage as a checker wants it: instrumented, or as it is for compute-sanitizer.
checked = $(call lab_of,$(1),$(if $(filter gpu,$(backend)),fixed,checked))
# What the words name: all correct stages, or one, or the bugs. $(1) is fixed or checked.
chosen = $(if $(stage),$(if $(or $(bug),$(BROKEN)),$(BUG_LABS),$(call $(1),$(STAGE))),$(foreach s,$(ALL_STAGES),$(call $(1),$(s))))

# --- what can be asked --------------------------------------------------------------------------------------
help:
	@cat common/help.txt
list:
	@$(STAGES_SH) list

ifndef stage
test:
	@JOBS=$(JOBS) MAKE='$(MAKE)' backend=$(backend) sh checks/tests/run_all.sh
else ifneq ($(BROKEN)$(bug),)
test: $(BUG_LABS)
	@sh checks/bugs/broken_version.sh '$(stage)' $(foreach p,$(PAIRS),$(p)=$(call bug_lab,$(p)))
else
test: $(call lab_of,$(STAGE),fixed)
	@$< test full=$(or $(full),0)
endif

reproduce-bug: $(foreach p,$(PAIRS),$(call bug_lab,$(p)) $(call fixed_of_pair,$(p)))
	@sh checks/bugs/reproduce.sh '$(stage)' $(foreach p,$(PAIRS),$(p)=$(call bug_lab,$(p))=$(call fixed_of_pair,$(p)))

check-harness: $(BUG_LABS)
	@sh checks/bugs/check_harness.sh $(foreach p,$(PAIRS),$(p)=$(call bug_lab,$(p)))

works = $(if $(BROKEN),$(error stage=$(stage) never worked; its bugs: $(strip $(PAIRS))))
FIXED_LAB := $(if $(stage),$(if $(BROKEN),,$(call lab_of,$(STAGE),fixed)))
run: $(if $(bug),$(BUG_LABS),$(FIXED_LAB))
	$(one_stage)$(if $(bug),,$(works))@$< run $(foreach w,q k v out causal scale,$(if $(filter-out undefined,$(origin $(w))),$(w)=$(call quote,$($(w)))))

# All correct stages, or one, or one bug. Exit status 1 where there are findings.
racecheck: $(call chosen,checked)
ifeq ($(backend),gpu)
	@sh checks/races/sanitizer.sh $^
else
	@status=0; for lab in $^; do $$lab racecheck || status=1; done; exit $$status
endif

# What random problems find. make fuzz [stage=S [bug=B]] [seconds=N] [seed=K] [cases=N] [check=1], or only='...' of a failure.
fuzz: $(call chosen,$(if $(filter 1,$(check)),checked,fixed))
	@sh checks/fuzz/fuzz.sh '$(foreach w,seconds seed cases case check,$(if $($(w)),$(w)=$($(w))))' '$(if $(only),$(only)$(if $(check), check=$(check)))' $^

# libFuzzer on the .npy reader; needs clang and its runtimes.
fuzz-npy:
	@CLANG='$(CLANG)' sh checks/fuzz/fuzz_npy.sh '$(or $(seconds),60)'

# The unit tests and a short acceptance under AddressSanitizer and UndefinedBehaviorSanitizer.
sanitize:
	@$(MAKE) backend=cpu SANITIZE=1 sanitized
sanitized: $(B)/unit $(FIXED_LABS)
	@sh checks/tests/sanitize.sh $^

# Whether the notes' own inputs show each bug; and what each tool sees of it.
blindness: $(FIXED_LABS) $(BUG_LABS)
	@sh checks/bugs/blindness.sh $(B)/STAGE/VARIANT/lab
tools-table: $(CHECKED_LABS) $(BUG_LABS)
	@sh checks/bugs/tools_table.sh $(B)/STAGE/VARIANT/lab

BENCHED := $(or $(if $(BROKEN),,$(STAGE)),v2b_single_warp)
bench-cpu: $(call lab_of,$(BENCHED),fixed) $(call lab_of,$(BENCHED),checked)
	$(works)@mkdir -p build/logs; plain=build/logs/bench-cpu; $< bench-cpu > $$plain || exit 1; cat $$plain; \
	$(lastword $^) bench-cpu plain=$$(sed -n '/^plain, /{s/.*worker[s ]*\([0-9.]*\) s .*/\1/p;q;}' $$plain)

# Times on a GPU, the stages and PyTorch taking turns; stage=S times one stage alone, and bug=B shows that a wrong kernel is
# not timed. json=FILE names the results (all stages: a new file in writeups/results/).
PYTHON ?= python3
ifneq ($(filter bench profile,$(MAKECMDGOALS)),)
ifneq ($(backend),gpu)
$(error make $(filter bench profile,$(MAKECMDGOALS)) needs nvcc and a GPU, and this is backend=$(backend))
endif
endif
bench: $(call chosen,fixed)
	@PYTHON='$(PYTHON)' sh checks/bench/bench.sh '$(or $(shape),all)' '$(rounds)' '$(json)' '$(stage)' $^
peers:
	@$(PYTHON) reference/peers.py shape='$(or $(shape),all)'

# One kernel under Nsight Compute.
profile: $(FIXED_LAB)
	$(one_stage)$(works)@sh checks/bench/profile.sh $< '$(or $(shape),2,8,2048,64)' '$(json)'

# Figures and tables from what is committed under writeups/results/: no GPU. The check needs nothing but Python itself.
plots: .venv/ready
	@.venv/bin/python checks/pages/plots.py draw
plots-check:
	@$(PYTHON) checks/pages/plots.py check
.venv/ready: checks/pages/requirements-plots.txt
	@$(PYTHON) -m venv .venv && .venv/bin/pip install -q --disable-pip-version-check -r $< && touch $@ || \
	  { echo 'make plots needs Python 3.10 or newer with venv, and matplotlib from a package index or a mirror' >&2; exit 2; }

# What the CPU backend gives the figures: shared-memory plans and maps of the bugs' errors. Committed; redone after a change.
MAPPED := $(foreach s,$(ALL_STAGES),$(addprefix $(s):,$(shell $(STAGES_SH) conf $(s) map)))
figure-data: $(foreach p,$(MAPPED),$(call bug_lab,$(p))) $(FIXED_LABS) $(call bug_lab,v2b_single_warp:smem_overflow)
	@sh checks/pages/figure_data.sh $(B) $(MAPPED)

# Every kernel, fixed and with each bug, through nvcc and the linker: needs no GPU.
build-gpu: $(FIXED_LABS) $(BUG_LABS)
	@echo "built for sm_$(subst $(eval ) ,$(comma) sm_,$(GPU_ARCHS)): $(words $^) binaries"

# The checker's own tests bring kernels along, instrumented as a stage's are.
$(B)/obj/checks/tests/%_kernels.o: CXXFLAGS += $(if $(SANITIZE),,-fsanitize=thread)

# Needs nvcc, but no GPU. The JSON is what tables and plots are made from.
resources: $(foreach s,$(ALL_STAGES),build/cpu/$(s)/fixed/lab) $(foreach p,$(PAIRS),build/cpu/$(firstword $(subst :, ,$(p)))/bug-$(lastword $(subst :, ,$(p)))/lab)
	@command -v nvcc > /dev/null || { echo 'make resources needs nvcc, which is not on the PATH' >&2; exit 2; }
	@sh checks/budget/resources.sh build/cpu/STAGE/VARIANT/lab $(json)

climb-table: $(FIXED_LABS) $(BUG_LABS)
	@sh checks/pages/climb_table.sh $(B)/STAGE/VARIANT/lab

# Renews (or, with check=1, compares) every block of real output on the pages. CPU output is deterministic.
PAGES := $(wildcard writeups/*.md writeups/stages/*.md writeups/bugs/*.md)
writeups: $(FIXED_LABS) $(CHECKED_LABS) $(BUG_LABS)
	@env $(addprefix -u ,$(WORDS) JOBS) sh checks/pages/inject.sh $(if $(check),--check) $(PAGES)

unit: $(B)/unit
	@$<
$(B)/unit: $(UNIT_OBJ) $(B)/obj/unit_build_info.o $(B)/liblab.a
	@$(CXX) -no-pie -g $^ $(LIBS) -o $@

clean:
	@rm -rf build
ifneq ($(and $(filter clean,$(MAKECMDGOALS)),$(filter-out clean,$(MAKECMDGOALS))),)
$(shell rm -rf build)# before anything that is asked for beside it is built
endif

# Which element each lane of a fragment holds, on this GPU; check=1 holds common/wmma_layout.hpp against it.
PROBE := build/gpu/probe_wmma
ifneq ($(filter probe-wmma probe-mma,$(MAKECMDGOALS)),)
ifneq ($(backend),gpu)
$(error make $(filter probe-wmma probe-mma,$(MAKECMDGOALS)) needs nvcc and a GPU, and this is backend=$(backend))
endif
endif
probe-wmma: $(PROBE)
	@$< $(if $(filter 1,$(check)),check)
$(PROBE): checks/probes/probe_wmma.cu common/wmma_layout.hpp $(B)/flags
	@mkdir -p $(@D)
	@$(NVCC) $(NVCCFLAGS) -I. -o $@ $<

# Whether the tensor cores of this GPU compute what the CPU's do, to the bit, and where lanes hold what; sample=FILE writes
# measured cases for the unit tests. It always checks; check=1 is taken for likeness.
PROBE_MMA := build/gpu/probe_mma
PROBE_MMA_SRC := checks/probes/probe_mma.cu common/cpu/exec/tensor_core.cpp
probe-mma: $(PROBE_MMA)
	@$< $(if $(sample),$(call quote,sample=$(sample)))
$(PROBE_MMA): $(PROBE_MMA_SRC) $(wildcard checks/probes/*.hpp common/*.hpp common/ptx/*.cuh) common/cpu/exec/tensor_core.hpp $(B)/flags
	@mkdir -p $(@D)
	@$(NVCC) $(NVCCFLAGS) -I. -o $@ $(PROBE_MMA_SRC)

.PHONY: writeups plots plots-check figure-data bench peers profile fuzz fuzz-npy sanitize sanitized blindness tools-table climb-table resources build-gpu help racecheck bench-cpu probe-wmma probe-mma list test reproduce-bug check-harness run unit clean FORCE
