# The SDPA lab notebook. `make` says what can be done here. A stage's kernel.cu, compiled for one backend with at most one bug's patch
# applied, is a shared library, build/BACKEND/STAGE/VARIANT/kernel.so; the variant is fixed, checked (CPU, instrumented), bug-NAME, learn-NN or evolve-ID.
# build/BACKEND/runner loads one, and judges. Copying, listing and scheduling is done here and in checks/scripts.
.DEFAULT_GOAL := help
PYTHON ?= python3
comma := ,
define newline


endef

# --- words ---
GOALS := help list clean test reproduce-bug show-bug edit-bug save-bug check-harness run check racecheck fuzz counters trace bits unit sanitize
GOALS += exercise predict try hint solution grade bench profile resources evolve writeups plots probe
INNER_GOALS := built ci check-builds sanitized evolve-labs
WORDS := stage bug bugs backend full q k v do dq dk dv out causal scale seconds seed cases check only shape rounds json
WORDS += sample n new again all say give-up lines minutes tile quick record assigned what file args include verbose
# A word is text, and nothing of it is ever run: it is taken as it was typed, before anything expands it, and a recipe reads it from its
# environment, "$$word". No recipe, target or prerequisite pastes a word, and neither does an $(eval).
quote = '$(subst ','\'',$(1))'
typed := $(foreach _,$(.VARIABLES),$(if $(findstring command line,$(origin $(_))),$(_)))
taken_as_typed = $(if $(findstring $(newline),$(value $(1))),$(error $(1)= holds a line break))$(strip \
  $(if $(strip $(value $(1))),,$(error $(1)= is empty)))$(eval override $(1) := $$(value $(1)))$(eval export $(1))
$(foreach word,$(filter $(WORDS) JOBS GPU_ARCHS SANITIZE,$(typed)),$(call taken_as_typed,$(word)))
# A word is what was typed behind make, and no variable of that name that the environment happens to hold.
$(foreach word,$(filter-out $(typed),$(WORDS)),$(eval override undefine $(word))$(eval unexport $(word)))
# Of the words named, those that were given, as a program takes them: shape="$shape" seed="$seed".
given = $(foreach word,$(1),$(if $(filter $(word),$(typed)),$(word)="$$$(word)"))
override JOBS := $(if $(filter undefined,$(origin JOBS)),$(shell nproc 2>/dev/null || echo 2),$(value JOBS))
# A script finds out all at once: whether words and goals mean something; backend, compiler, stages and bugs.
ifneq ($(filter-out help clean,$(MAKECMDGOALS))$(typed),)
ask = $(foreach word,$(1),$(word)=$(call quote,$($(word))))
answer := $(shell goals=$(call quote,$(MAKECMDGOALS)) flags=$(call quote,$(filter -I% -isystem% --sysroot%,$(CXXFLAGS))) \
  $(call ask,typed GOALS INNER_GOALS WORDS stage bug bugs backend what only record quick full verbose new again all seconds cases rounds n check JOBS SANITIZE MAKELEVEL \
  $(if $(filter default undefined,$(origin CXX)),,CXX)) sh checks/scripts/begin.sh)
$(if $(filter ERROR,$(firstword $(answer))),$(error $(wordlist 2,999,$(answer))))
$(foreach fact,$(answer),$(eval $(subst |, ,$(subst =,:=,$(fact)))))
endif
MAKEFLAGS += --no-builtin-rules --no-print-directory $(if $(filter 0,$(MAKELEVEL)),-j$(JOBS))
# A program that calls make finds it in $$MAKE, not in $(MAKE): make -n would start it. alone.sh: no jobserver for it.
export MAKE RUNNER OWN
ALONE := sh checks/scripts/alone.sh
$(if $(bugs),$(eval export LAB_BUGS := build/outside-bugs))
BROKEN := $(if $(stage),$(if $(STAGE),,$(stage)))
BACKWARD := $(filter $(STAGE),$(BACKWARD_STAGES))
# A goal that writes files that the caller names: outputs.sh refuses to lose one that is there.
keep = sh checks/scripts/outputs.sh $@ '$(1)'

# --- which libraries a call means: of all correct kernels, of one, or of bugs ---
B := build/$(if $(SANITIZE),asan,$(backend))
GPU := $(filter gpu,$(backend))
RUNNER := $(B)/runner
fixed = $(foreach s,$(1),$(B)/$(s)/fixed/kernel.so)
checked = $(foreach s,$(1),$(B)/$(s)/$(if $(GPU),fixed,checked)/kernel.so)
planted = $(foreach pair,$(1),$(B)/$(subst :,/bug-,$(pair))/kernel.so)
EVERY_STAGE := $(ALL_STAGES) $(BACKWARD_STAGES)
THE_PAIRS := $(if $(stage),$(PAIRS),$(ALL_PAIRS) $(BACKWARD_PAIRS))
BUGS := $(call planted,$(THE_PAIRS))
HOMES := $(sort $(foreach pair,$(THE_PAIRS),$(firstword $(subst :, ,$(pair)))))
SIGNATURES := $(HOMES:%=$(B)/%/signatures.so)
chosen = $(if $(stage),$(if $(bug)$(BROKEN),$(BUGS),$(call $(1),$(STAGE))),$(call $(1),$(2) $(ALL_STAGES)))

# --- flags ---
# No sibling calls: they leave no frame behind, and a report would name the caller's caller. A product and a sum are two roundings on
# both backends, unless the source says fmaf. g++ remarks on how it once passed a tensor map by value: -Wno-psabi.
CXXFLAGS := -std=c++20 -O2 -g -ffp-contract=off -fno-optimize-sibling-calls -Wall -Wextra -Wno-unknown-pragmas -Wno-psabi
# Reports need the lines of kernels, no variables: -g1. fmaf and a half's conversion are one instruction each, or slow code of the same bits.
# Kernels read halves as uint4, as nvcc lets them. CXXFLAGS=... of the command line stand alone.
KERNEL_FLAGS := $(if $(filter CXXFLAGS,$(typed)),,-g1 -fno-strict-aliasing $(addprefix -m,$(sort $(shell grep -m1 ^flags /proc/cpuinfo | grep -ow 'fma\|f16c'))))
# g++ calls the checker at every load and store: of a whole uint4, not of its words; of a volatile too. A copy that is not elided has a
# line of its own, which a statement that loads an argument of a class has not. Once the calls are placed, better registers and jumps cost
# a third of the compile time, and save none when the kernel runs: they are left out. AddressSanitizer excludes all this.
INSTRUMENTATION := $(if $(SANITIZE),,-fsanitize=thread,bounds -fno-tree-sra -fno-elide-constructors --param tsan-distinguish-volatile=1 \
  --param tsan-instrument-func-entry-exit=0 -fira-region=one $(addprefix -fno-,forward-propagate cprop-registers dse split-wide-types if-conversion if-conversion2 move-loop-invariants reorder-blocks shrink-wrap))
ASAN := $(if $(SANITIZE),-fsanitize=address$(comma)undefined)
override CXXFLAGS += $(if $(SANITIZE),-fno-omit-frame-pointer $(ASAN) -fno-sanitize-recover=all -Wno-clobbered)
# The functions that the runner asks for are declared visible (common/attention.hpp); all else is the library's own.
LIBRARY_FLAGS := -fPIC -fvisibility=hidden
NVCC := nvcc
NVCCFLAGS := -std=c++20 -O3 -fmad=false -lineinfo -ccbin $(CXX) -Xcompiler -Wall
# For the lab's two architectures, the GPU at hand, and as PTX for the rest, from 8.0 on: cp.async. sm_90a code runs on 9.0 alone. For a
# T4 (7.5) ptxas refuses whatever needs more than 7.5 has: such a stage is built for the others, and skipped when it runs.
gencode = $(foreach a,$(1),-gencode arch=compute_$(a)$(comma)code=sm_$(a)) -gencode arch=compute_80$(comma)code=compute_80
SM_90A := -gencode arch=compute_90a$(comma)code=sm_90a
gencode_of = $(if $(filter sm_90a,$(target_$(1))),$(SM_90A),$(strip \
  $(call gencode,$(filter-out $(if $(filter-out wmma ldmatrix,$(needs_$(1))),7%),$(GPU_ARCHS)))))
ifdef GPU
INCLUDES := -I. -DLAB_GPU -isystem $(CUDA_HOME)/include
# The runtime is a library too, which the runner and the kernel that it loads share.
LIBS := -L$(CUDA_HOME)/lib64 -Wl,-rpath,$(CUDA_HOME)/lib64 -lcudart -ldl -lrt -pthread
# A kernel that is loaded when it is launched leaves time for another process between the NaN and the launch.
export CUDA_MODULE_LOADING := EAGER
else
INCLUDES := -Icommon/cpu -I.
LIBS := -lboost_context -ldl -pthread $(ASAN)
endif
# A file that changes with what it holds: a changed flag rebuilds what was built with the old one.
held = $(if $(COMPILES),$(shell mkdir -p $(dir $(1)); printf $(2) | cmp -s - $(1) || printf $(2) > $(1)))
$(call held,$(B)/flags,'%s\n' $(call quote,$(CXX) $(CXXFLAGS) $(KERNEL_FLAGS) $(INSTRUMENTATION) $(NVCC) $(NVCCFLAGS) $(GPU_ARCHS) $(INCLUDES) $(LIBS)))

# --- the runner, its libraries, the unit tests ---
.SECONDEXPANSION .DELETE_ON_ERROR .SECONDARY FORCE:
# How much is done, and the time left, in a line that the next one replaces. A dry run says how many steps there are.
STEPS ?= $(eval STEPS := $(shell STEPS=0 $(MAKE) -n $(foreach word,$(typed),$(word)=$(call quote,$(value $(word)))) \
  $(foreach goal,$(MAKECMDGOALS),$(call quote,$(goal))) 2>&1 | grep -c scripts/progress.sh))$(STEPS)
building = $(eval BUILT += x)sh checks/scripts/progress.sh $(words $(BUILT)) '$(STEPS)' $(BEGUN) $@; mkdir -p $(@D);
BEGUN := $(shell date +%s)
# Sources of a kind are compiled as one text, with one anonymous namespace: two thirds of the time goes into headers that they share.
all_in = $(wildcard $(1:%=%/*.cpp))
# Half of what a test spends is in these; vectors change no bit of what they compute, for no order of additions changes.
FAST := $(if $(GPU),,$(addprefix common/emulator/,mma.cpp tensor_core.cpp thread_clocks.cpp)) reference/attention.cpp reference/backward.cpp
emulator := $(filter-out $(FAST),$(call all_in,common/emulator))
core := $(call all_in,common checks/acceptance checks/races checks/fuzz $(if $(GPU),common/gpu)) reference/inputs.cpp reference/npy.cpp \
  $(patsubst %,checks/%.cpp,runner/library runner/run runner/forked counters/floor bugs/trial bugs/gpu_child_process bugs/hang bench/shapes $(if $(GPU),,exercises/kernel_printf))
# commands.so: all commands but a stage's test, which waits for the runner alone, and fuzz: sanitize runs no other.
bugs_text := $(filter-out $(core),$(call all_in,checks/bugs)) reference/wrong_answers.cpp
exercises_text := $(filter-out $(core) $(if $(GPU),%/kernel_printf.cpp),$(call all_in,checks/exercises $(if $(GPU),,checks/exercises/drills)))
evidence_text := checks/runner/commands.cpp $(filter-out $(core) $(if $(GPU),%/counters.cpp),\
  $(call all_in,checks/bits checks/counters checks/bench $(if $(GPU),checks/bench/gpu,checks/trace)))
search_text := $(call all_in,checks/search)
MORE := bugs_text exercises_text evidence_text search_text
# Linked to a checked CUDA file, beside the emulator; and the front end that rewrites it.
program := common/frontend/program.cpp $(patsubst %,common/%.cpp,conf counts hang)
frontend := $(filter-out $(program),$(call all_in,common/frontend))
TEXTS := core $(if $(GPU),,emulator program frontend) $(MORE) host_tests kernel_tests
object = $(patsubst %,$(B)/obj/%.o,$(basename $(1)))
CORE_OBJ := $(call object,core $(if $(GPU),$(wildcard common/gpu/*.cu),emulator) $(FAST))
MORE_OBJ := $(call object,$(MORE) $(if $(GPU),$(wildcard checks/*/gpu/*.cu)))
# Unit tests are two texts, but for those whose headers' names clash. make sanitize check=quick leaves out those that run no kernel, and commands.so.
host_tests := $(patsubst %,checks/tests/test_%.cpp,backward_expected backward_reference bench bug_verdicts conf evolve expected gpu_fit learners_rule npy pattern reference reference_inputs reference_wrong trace validator)
apart := $(filter %arithmetic.cpp %block_order.cpp %main.cpp %schedule.cpp %_kernels.cpp %.cu,$(wildcard checks/tests/test_*))
kernel_tests := $(filter-out $(host_tests) $(apart),$(wildcard checks/tests/test_*.cpp))
UNIT_OBJ := $(call object,kernel_tests $(apart)) $(CORE_OBJ) $(if $(filter quick,$(SANITIZE)),,$(call object,host_tests) $(MORE_OBJ))
# Reports name no line of the harness; sanitizers do. Kernels in tests are instrumented; where calls or arithmetic take the time, they are optimised.
LINES := $(if $(SANITIZE),-g1,-g0)
$(B)/obj/%: OPTIMISE = $(if $(SANITIZE),$(if $(findstring emulator,$@),-O1,-O0),$(if $(findstring emulator,$@),,-O1)) $(LINES)
$(call object,$(FAST)): OPTIMISE = -O3 $(LINES)
$(B)/obj/checks/tests/% $(call object,host_tests kernel_tests checks/runner/main): OPTIMISE = -O$(if $(findstring host,$@)$(findstring arithmetic,$@),1,0) -g1
$(call object,$(wildcard checks/tests/*_kernels.cpp)): OPTIMISE = $(KERNEL_FLAGS) $(INSTRUMENTATION)
$(MORE_OBJ): POSITION := -fPIC
compile = $(CXX) $(CXXFLAGS) $(OPTIMISE) $(POSITION) $(INCLUDES) -MMD -MP
$(B)/obj/%.o: %.cpp $(B)/flags ; @$(building) $(compile) -c $< -o $@
$(foreach text,$(TEXTS),$(call held,$(B)/obj/$(text).text,'#include "%s"\n' $($(text))))
$(TEXTS:%=$(B)/obj/%.o): %.o: %.text $(B)/flags ; @$(building) $(compile) -fmacro-prefix-map=./= -x c++ -c $< -o $@
# The runner exports all that a library may ask for.
$(RUNNER): $(B)/obj/checks/runner/main.o $(CORE_OBJ) ; @$(CXX) -no-pie -rdynamic $^ $(LIBS) -o $@.new && mv $@.new $@
$(B)/frontend: $(B)/obj/frontend.o ; @$(CXX) $^ $(ASAN) -o $@
linked = $(CXX) -shared -Wl,-z,now $(ASAN) $(filter %.o,$^) $(if $(GPU),$(LIBS)) -o $@.new && mv $@.new $@
$(B)/commands.so: $(MORE_OBJ) ; @$(linked)
$(B)/unit: $(UNIT_OBJ) ; @$(CXX) -no-pie -g $^ $(LIBS) -o $@

# --- kernels ---
# fixed and checked are a stage's kernel.cu. A bug's is patched, and its #line directives name lines of kernel.cu and of the patch; learn-NN
# and evolve-ID have a source.cu. The headers in front of them, half of the work, are compiled once.
compile_gpu = $(NVCC) $(NVCCFLAGS) $(call gencode_of,$(firstword $(subst /, ,$(@:$(B)/%=%)))) $(LIBRARY_FLAGS:%=-Xcompiler %) -I. -MD \
  -MF $(@:.o=.d) $(if $(findstring /evolve-,$@),-Xptxas -v)
compile_cpu = CCACHE_SLOPPINESS=pch_defines,time_macros sh checks/scripts/compile_kernel.sh $(B)/frontend $< $@ $(CXX) $(CXXFLAGS) $(KERNEL_FLAGS) $(1) \
  $(patsubst %.gch,-include % -fpch-preprocess,$(filter %.gch,$^)) $(LIBRARY_FLAGS) -fno-plt -ftls-model=initial-exec $(INCLUDES) -MMD -MF $(@:.o=.d) -MP
precompiled = $(if $(GPU),,$(B)/plain_$(1).hpp.gch)
FRONTEND := $(if $(GPU),,$(B)/frontend checks/scripts/compile_kernel.sh)
$(B)/obj/%.o: %.cu $(B)/flags $(FRONTEND)
	@$(building) $(if $(GPU),$(NVCC) $(NVCCFLAGS) $(call gencode,$(GPU_ARCHS)) $(POSITION:%=-Xcompiler %) -I. -MD -MP -MF $(@:.o=.d) -c $< -o $@,$(call compile_cpu,-O1))
$(B)/%.hpp.gch: checks/exercises/%.hpp $(B)/flags
	@$(building) cp $< $(@:.gch=); $(CXX) -x c++-header $(CXXFLAGS) $(KERNEL_FLAGS) $(if $(findstring kernel,$@),-O1 $(INSTRUMENTATION)) $(LIBRARY_FLAGS) -fno-plt \
	  -ftls-model=initial-exec $(INCLUDES) -MMD -MP -MT $@ -MF $(@:.gch=.d) $< -o $@
compile_kernel = @$(building) $(if $(GPU),$(compile_gpu) -MP -c $< -o $@,$(compile_cpu)) $(if $(findstring /evolve-,$@),> $(@:.o=.log) 2>&1)
compile_checked = $(call compile_kernel,-O1 $(INSTRUMENTATION) $(if $(findstring /bug-,$@),-Wno-unused-parameter))
$(B)/%/fixed/kernel.o: stages/%/kernel.cu $(B)/flags $(call precompiled,fixed) $(FRONTEND) ; $(compile_kernel)
$(B)/%/checked/kernel.o: stages/%/kernel.cu $(B)/flags $(call precompiled,kernel) $(FRONTEND) ; $(compile_checked)
$(if $(OWN),$(B)/$(STAGE)/fixed/kernel.o): $(OWN)/kernel.cu $(B)/flags $(call precompiled,fixed) $(FRONTEND) ; $(compile_kernel)
$(if $(OWN),$(B)/$(STAGE)/checked/kernel.o): $(OWN)/kernel.cu $(B)/flags $(call precompiled,kernel) $(FRONTEND) ; $(compile_checked)
$(B)/%/kernel.o: $(B)/%/kernel.cu $(B)/flags $(call precompiled,kernel) $(FRONTEND) ; $(compile_checked)
$(B)/%/kernel.o: $(B)/%/source.cu $(B)/flags $(call precompiled,kernel) $(FRONTEND) ; $(compile_checked)
patch_of = $(firstword $(if $(LAB_BUGS),$(wildcard $(LAB_BUGS)/$(1).patch)) stages/$(subst /,/bugs/,$(1)).patch)
$(B)/%/kernel.cu: stages/$$(*D)/kernel.cu $$(call patch_of,$$(subst /bug-,/,$$*)) checks/scripts/patched.sh
	@mkdir -p $(@D); sh checks/scripts/patched.sh $(word 2,$^) > $@
# The runner reads what a stage is for beside its kernels.
$(B)/%/kernel.so: $(B)/%/kernel.o $(B)/$$(*D)/stage.conf ; @$(linked)
$(B)/%/stage.conf: $$(if $$(findstring own/,$$*),$(OWN),stages/$$*)/stage.conf ; @mkdir -p $(@D); cp $< $@
$(B)/drill-%/kernel.so: $(B)/drill-%/kernel.o ; @$(linked)
compile_signatures = CCACHE_SLOPPINESS=pch_defines,time_macros $(CXX) $(CXXFLAGS) -O1 $(LINES) $(LIBRARY_FLAGS) $(INCLUDES) -fpch-preprocess -MMD -MP -MF $(basename $@).d -MT $@ -x c++
$(B)/signature.hpp.gch: checks/bugs/signature.hpp $(B)/flags ; @$(building) echo '#include "$<"' > $(@:.gch=); $(compile_signatures)-header $(@:.gch=) -o $@
$(B)/%/signatures.so: $$(wildcard stages/$$*/bugs/*.cpp $$(if $(LAB_BUGS),$(LAB_BUGS)/$$*/*.cpp)) $(B)/flags $(B)/signature.hpp.gch
	@$(building) sh checks/scripts/signatures.sh $(wildcard stages/$*/bugs/*.cpp $(if $(LAB_BUGS),$(LAB_BUGS)/$*/*.cpp)) > $(@:.so=.text)
	@$(compile_signatures) -include $(B)/signature.hpp -shared $(@:.so=.text) -o $@
PROBED := $(addprefix common/,emulator/tensor_core.cpp emulator/special_functions.cpp)
build/gpu/probe_%: checks/probes/probe.cu $(PROBED) $(wildcard checks/probes/*.*h* common/*.hpp common/ptx/*.cuh) $(B)/flags
	@$(NVCC) $(NVCCFLAGS) $(if $(filter wgmma,$*),$(SM_90A),$(call gencode,$(GPU_ARCHS))) -DPROBE=$*_probe \
	  -DPROBE_HEADER='"checks/probes/$*.cuh"' -DLAB_GPU -I. -o $@ $(filter %.cu %.cpp,$^)

# --- goals: `make help` prints the lines with ## ---
# Goals that run the runner with all its commands; the test of a stage needs less of it. Exercises build it themselves.
RUN_NOTHING := help list clean check check-builds show-bug edit-bug save-bug unit sanitize evolve-labs probe exercise hint predict try solution grade
RUNNING := $(filter-out $(RUN_NOTHING) $(if $(n),racecheck counters trace),$(GOALS) $(INNER_GOALS))
$(RUNNING): | $(RUNNER)
$(filter-out sanitized $(if $(stage),test),$(RUNNING)): | $(B)/commands.so
help: ## make | what can be done here
	@sh checks/scripts/help.sh Makefile
list: ## make list | every stage, its idea, its bugs, its names in the notes
	@sh checks/scripts/ladder.sh list
## make stage=v2b test [full=1] [verbose=1] [bug=NAME] | run the kernel and hold it against the fp64 oracle; without stage=: all stages, bugs and unit tests
ifdef stage
test: $(if $(BROKEN)$(bug),$(BUGS),$(call fixed,$(STAGE)) $(if $(GPU),,$(call checked,$(STAGE))))
	@sh checks/scripts/$(if $(BROKEN)$(bug),broken_test,stage_test).sh $^
else
# Pieces, of this and of CI, each leave a log; what they count is added up: for CI, of both. The longest that keep one core busy come first.
logs = $(patsubst %,build/logs/%.log,$(1))
ACCEPTED := $(call logs,$(EVERY_STAGE:%=acceptance-%))
TESTED := $(ACCEPTED) $(call logs,$(HOMES:%=bugs-%) patches $(if $(GPU),wmma-layout check-harness,unit counters bits exercises exercise-scripts))
LONGER := $(call logs,words plain-cuda sanitize writeups all-exercises check-harness resources evolve plots nvidia-tools format racecheck)
test: $(TESTED) ; @sh checks/scripts/sum.sh $^
ci: build/logs/clean-tree.log $(LONGER) ; @sh checks/scripts/sum.sh $^ $(TESTED)
build/logs/clean-tree.log: | $(LONGER)
# On a GPU bugs come after the acceptances, between whose copies it can forget the NaN that a launch is to find in shared memory.
build/logs/%.log: FORCE | built $$(if $$(findstring gpu-bugs-,$(backend)-$$*),$$(ACCEPTED))
	@$(building) sh checks/scripts/piece.sh $@ $(backend)
built: $(call fixed,$(EVERY_STAGE)) $(call checked,$(EVERY_STAGE)) $(BUGS) $(SIGNATURES) $(if $(GPU),build/gpu/probe_wmma,$(B)/unit)
endif
## make stage=v2b reproduce-bug [bug=NAME] | bring its bugs back, one after the other
reproduce-bug: $(BUGS) $(call checked,$(HOMES)) $(SIGNATURES)
	@$(RUNNER) reproduce "$$stage" $(BUGS)
## make stage=v2b show-bug [bug=NAME] | the patch that plants it, and what it must lead to
## make stage=v2b edit-bug|save-bug bug=NAME [new=1] | a copy of the kernel with the bug, to work on; the copy becomes the patch
show-bug edit-bug save-bug: ; @sh checks/scripts/bug.sh $(@:-bug=) $(STAGE)
check-harness: $(BUGS) ## make check-harness [stage=v2b] [bug=NAME] | proof that the acceptance can fail: each planted bug turns it red
	@$(RUNNER) check-harness $^
## make stage=v2b run q=Q.npy k=K.npy v=V.npy out=O.npy [causal=1] [scale=0.1] [bug=NAME] | your own fp16 [B, H, S, D]; of b1 also do= dq= dk= dv=
run: $(if $(stage),$(if $(bug),$(BUGS),$(call fixed,$(STAGE))))
	@$(call keep,out dq dk dv) $(RUNNER) $< run $(call given,q k v do dq dk dv out causal scale)
## make check file=foo.cu [args='...'] [include='DIR ...'] [quick=1] [seconds=60] | any CUDA program, run and checked on this machine
CHECK := $(B)/frontend $(B)/plain_cuda.hpp.gch $(call object,emulator $(FAST) program)
$(B)/plain_cuda.hpp.gch: common/cpu/plain_cuda.h checks/scripts/check.sh $(B)/flags ; @$(building) CXX='$(CXX)' sh checks/scripts/check.sh precompile $@ -MMD -MP -MT $@ -MF $(@:.hpp.gch=.d)
check: $(if $(GPU),,$(CHECK))
	@$(if $(GPU),$(MAKE) backend=cpu $@,CXX='$(CXX)' sh checks/scripts/check.sh $^)
check-builds: $(CHECK) ; @echo $^
## make stage=v2b racecheck [bug=NAME] | races, uninitialised reads, overruns: file and line; n=7: of an exercise
## make stage=v2d counters [shape=1,8,512,64] [lines=N] [bug=NAME] | wavefronts, sectors, products, the least time on an H200; n=7; all stages: record=1
## make stage=v2d trace [shape=1,8,512,64,causal] [tile=K] [bug=NAME] [json=FILE] | one block's steps, for ui.perfetto.dev; n=7
ifdef n
racecheck counters trace:
	@$(call keep,json) $(ALONE) sh checks/exercises/learn/exercise.sh $@ $(call given,shape lines tile json)
else
racecheck: $(call chosen,checked,$(BACKWARD_STAGES))
	@$(if $(GPU),sh checks/races/sanitizer.sh,$(RUNNER) racecheck) $^
counters: $(if $(GPU),,$(call chosen,checked))
	@$(if $(GPU),$(MAKE) backend=cpu $@,$(if $(stage),$(RUNNER) $< counters $(call given,shape lines),sh checks/counters/counters.sh "$$record" $^))
trace: $(if $(GPU),,$(call chosen,checked))
	@$(if $(GPU),$(MAKE) backend=cpu $@,$(call keep,json) $(RUNNER) $< trace $(call given,shape tile json))
endif
bits: $(if $(stage),$(call fixed,$(STAGE)),$(call fixed,$(ALL_STAGES))) ## make bits [stage=v3j] [quick=1] [record=1] | does the CPU compute an H200's bits?
	@sh checks/bits/bits.sh "$$record" "$$quick" $^
## make fuzz [stage=v2b] [bug=NAME] [seconds=60] [cases=N] [seed=N] [check=1] | random problems against the oracle; failures shrunk to one command, only='...'
fuzz: $(call chosen,$(if $(filter 1,$(check)),checked,fixed))
	@sh checks/scripts/fuzz.sh $^
unit: $(B)/unit ## make unit | the lab's own tests
	@$<
## make sanitize [stage=v2b] [check=quick] [cases=N] | unit tests and random problems under AddressSanitizer and UBSan
sanitize:
	@$(MAKE) backend=cpu SANITIZE=$(or $(check),whole) sanitized
sanitized: $(if $(stage),,$(B)/unit) $(call fixed,$(or $(STAGE),$(if $(filter quick,$(SANITIZE)),v2b_single_warp v2d_ldmatrix v3f_pingpong v4a_split_keys,$(ALL_STAGES))))
	@sh checks/scripts/sanitize.sh "$${cases:-$(if $(filter quick,$(SANITIZE)),8,40)}" $^
## make exercise [n=7] [again=1] [all=1] | the core path, and what is done of it; n=7 lays one out in work/07; all=1 lists all
## make predict n=1 say='row % 16 < 4' | what will be wrong, before you mend it; a wrong rule is answered with a map
## make try n=7 | the checks, from cheap to dear, up to the first red
## make hint|solution n=7 [give-up=1] | one of three hints; the reference's solution, when done or given up
exercise hint predict try solution:
	@$(ALONE) sh checks/exercises/learn/exercise.sh $@ $(filter give-up,$(give-up:1=give-up))
grade: ## make grade [assigned='1 5 119'] [json=FILE] [seed=N] | what is assigned (or begun), on hidden inputs and shapes
	@$(call keep,json) $(ALONE) sh checks/exercises/learn/exercise.sh grade
## make bench [stage=v2b] [bug=NAME] [shape=...|sweep] [rounds=N] [out=FILE] | time on a GPU, beside cuDNN and FlashAttention where PyTorch is
bench: $(if $(BACKWARD),$(if $(bug),$(BUGS),$(call fixed,$(STAGE))),$(call chosen,fixed))
	@if [ -n "$$rounds$$out" ] || $(PYTHON) reference/peers.py probe=1; then $(call keep,out) $(PYTHON) reference/peers.py $^ $(call given,shape rounds out); \
	else for kernel in $^; do $(RUNNER) $$kernel bench $(call given,shape) || exit; done; fi
profile: $(call fixed,$(STAGE)) ## make stage=v2b profile [shape=2,8,2048,64] | one kernel under Nsight Compute
	@sh checks/scripts/profile.sh $< "$${shape:-2,8,2048,64}"
## make resources [stage=v2b] [record=1] | registers, shared memory, spills, for all architectures that a stage claims (needs nvcc)
resources: $(patsubst $(B)/%,build/cpu/%,$(call fixed,$(if $(stage),$(STAGE),$(EVERY_STAGE))))
	@$(if $(filter 1,$(record)),out=writeups/results/resources.csv OWN='$(OWN)',OWN='$(OWN)' $(call keep,out)) sh checks/scripts/resources.sh $^
## make stage=v3j evolve [shape=] [minutes=] [seed=] [out=FILE] | search over a stage's tunables; check=1: its validator refuses every cheating candidate
evolve: $(call fixed,$(STAGE))
	@$(call keep,out) $(ALONE) $(if $(filter 1,$(check)),sh checks/search/adversarial.sh $(backend),\
	  $(RUNNER) evolve $(backend) $(STAGE) $(call given,shape seed minutes out))
evolve-labs: $(CANDIDATES:%=$(B)/$(STAGE)/evolve-%/kernel.so)
## make writeups [check=1] | renew the pages' blocks of output; are they what their commands print?
ON_PAGES = $(shell grep -rhoE 'begin: .* bug=[a-z0-9_]+' README.md writeups | sed 's|.*=|%/bug-|;s|$$|/kernel.so|')
writeups: $(if $(GPU),,$(CHECK)) $(call fixed,$(ALL_STAGES)) $(call checked,$(ALL_STAGES)) $(if $(filter writeups,$(MAKECMDGOALS)),$(filter $(ON_PAGES),$(call planted,$(ALL_PAIRS))))
	@env $(addprefix -u ,$(WORDS) JOBS) sh checks/scripts/writeups.sh $(if $(check),check)
## make plots [check=1] [record=1] | draw the figures; are they what results and code give?
plots: $(if $(check)$(record),$(call checked,v2c8_mma_sync v2d_ldmatrix v3b_wgmma v3c_producer v3e_overlap v3f_pingpong))
	@PYTHON='$(PYTHON)' sh checks/scripts/plots.sh $(if $(check),check) $^
## make probe what=wmma|mma|wgmma|ex2 [sample=FILE] [only=SECTION] | each lane's elements, products' bits (needs a GPU)
probe: $(PROBE)
	@$(call keep,sample) sh checks/probes/probe.sh $<
clean: ## make clean | remove build/
	@rm -rf build 2> /dev/null || { echo "build/ cannot be removed: no right to" >&2; exit 2; }
.PHONY: $(GOALS) $(INNER_GOALS) FORCE
# Several goals are met one after the other, as they were typed; only what they are built from is made in parallel.
in_order = $(if $(goals_before),$(eval $(1): | $(lastword $(goals_before))))$(eval goals_before += $(1))
$(foreach goal,$(MAKECMDGOALS),$(if $(filter $(goal),$(goals_before)),,$(call in_order,$(goal))))
-include $(shell find $(B) -name '*.d' 2>/dev/null)
