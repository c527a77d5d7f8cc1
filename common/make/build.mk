# How things are built. A stage's kernel.cu, compiled for one backend with at most one bug's patch applied, is a shared library,
# build/<backend>/<stage>/<variant>/kernel.so, where the variant is fixed, checked (CPU, instrumented) or bug-<name>. build/<backend>/runner
# loads one and does what is asked. Bug builds on the CPU are instrumented too; the checker sleeps until a test wakes it.
.SECONDEXPANSION:
.DELETE_ON_ERROR:
.SECONDARY:
NVCC := nvcc
# The architectures of kernels: the lab's two, the GPU at hand if nvcc knows it, and PTX for the rest, from 8.0 on: cp.async.
GPU_HERE := $(if $(filter gpu,$(backend)),$(shell \
  nvidia-smi --query-gpu=compute_cap --format=csv$(comma)noheader 2>/dev/null | head -1 | tr -d .))
GPU_ARCHS := $(sort 89 90 $(if $(GPU_HERE),$(filter $(GPU_HERE),$(patsubst sm_%,%,$(shell nvcc --list-gpu-code 2>/dev/null)))))
gencode = $(foreach a,$(1),-gencode arch=compute_$(a)$(comma)code=sm_$(a)) -gencode arch=compute_80$(comma)code=compute_80
GENCODE := $(call gencode,$(GPU_ARCHS))
conf = $(call ask,conf $(1) $(2))
# sm_90a code runs on 9.0 and nowhere else. On a T4 (7.5) ptxas refuses whatever needs more than 7.5 has: such a
# stage is built for the others, and skipped when it runs.
gencode_of = $(if $(filter sm_90a,$(call conf,$(1),target)),-gencode arch=compute_90a$(comma)code=sm_90a,$(strip \
  $(if $(filter-out wmma ldmatrix,$(call conf,$(1),needs)),$(call gencode,$(filter-out 7%,$(GPU_ARCHS))),$(GENCODE))))
# A sibling call leaves no frame behind, and a report would name the caller's caller.
# A product and a sum are two roundings on both backends, unless the source says fmaf.
CXXFLAGS := -std=c++20 -O2 -g -ffp-contract=off -fno-optimize-sibling-calls -Wall -Wextra -Wno-unknown-pragmas
# The harness has no lines, which no report names and addr2line would read each time. Sanitizers want them.
# CXXFLAGS=... of the command line stand alone.
LINES := $(if $(SANITIZE),-g1,-g0)
ifeq ($(filter command,$(firstword $(origin CXXFLAGS))),)
# Of kernels, reports need all lines and what was inlined where (level 1 lacks some), and not in which register a variable is.
# Their fmaf is one instruction on an x86-64 that has it, and else a slow call that gives the same bits.
# They read halves as uint4 and as floats, as nvcc lets them.
KERNEL_FLAGS := -fno-var-tracking -fno-strict-aliasing $(if $(shell grep -swom1 fma /proc/cpuinfo),-mfma)
endif
# g++ calls the checker at every load and store. It would take a uint4 apart into words first; left whole, an access is counted at the
# width that the source gives it. An argument by value of a class (half, uint4) is loaded where the inliner initialises the
# parameter, by a statement without a line, which the line table gives to whatever stands before it: a copy that is not elided has a
# line. A volatile access has a call of its own.
INSTRUMENTATION := -fsanitize=thread -fno-tree-sra -fno-elide-constructors --param tsan-distinguish-volatile=1
# make sanitize: a build of its own. The checker's instrumentation and AddressSanitizer exclude each other.
ifdef SANITIZE
CXXFLAGS += -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all -Wno-clobbered
endif
# g++ remarks on how it once passed a tensor map by value.
NO_PSABI := -Wno-psabi
NVCCFLAGS := -std=c++20 -O3 -fmad=false -lineinfo -ccbin $(CXX) -Xcompiler -Wall

B := build/$(if $(SANITIZE),asan,$(backend))
ifeq ($(backend),gpu)
CUDA_HOME ?= $(patsubst %/bin/nvcc,%,$(shell readlink -f "$$(command -v nvcc)"))
INCLUDES := -I. -DLAB_GPU -isystem $(CUDA_HOME)/include
# The runtime is a library too, which the runner and the kernel that it loads share.
LIBS := -L$(CUDA_HOME)/lib64 -Wl,-rpath,$(CUDA_HOME)/lib64 -lcudart -ldl -lrt -pthread
# A kernel that is loaded when it is launched leaves time for another process between the NaN and the launch.
export CUDA_MODULE_LOADING := EAGER
not_here := $(addprefix checks/,trace/% counters/counters.cpp evolve/cpu/% exercises/kernel_printf.cpp) common/emulator/%
else
INCLUDES := -Icommon/cpu -I.
LIBS := -lboost_context -ldl -pthread $(if $(SANITIZE),-fsanitize=address$(comma)undefined)
not_here := $(addprefix checks/,bench/gpu/% evolve/gpu/%) common/gpu/%
endif
# The runner has what a stage's test needs; commands.so all other commands, for which a first test does not wait.
CORE_SRC := $(wildcard common/*.cpp checks/acceptance/*.cpp checks/races/*.cpp) checks/runner/library.cpp \
  $(addprefix checks/bugs/,trial.cpp elsewhere.cpp hang.cpp) $(addprefix reference/,inputs.cpp npy.cpp) \
  $(if $(filter cpu,$(backend)),checks/exercises/kernel_printf.cpp,$(wildcard common/gpu/*.cpp))
MORE_SRC := $(filter-out $(CORE_SRC) checks/tests/% checks/desk/% checks/budget/% checks/exercises/drills/% checks/exercises/kernel_printf.cpp \
  checks/runner/main.cpp $(not_here),$(wildcard checks/*.cpp checks/*/*.cpp checks/*/*/*.cpp)) checks/desk/patch.cpp \
  reference/wrong_answers.cpp $(if $(filter cpu,$(backend)),checks/exercises/drills/drill.cpp)
FAST_SRC := $(if $(filter cpu,$(backend)),common/emulator/mma.cpp common/emulator/tensor_core.cpp) reference/attention.cpp
EMULATOR_SRC := $(if $(filter cpu,$(backend)),$(filter-out $(FAST_SRC),$(wildcard common/emulator/*.cpp)))
# Sources are compiled several as one text, as most of the time goes into headers and templates that they share. Their anonymous
# namespaces are one then.
core_TEXT := $(CORE_SRC)
emulator-1_TEXT := $(wordlist 1,13,$(EMULATOR_SRC))
emulator-2_TEXT := $(wordlist 14,26,$(EMULATOR_SRC))
emulator-3_TEXT := $(wordlist 27,99,$(EMULATOR_SRC))
more-1_TEXT := $(filter checks/bugs/% checks/backward/% checks/desk/% reference/%,$(MORE_SRC))
more-2_TEXT := $(filter checks/exercises/% checks/fuzz/% checks/evolve/%,$(MORE_SRC))
more-3_TEXT := $(filter-out $(more-1_TEXT) $(more-2_TEXT),$(MORE_SRC))
TEXTS := core $(if $(EMULATOR_SRC),emulator-1 emulator-2 emulator-3) more-1 more-2 more-3
object = $(patsubst %,$(B)/obj/%.o,$(basename $(1)))
RUNNER_OBJ := $(call object,checks/runner/main $(FAST_SRC) $(filter core emulator-%,$(TEXTS)) \
  $(if $(filter gpu,$(backend)),$(wildcard common/gpu/*.cu)))
MORE_OBJ := $(call object,reference/backward $(filter more-%,$(TEXTS)) \
  $(if $(filter gpu,$(backend)),$(wildcard checks/*/gpu/*.cu)))
RUNNER := $(B)/runner
COMMANDS := $(B)/commands.so
# Beside a kernel, for what is asked: `make stage=S test` of a forward stage waits for the runner alone.
first_test = $(and $(stage),$(if $(filter-out test,$(MAKECMDGOALS))$(BACKWARD),,1))
USES = $(RUNNER) $(if $(first_test),,$(COMMANDS))
# The desk as the unit tests see it.
desk-1_TEXT := $(filter-out %/main.cpp checks/desk/patch.cpp,$(wildcard checks/desk/*.cpp))
desk-3_TEXT := $(wildcard checks/desk/learn/*.cpp)
desk-2_TEXT := $(filter-out %/main.cpp,$(wildcard checks/desk/records/*.cpp checks/desk/evolve/*.cpp)) checks/budget/ptxas.cpp
TEXTS += desk-1 desk-2 desk-3
# The desk's other programs, built where a target needs them: for patches, runs judged and exercises; for results and the elite loop.
WORK := build/desk-work
RECORDS := build/desk-records
$(WORK) $(RECORDS): FORCE
	@$(desk_make) $@
# Tests that run no kernel: make sanitize check=quick leaves them out.
HOST_TESTS := $(wildcard $(patsubst %,checks/tests/test_%.cpp,desk_* backward_* results trace block_order expected expression gpu_fit \
  npy pattern ptxas referee reference*))
UNIT_SRC := $(filter-out $(if $(filter quick,$(SANITIZE)),$(HOST_TESTS)),$(wildcard checks/tests/test_*.cpp))
UNIT_OBJ := $(UNIT_SRC:%.cpp=$(B)/obj/%.o) $(filter-out %/runner/main.o,$(RUNNER_OBJ)) $(MORE_OBJ) $(if $(filter quick,$(SANITIZE)),,$(call object,desk-1 desk-2 desk-3))

# A changed flag rebuilds what was built with the old one.
FLAGS := $(CXX) $(CXXFLAGS) $(KERNEL_FLAGS) $(LIBRARY_FLAGS) $(LINES) $(INSTRUMENTATION) | \
  $(NVCC) $(NVCCFLAGS) $(GENCODE) | $(INCLUDES) $(LIBS)
$(B)/flags: FORCE
	@mkdir -p $(@D); printf '%s\n' '$(FLAGS)' | cmp -s - $@ || printf '%s\n' '$(FLAGS)' > $@
FORCE:
.PHONY: FORCE

# Which flags a source or a text takes. Half of what a test spends is in the sources of FAST_SRC; vectors change no bit of what they
# compute, for no order of additions changes.
FAST := $(FAST_SRC) reference/backward.cpp
# Where accesses and calls must stay what they are when optimised.
OPTIMISED_TESTS := $(patsubst %,checks/tests/test_%.cpp,exec_collectives exec_memory)
flags_of = $(CXXFLAGS) $(strip $(if $(filter checks/tests/%_kernels.cpp,$(1)),$(KERNEL_FLAGS) $(NO_PSABI) $(INSTRUMENTED),\
  $(if $(filter $(FAST),$(1)),-O3 $(LINES),$(if $(filter emulator-%,$(1)),$(LINES),\
  $(NO_PSABI) $(if $(filter $(OPTIMISED_TESTS),$(1)),-O2 -g1,$(if $(filter checks/tests/%,$(1)),-O0 -g1,\
  $(if $(filter checks/runner/main.cpp,$(1)),-O0,-O1) $(LINES)))))))
# The checker's own tests bring kernels along, instrumented as a stage's are.
INSTRUMENTED := $(if $(SANITIZE),,$(INSTRUMENTATION))
$(B)/obj/%.o: %.cpp $(B)/flags
	@mkdir -p $(@D)
	@$(CXX) $(call flags_of,$<) $(POSITION) $(INCLUDES) -MMD -MP -c $< -o $@
$(B)/obj/%.o: $(B)/obj/%.text $(B)/flags
	@$(CXX) $(call flags_of,$*) $(POSITION) $(INCLUDES) -fmacro-prefix-map=./= -MMD -MP -x c++ -c $< -o $@
# Changes when a source is added or removed.
$(TEXTS:%=$(B)/obj/%.text): $(B)/obj/%.text: FORCE
	@mkdir -p $(@D); printf '#include "%s"\n' $($*_TEXT) | cmp -s - $@ || printf '#include "%s"\n' $($*_TEXT) > $@
$(B)/obj/%.o: %.cu $(B)/flags
	@mkdir -p $(@D)
	@$(NVCC) $(NVCCFLAGS) $(GENCODE) $(if $(POSITION),-Xcompiler $(POSITION)) -I. -MD -MP -MF $(@:.o=.d) -c $< -o $@
$(MORE_OBJ): POSITION := -fPIC
$(B)/obj/checks/exercises/drills/%.o: POSITION := -fPIC -fvisibility=hidden

# What is linked into a library: what the runner has it finds there when it is loaded, and all else is its own (common/stage.hpp).
LIBRARY_FLAGS := -fPIC -fvisibility=hidden
link_library = $(CXX) -shared -Wl,-z,now $(if $(SANITIZE),-fsanitize=address$(comma)undefined) $(filter %.o,$^) $(1) -o $@

# $* is STAGE/VARIANT.
variant_of = $(notdir $(1))
stage_of = $(patsubst %/,%,$(dir $(1)))
# A kernel of a learner's own is the stage own/NAME.
dir_of = $(if $(filter own/%,$(1)),work,stages)/$(1)
planted_in = $(patsubst bug-%,%,$(filter bug-%,$(call variant_of,$(1))))
patch_in = $(or $(call outside,$(call stage_of,$(1)),$(call planted_in,$(1)).patch),stages/$(call stage_of,$(1))/bugs/$(call planted_in,$(1)).patch)
# Files of bugs=DIR.
outside = $(if $(LAB_BUGS),$(wildcard $(LAB_BUGS)/$(1)/$(2)))
# learn-NN: what build/desk-work has put there of an exercise, instrumented and quick to compile, for interactive use. evolve-ID:
# a candidate that build/desk-records has put there; of those, ptxas says what they take.
learnt_in = $(filter learn-% evolve-%,$(call variant_of,$(1)))
evolved_in = $(filter evolve-%,$(call variant_of,$(1)))
build_log = $(if $(call evolved_in,$(1)),> $(B)/$(1)/kernel.log 2>&1)
instrumented = $(if $(SANITIZE)$(filter fixed,$(call variant_of,$(1))),,$(INSTRUMENTATION))
# A learner's printf has its block and thread in front, and ends after a thousand lines.
printf_of = $(if $(filter learn-%,$(call variant_of,$(1)))$(filter own/%,$(1)),-include checks/exercises/kernel_printf.hpp)
# A bug's kernel takes a third less at -O1, and is found out as soon.
quick_to_build = $(call learnt_in,$(1))$(filter bug-%,$(call variant_of,$(1)))
kernel_source = $(if $(call learnt_in,$(1)),$(B)/$(1)/source.cu,$(strip \
  $(if $(call planted_in,$(1)),$(B)/$(1),$(call dir_of,$(call stage_of,$(1)))))/kernel.cu)
# A bug that forgets a term leaves its parameter unused.
kernel_flags = $(KERNEL_FLAGS) $(if $(call quick_to_build,$(1)),-O1) $(if $(call planted_in,$(1)),-Wno-unused-parameter)
$(B)/%/kernel.o: $$(call kernel_source,$$*) $(B)/flags
	@mkdir -p $(@D)
ifeq ($(backend),gpu)
	@$(NVCC) $(NVCCFLAGS) $(call gencode_of,$(call stage_of,$*)) -Xcompiler $(subst $() $(),$(comma),$(LIBRARY_FLAGS)) -I. \
	  -MD -MP -MF $(@:.o=.d) $(if $(call evolved_in,$*),-Xptxas -v) -c $< -o $@ $(call build_log,$*)
else
	@$(CXX) -x c++ $(CXXFLAGS) $(NO_PSABI) $(call kernel_flags,$*) $(LIBRARY_FLAGS) -fno-plt -ftls-model=initial-exec \
	  $(call printf_of,$*) $(INCLUDES) $(call instrumented,$*) -MMD -MP -c $< -o $@ $(call build_log,$*)
endif

# The kernel with a bug's patch applied. #line directives in it name the lines of kernel.cu and of the patch.
$(B)/%/kernel.cu: stages/$$(call stage_of,$$*)/kernel.cu $$(call patch_in,$$*) checks/scripts/patched.sh
	@mkdir -p $(@D); sh checks/scripts/patched.sh $(call patch_in,$*) > $@

# learn-checked and learn-bug-NAME are the lab's own kernels, as an exercise's.
kernel_dir = $(patsubst %/learn-checked,%/checked,$(subst /learn-bug-,/bug-,$(1)))
$(B)/%/kernel.so: $(B)/$$(call kernel_dir,$$*)/kernel.o $(B)/$$(call stage_of,$$*)/stage.conf | $$(USES)
	@mkdir -p $(@D); $(call link_library,$(if $(filter gpu,$(backend)),$(LIBS)))
# The runner reads what the stage is for beside its kernels.
$(B)/%/stage.conf: $$(call dir_of,$$*)/stage.conf
	@mkdir -p $(@D); cp $< $@
# One instruction's kernel, build/cpu/drill-NAME/learn-NN/kernel.so, with NAME's inputs and answer. $* is NAME/learn-NN.
drill_of = $(patsubst %/,%,$(dir $(1)))
$(B)/drill-%/kernel.so: $(B)/drill-%/kernel.o $(B)/obj/checks/exercises/drills/$$(call drill_of,$$*).o | $$(USES)
	@$(call link_library)

# Signatures belong to the stage, not to the variant, and all of a stage's are compiled as one text, each file in a namespace of its own:
# what they include comes first. With other bugs from outside they are compiled again.
looks_of = $(sort $(wildcard stages/$(1)/bugs/*.cpp)) $(call outside,$(1),*.cpp)
$(B)/%/signatures.text: FORCE
	@mkdir -p $(@D); new=$@.$$$$; { cat /dev/null $(call looks_of,$*) | grep '^#include' | sort -u; \
	  for f in $(call looks_of,$*); do n=$${f##*/}; printf 'namespace bug_%s {\n#include "%s"\n}\n' $${n%.cpp} $$f; done; } > $$new; \
	  if cmp -s $$new $@; then rm $$new; else mv $$new $@; fi
$(B)/%/signatures.so: $(B)/%/signatures.text $(B)/flags
	@$(CXX) $(call flags_of,$<) $(LIBRARY_FLAGS) $(INCLUDES) -fmacro-prefix-map=./= -MMD -MP -MF $@.d -MT $@ -shared -x c++ $< -o $@

# The runner exports all that a library may ask for.
$(RUNNER): $(RUNNER_OBJ)
	@$(CXX) -no-pie -rdynamic $^ $(LIBS) -o $@.new && mv $@.new $@
$(COMMANDS): $(MORE_OBJ) | $(RUNNER)
	@$(CXX) -shared -Wl,-z,now $(if $(SANITIZE),-fsanitize=address$(comma)undefined) $^ $(if $(filter gpu,$(backend)),$(LIBS)) -o $@.new && mv $@.new $@
# The unit tests.
$(B)/unit: $(UNIT_OBJ)
	@$(CXX) -no-pie -g $^ $(LIBS) -o $@

PROBE_wmma := build/gpu/probe_wmma
$(PROBE_wmma): checks/probes/probe_wmma.cu checks/probes/probe.cuh common/wmma_layout.hpp common/mma_layout.hpp $(B)/flags
	@mkdir -p $(@D)
	@$(NVCC) $(NVCCFLAGS) $(GENCODE) -I. -o $@ $<
PROBE_mma := build/gpu/probe_mma
PROBE_mma_SRC := checks/probes/probe_mma.cu common/emulator/tensor_core.cpp
$(PROBE_mma): $(PROBE_mma_SRC) $(wildcard checks/probes/*.hpp checks/probes/*.cuh common/*.hpp common/ptx/*.cuh) \
  common/emulator/tensor_core.hpp $(B)/flags
	@mkdir -p $(@D)
	@$(NVCC) $(NVCCFLAGS) $(GENCODE) -I. -o $@ $(PROBE_mma_SRC)
PROBE_ex2 := build/gpu/probe_ex2
PROBE_ex2_SRC := checks/probes/probe_ex2.cu common/emulator/special_functions.cpp
$(PROBE_ex2): $(PROBE_ex2_SRC) checks/probes/special_functions.hpp checks/probes/probe.cuh common/fp16.hpp \
  common/ptx/ex2.cuh common/ptx/rcp.cuh $(wildcard common/emulator/special_*.hpp) $(B)/flags
	@mkdir -p $(@D)
	@$(NVCC) $(NVCCFLAGS) $(GENCODE) -I. -o $@ $(PROBE_ex2_SRC)
PROBE_wgmma := build/gpu/probe_wgmma
PROBE_wgmma_SRC := checks/probes/probe_wgmma.cu common/emulator/tensor_core.cpp common/gpu/tensor_map.cpp common/tensor_map.cpp
$(PROBE_wgmma): $(PROBE_wgmma_SRC) $(wildcard checks/probes/*.hpp checks/probes/*.cuh common/*.hpp common/ptx/*.cuh) \
  common/emulator/tensor_core.hpp $(B)/flags
	@mkdir -p $(@D)
	@$(NVCC) $(NVCCFLAGS) -gencode arch=compute_90a$(comma)code=sm_90a -DLAB_GPU -I. -o $@ $(PROBE_wgmma_SRC)
PROBE_overlap := build/gpu/probe_overlap
$(PROBE_overlap): checks/probes/probe_overlap.cu checks/probes/probe.cuh common/ptx/ex2.cuh common/ptx/wgmma.cuh $(B)/flags
	@mkdir -p $(@D)
	@$(NVCC) $(NVCCFLAGS) -gencode arch=compute_90a$(comma)code=sm_90a -I. -o $@ $<

-include $(shell find $(B) -name '*.d' 2>/dev/null)

