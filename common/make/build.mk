# How things are built. A binary is a stage's kernel.cu, compiled for one backend with at most one bug's patch applied, linked
# with the harness: build/<backend>/<stage>/<variant>/lab, where the variant is fixed, checked (CPU, instrumented) or bug-<name>; on the CPU `tester` beside it can do what a stage's test needs, and no more.
# Bug builds on the CPU are instrumented too; the checker sleeps until a test wakes it.
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
# Code that only the host runs: lines at most, and no variables, which take a quarter of the time to compile and most of the bytes to link.
# The harness has no lines either: no report names them, and addr2line reads all that are there, each time. Sanitizers want them.
# CXXFLAGS=... of the command line stand alone.
ifeq ($(filter command,$(firstword $(origin CXXFLAGS))),)
HOST_FLAGS := -g1
HARNESS_LINES := $(if $(SANITIZE),-g1,-g0)
# Half of what a test spends is in these; vectors change no bit of what they compute, for no order of additions changes.
HOT_FLAGS := $(HARNESS_LINES) -O3
# Code that reports, compares and launches spends its time elsewhere.
COOL_FLAGS := -O1 $(HARNESS_LINES)
# Most tests take longer to compile than to run.
WARM_FLAGS := $(HOST_FLAGS)
TESTS_FLAGS := -O0 -g1
# doctest's own code takes half as long to compile at -O0 as at -O2.
COLD_FLAGS := -O0 $(HARNESS_LINES)
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

include common/make/texts.mk
B := build/$(if $(SANITIZE),asan,$(backend))
ifeq ($(backend),gpu)
CUDA_HOME ?= $(patsubst %/bin/nvcc,%,$(shell readlink -f "$$(command -v nvcc)"))
INCLUDES := -I. -DLAB_GPU -isystem $(CUDA_HOME)/include
LIBS := -L$(CUDA_HOME)/lib64 -lcudart_static -ldl -lrt -pthread
BACKEND_SRC := $(wildcard common/gpu/*.cpp checks/bench/gpu/*.cpp)
# A kernel that is loaded when it is launched leaves time for another process between the NaN and the launch.
export CUDA_MODULE_LOADING := EAGER
else
INCLUDES := -Icommon/cpu -I.
LIBS := -lboost_context -pthread
LIBS += $(if $(SANITIZE),-fsanitize=address$(comma)undefined)
BACKEND_SRC := $(wildcard common/emulator/*.cpp)
endif
# Hundreds of programs are linked, and GNU's own linker takes twice as long for each as gold, which comes with it on most machines;
# on some it is there and does not link. Tried once, by the first link.
gold_links = $(shell echo 'int main() {}' | $(CXX) -fuse-ld=gold -x c++ - -o build/cpu/gold-$$$$ 2> /dev/null && \
  build/cpu/gold-$$$$ && echo -fuse-ld=gold; rm -f build/cpu/gold-$$$$)
FAST_LINK = $(eval FAST_LINK := $(if $(filter build/cpu,$(B)),$(gold_links)))$(FAST_LINK)
# make sanitize check=quick: no more than executes kernels and watches them.
RUNTIME_ONLY := $(filter quick,$(SANITIZE))
HOST_LIB := $(if $(RUNTIME_ONLY),$(addprefix checks/,acceptance/backward% acceptance/as_stage.cpp trace/% bench/% fuzz/% exercises/% budget/% \
  expression.cpp bugs/blindness.cpp))
NO_LIB = $(HOST_LIB) $(if $(filter gpu,$(backend)),checks/exercises/kernel_printf.cpp) %_commands.cpp \
  $(addprefix checks/,tests/% desk/% evolve/%)
LIB_SRC := $(BACKEND_SRC) $(filter-out common/build_info.cpp,$(wildcard common/*.cpp)) $(wildcard reference/*.cpp) \
  $(filter-out $(NO_LIB),$(wildcard checks/*.cpp checks/*/*.cpp)) checks/desk/patch.cpp
# A stage's test on the CPU: a program of its own, `tester`, so that a first test does not wait for the rest.
TEST_SRC := $(if $(filter cpu,$(backend)),$(filter common/% checks/acceptance/% checks/races/% checks/main.cpp checks/budget/plan.cpp \
  $(addprefix checks/bugs/,trial.cpp forward_trial.cpp)   reference/attention.cpp reference/backward.cpp reference/inputs.cpp,$(filter-out %/run_files.cpp \
  $(patsubst %,checks/acceptance/%.cpp,as_stage backward backward_test forward_run) common/gpu_fit.cpp,$(LIB_SRC))))
TEST_OBJ := $(if $(TEST_SRC),$(call objects_of,$(TEST_SRC)))
LIB_OBJ := $(call objects_of,$(filter-out $(TEST_SRC),$(LIB_SRC))) \
  $(if $(filter gpu,$(backend)),$(patsubst %.cu,$(B)/obj/%.o,$(wildcard common/gpu/*.cu checks/bench/gpu/*.cu)))
# The elite loop's judge: a program for each candidate, so it is linked with what it needs and no more.
JUDGE_SRC := $(wildcard checks/evolve/*.cpp checks/evolve/$(backend)/*.cpp) checks/judge_commands.cpp \
  $(if $(filter cpu,$(backend)),checks/bench/bench_samples.cpp $(wildcard checks/counters/*.cpp))
JUDGE_OBJ := $(JUDGE_SRC:%.cpp=$(B)/obj/%.o) $(patsubst %.cu,$(B)/obj/%.o,$(wildcard checks/evolve/$(backend)/*.cu))
JUDGE_LIB := $(if $(filter cpu,$(backend)),$(B)/libtest.a,$(B)/liblab.a)
LAB_LIBS := $(B)/liblab.a $(if $(TEST_SRC),$(B)/libtest.a)
# The desk as the unit tests see it: what its programs are made of, or a build of its own for the sanitizers.
DESK_SRC := $(filter-out %/main.cpp,$(wildcard $(addprefix checks/,desk/*.cpp desk/records/*.cpp exercises/learn/*.cpp desk/evolve/*.cpp)))
DESK_LIB := $(if $(SANITIZE),$(DESK_SRC:%.cpp=$(B)/obj/%.o),$(strip \
  $(foreach room,learn records desk,build/desk-objects/lib$(room).a)))
# The desk's other programs, built where a target needs them: for patches, runs judged and exercises; for results and the elite loop.
WORK := build/desk-work
RECORDS := build/desk-records
$(WORK) $(RECORDS) $(filter build/desk-objects/%,$(DESK_LIB)): FORCE
	@$(desk_make) $@
# Tests that run no kernel.
HOST_TESTS := $(sort $(wildcard checks/tests/test_desk_*.cpp checks/tests/test_backward_*.cpp) $(tests-3_TEXT) $(tests-4_TEXT) \
  $(judge_TEXT))
UNIT_SRC := $(filter-out $(if $(RUNTIME_ONLY),$(HOST_TESTS)),$(wildcard checks/tests/test_*.cpp))
DESK_LIB := $(if $(RUNTIME_ONLY),,$(DESK_LIB))
UNIT_OBJ := $(call objects_of,$(UNIT_SRC))

# A changed flag rebuilds what was built with the old one.
FLAGS := $(CXX) $(CXXFLAGS) $(foreach heat,HOST HOT COOL WARM TESTS COLD KERNEL,$($(heat)_FLAGS)) $(INSTRUMENTATION) | \
  $(NVCC) $(NVCCFLAGS) $(GENCODE) | $(INCLUDES) $(LIBS)
$(B)/flags: FORCE
	@mkdir -p $(@D); printf '%s\n' '$(FLAGS)' | cmp -s - $@ || printf '%s\n' '$(FLAGS)' > $@
FORCE:
.PHONY: FORCE

# Which flags a source takes, by its path without .cpp; their names, here and below, are those of the precompiled headers too.
# Optimised tests are compiled without a precompiled header: with one, g++ 12 warns of what is wrong with its own std::string.
HOT := common/emulator/mma common/emulator/tensor_core reference/attention reference/backward
COLD := checks/main checks/tests/test_main
# Where accesses and calls must stay what they are when optimised.
WARM := $(addprefix checks/tests/test_,exec_collectives exec_memory)
TESTS := $(filter-out $(WARM),$(basename $(wildcard checks/tests/test_*.cpp)))
COOL := $(addprefix common/emulator/,findings launch mbarrier_story standing) checks/% stages/%
heat_of = $(or $(if $(filter checks/tests/%_kernels,$(1)),KERNEL),$(strip \
  $(firstword $(foreach heat,HOT COLD WARM TESTS COOL,$(if $(filter $($(heat)),$(1)),$(heat))))),HOST)
PLAIN_FLAGS := $(KERNEL_FLAGS)
LEARNT_FLAGS := $(KERNEL_FLAGS) -O1
# The checker's own tests bring kernels along, instrumented as a stage's are.
INSTRUMENTED := $(if $(SANITIZE),,$(INSTRUMENTATION))
obj_flags = $(CXXFLAGS) $($(1)_FLAGS) $(if $(filter KERNEL PLAIN LEARNT COOL WARM TESTS,$(1)),$(NO_PSABI)) \
  $(if $(filter KERNEL LEARNT,$(1)),$(INSTRUMENTED))

# A precompiled header serves compilations with just its flags; where it does not fit, the compiler reads the header itself.
# It is moved into place whole: another make's compiler may be reading the one before. Objects need not follow it: what they are
# made of, their own prerequisites say. For a kernel or two it would take longer than it saves.
MANY_KERNELS := $(if $(stage),,$(foreach goal,$(MAKECMDGOALS),$(if $(findstring /,$(goal)),,$(goal))))
MANY_LEARNERS := $(word 10,$(filter %/learner,$(MAKECMDGOALS)))
PARSED := $(if $(filter build/cpu,$(B)),HOST COOL TESTS $(if $(MANY_KERNELS),KERNEL PLAIN) \
  $(if $(MANY_KERNELS)$(MANY_LEARNERS),LEARNT))
parsed_gch = $(addprefix $(B)/parsed/,$(addsuffix .hpp.gch,$(filter $(PARSED),$(1))))
parsed = $(patsubst %.gch,-include %,$(call parsed_gch,$(1)))
$(B)/parsed/%.hpp.gch: common/make/parsed.hpp $(B)/flags
	@mkdir -p $(@D); { cat $<$(if $(filter TESTS,$*),; printf '#include <%s>\n' doctest/doctest.h nlohmann/json.hpp); } > $(@:.gch=)
	@$(CXX) $(call obj_flags,$*) -x c++-header $(@:.gch=) -o $@.new && mv $@.new $@

$(B)/obj/%.o: %.cpp $(B)/flags | $$(call parsed_gch,$$(call heat_of,$$*))
	@mkdir -p $(@D)
	@$(CXX) $(call obj_flags,$(call heat_of,$*)) $(call parsed,$(call heat_of,$*)) $(INCLUDES) -MMD -MP -c $< -o $@

$(TEXTS:%=$(B)/obj/%.o): $(B)/obj/%.o: $(B)/obj/%.text $(B)/flags | $$(call parsed_gch,$$(call text_heat,$$*))
	@$(CXX) $(call obj_flags,$(call text_heat,$*)) $(call parsed,$(call text_heat,$*)) $(INCLUDES) -fmacro-prefix-map=./= \
	  -MMD -MP -x c++ -c $< -o $@
# Changes when a source is added or removed.
$(B)/obj/%.text: FORCE
	@mkdir -p $(@D); printf '#include "%s"\n' $($*_TEXT) | cmp -s - $@ || printf '#include "%s"\n' $($*_TEXT) > $@

$(B)/obj/%.o: %.cu $(B)/flags
	@mkdir -p $(@D)
	@$(NVCC) $(NVCCFLAGS) $(GENCODE) -I. -MD -MP -MF $(@:.o=.d) -c $< -o $@

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
instrumented = $(if $(filter fixed,$(call variant_of,$(1))),,$(INSTRUMENTATION))
# A learner's printf has its block and thread in front, and ends after a thousand lines.
printf_of = $(if $(filter learn-%,$(call variant_of,$(1)))$(filter own/%,$(1)),-include checks/exercises/kernel_printf.hpp)
# A bug's kernel takes a third less at -O1, and is found out as soon.
quick_to_build = $(call learnt_in,$(1))$(filter bug-%,$(call variant_of,$(1)))
kernel_heat = $(if $(call quick_to_build,$(1)),LEARNT,$(if $(filter fixed,$(call variant_of,$(1))),PLAIN,KERNEL))
kernel_source = $(if $(call learnt_in,$(1)),$(B)/$(1)/source.cu,$(strip \
  $(if $(call planted_in,$(1)),$(B)/$(1),$(call dir_of,$(call stage_of,$(1)))))/kernel.cu)
# A bug that forgets a term leaves its parameter unused.
kernel_flags = $(if $(call quick_to_build,$(1)),$(LEARNT_FLAGS),$(KERNEL_FLAGS)) \
  $(if $(call planted_in,$(1)),-Wno-unused-parameter)
$(B)/%/kernel.o: $$(call kernel_source,$$*) $(B)/flags | $$(call parsed_gch,$$(call kernel_heat,$$*))
	@mkdir -p $(@D)
ifeq ($(backend),gpu)
	@$(NVCC) $(NVCCFLAGS) $(call gencode_of,$(call stage_of,$*)) -I. -MD -MP -MF $(@:.o=.d) \
	  $(if $(call evolved_in,$*),-Xptxas -v) -c $< -o $@ $(call build_log,$*)
else
	@$(CXX) -x c++ $(CXXFLAGS) $(NO_PSABI) $(call kernel_flags,$*) $(call parsed,$(call kernel_heat,$*)) $(call printf_of,$*) \
	  $(INCLUDES) $(call instrumented,$*) -MMD -MP -c $< -o $@ $(call build_log,$*)
endif

# The kernel with a bug's patch applied. #line directives in it name the lines of kernel.cu and of the patch.
$(B)/%/kernel.cu: stages/$$(call stage_of,$$*)/kernel.cu $$(call patch_in,$$*) checks/scripts/patched.sh
	@mkdir -p $(@D); sh checks/scripts/patched.sh $(call patch_in,$*) > $@

# How the kernel was built, for the binary to say.
build_info = -DLAB_STAGE='"$(1)"' -DLAB_BUG='"$(2)"'
$(B)/%/build_info.o: common/build_info.cpp $(B)/flags
	@mkdir -p $(@D)
	@$(CXX) $(CXXFLAGS) $(INCLUDES) $(if $(filter cpu,$(backend)),$(call instrumented,$*)) -MMD -MP -c $< -o $@ \
	  $(call build_info,$(notdir $(call stage_of,$*)),$(call planted_in,$*))
$(B)/obj/unit_build_info.o: common/build_info.cpp $(B)/flags
	@mkdir -p $(@D)
	@$(CXX) $(CXXFLAGS) $(INCLUDES) -MMD -MP -c $< -o $@ $(call build_info,unit tests,)

# Which bugs from outside a stage has: with others its binaries are linked again.
from_outside = $(if $(call outside,$(1),*.cpp),$(shell realpath $(LAB_BUGS)) $(call outside,$(1),*.cpp))
$(B)/%/outside: FORCE
	@mkdir -p $(@D); echo '$(call from_outside,$*)' | cmp -s - $@ || echo '$(call from_outside,$*)' > $@

# A stage's target, from its stage.conf.
$(B)/%/stage_conf.o: common/stage_conf.cpp $$(call dir_of,$$*)/stage.conf $(B)/flags $(B)/%/outside
	@mkdir -p $(@D)
	@$(CXX) $(CXXFLAGS) $(INCLUDES) -DLAB_TARGET='"$(call conf,$*,target)"' -DLAB_NEEDS='"$(call conf,$*,needs)"' \
	  -DLAB_SMEM=$(or $(call conf,$*,smem),0) -MMD -MP -c $< -o $@

# Fingerprints belong to the stage, not to the variant, and all of a stage's are compiled as one text, each file in a namespace of its own:
# what they include comes first.
looks_of = $(sort $(wildcard stages/$(1)/bugs/*.cpp))
$(B)/obj/fingerprints/%.text: FORCE
	@mkdir -p $(@D); new=$@.$$$$; { cat /dev/null $(call looks_of,$*) | grep '^#include' | sort -u; \
	  for f in $(call looks_of,$*); do n=$${f##*/}; printf 'namespace bug_%s {\n#include "%s"\n}\n' $${n%.cpp} $$f; done; } > $$new; \
	  if cmp -s $$new $@; then rm $$new; else mv $$new $@; fi
$(B)/obj/fingerprints/%.o: $(B)/obj/fingerprints/%.text $(B)/flags | $(call parsed_gch,COOL)
	@$(CXX) $(call obj_flags,COOL) $(call parsed,COOL) $(INCLUDES) -fmacro-prefix-map=./= -MMD -MP -x c++ -c $< -o $@
fingerprints_of = $(if $(call looks_of,$(1)),$(B)/obj/fingerprints/$(1).o) $(patsubst %.cpp,$(B)/obj/%.o,$(call outside,$(1),*.cpp))
commands_of = $(B)/obj/checks/$(if $(filter $(1),$(BACKWARD_STAGES)),backward,all)_commands.o
$(B)/%/lab: $(B)/%/kernel.o $(B)/%/build_info.o $(B)/$$(call stage_of,$$*)/stage_conf.o \
  $$(call fingerprints_of,$$(call stage_of,$$*)) $$(call commands_of,$$(call stage_of,$$*)) $(LAB_LIBS)
	@$(CXX) -no-pie -g $(FAST_LINK) $^ $(LIBS) -o $@
$(B)/%/tester: $(B)/%/kernel.o $(B)/%/build_info.o $(B)/$$(call stage_of,$$*)/stage_conf.o $(B)/obj/checks/test_commands.o \
  $$(if $$(findstring own/,$$*),$(B)/obj/checks/exercises/kernel_printf.o) $(B)/libtest.a
	@$(CXX) -no-pie -g $(FAST_LINK) $^ $(LIBS) -o $@
# The needs of an exercise's checks, and no more: a first one does not wait for the rest.
LEARNER_OBJ := $(patsubst %.cpp,$(B)/obj/%.o,$(filter-out %/backward.cpp,$(wildcard checks/exercises/*.cpp)) checks/learner_commands.cpp \
  $(patsubst %,checks/bugs/%.cpp,signature find_source_line gpu_child_process hang) \
  checks/fuzz/fuzz.cpp checks/bench/bench_samples.cpp checks/desk/patch.cpp reference/wrong_answers.cpp)
# Of a backward stage, whose exercises are few, all of its commands.
learner_objects = $(if $(filter $(call stage_of,$(1)),$(BACKWARD_STAGES)),$(B)/obj/checks/backward_commands.o $(LAB_LIBS),$(strip \
  $(LEARNER_OBJ) $(B)/libtest.a))
# learn-checked and learn-bug-NAME are the lab's own kernels, linked as an exercise's.
kernel_dir = $(patsubst %/learn-checked,%/checked,$(subst /learn-bug-,/bug-,$(1)))
$(B)/%/learner: $(B)/$$(call kernel_dir,$$*)/kernel.o \
  $(B)/$$(if $$(call learnt_in,$$*),$$(call stage_of,$$*)/checked,$$*)/build_info.o $(B)/$$(call stage_of,$$*)/stage_conf.o \
  $$(call fingerprints_of,$$(call stage_of,$$*)) $$(call learner_objects,$$*)
	@mkdir -p $(@D)
	@$(CXX) -no-pie -g $(FAST_LINK) $^ $(LIBS) -o $@
$(B)/%/judge: $(B)/%/kernel.o $(B)/$$(call stage_of,$$*)/$(if $(filter cpu,$(backend)),checked,fixed)/build_info.o \
  $(B)/$$(call stage_of,$$*)/stage_conf.o $(JUDGE_OBJ) $(JUDGE_LIB)
	@$(CXX) -no-pie -g $(FAST_LINK) $^ $(LIBS) -o $@
# One instruction's kernel: build/cpu/drill-NAME/learn-NN/learner, with NAME's inputs and answer. $* is NAME/learn-NN.
drill_of = $(patsubst %/,%,$(dir $(1)))
$(B)/obj/drill_build_info.o: common/build_info.cpp $(B)/flags
	@mkdir -p $(@D)
	@$(CXX) $(CXXFLAGS) $(INCLUDES) -fsanitize=thread -MMD -MP -c $< -o $@ $(call build_info,drill,)
$(B)/drill-%/learner: $(B)/drill-%/kernel.o $(B)/obj/checks/exercises/drills/$$(call drill_of,$$*).o \
  $(addprefix $(B)/obj/checks/exercises/,drills/drill.o kernel_printf.o counted_words.o) $(B)/obj/drill_build_info.o \
  $(B)/obj/common/stage_conf.o $(B)/libtest.a
	@$(CXX) -no-pie -g $(FAST_LINK) $^ $(LIBS) -o $@

$(B)/liblab.a: $(LIB_OBJ)
$(B)/libtest.a: $(TEST_OBJ)
$(B)/liblab.a $(B)/libtest.a:
	@rm -f $@; ar rcs $@ $^

# The unit tests.
$(B)/unit: $(UNIT_OBJ) $(B)/obj/unit_build_info.o $(if $(RUNTIME_ONLY),,$(filter %/referee.o %/device.o,$(JUDGE_OBJ))) \
  $(DESK_LIB) $(LAB_LIBS)
	@$(CXX) -no-pie -g $(FAST_LINK) $^ $(LIBS) -o $@

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

