# The SDPA lab notebook. `make` says what can be done here. A stage's kernel.cu, compiled for one backend with at most one bug's patch
# applied, is a shared library, build/BACKEND/STAGE/VARIANT/kernel.so; the variant is fixed, checked (CPU, instrumented) or bug-NAME.
# build/BACKEND/runner loads one and does what is asked. What judges is in the runner; what copies, lists and schedules is here and in
# checks/scripts.
.DEFAULT_GOAL := help
SHELL := /bin/sh
PYTHON ?= python3
comma := ,
define newline


endef

# --- words ---
GOALS := help list clean test reproduce-bug show-bug edit-bug save-bug check-harness run racecheck fuzz counters trace bits unit sanitize
GOALS += exercise predict try hint solution grade bench profile resources evolve writeups plots probe
INNER_GOALS := built ci host-as-gpu sanitized evolve-labs check-exercises
WORDS := stage bug bugs backend full turns q k v do dq dk dv out causal scale seconds seed cases case check only shape rounds json
WORDS += sample n new again say give-up lines minutes generations candidates tile quick record assigned what
# A word is text, and nothing of it is ever run: it is taken as it was typed, before anything expands it, and a recipe reads it from its
# environment, "$$word". No recipe, target or prerequisite pastes a word, and neither does an $(eval).
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
override JOBS := $(if $(filter undefined,$(origin JOBS)),$(shell nproc 2>/dev/null || echo 2),$(value JOBS))
# clean beside other goals comes first, before anything that they need is built; not with make -n.
clean_first := $(and $(call goals_among,clean),$(filter-out clean,$(MAKECMDGOALS)))
$(if $(and $(clean_first),$(if $(findstring n,$(filter-out -%,$(firstword $(MAKEFLAGS)))),,really)),$(shell rm -rf build))
# What a script finds out, all at once: whether words and goals mean something; backend, compiler, stages and bugs.
ifneq ($(filter-out help clean,$(MAKECMDGOALS))$(typed),)
ask = $(foreach word,$(1),$(word)=$(call quote,$($(word))))
answer := $(shell goals=$(call quote,$(MAKECMDGOALS)) flags=$(call quote,$(filter -I% -isystem% --sysroot%,$(CXXFLAGS))) $(call ask,typed \
  GOALS INNER_GOALS WORDS stage bug bugs backend what only record quick JOBS SANITIZE $(if $(filter default undefined,$(origin CXX)),,CXX)) sh checks/scripts/begin.sh)
$(if $(filter ERROR,$(firstword $(answer))),$(error $(wordlist 2,999,$(answer))))
$(foreach fact,$(answer),$(eval $(subst |, ,$(subst =,:=,$(fact)))))
endif
# A make below this one shares its jobs.
MAKEFLAGS += --no-builtin-rules --no-print-directory $(if $(filter 0,$(MAKELEVEL)),-j$(JOBS))
$(if $(bugs),$(eval export LAB_BUGS := build/outside-bugs))
BROKEN := $(if $(stage),$(if $(STAGE),,$(stage)))
BACKWARD := $(filter $(STAGE),$(BACKWARD_STAGES))
# At the head of a recipe that makes sense for one stage only, for one that works, for one exercise.
one_stage = $(if $(stage),,$(error which stage? $@ needs stage=NAME; see 'make list'))
works = $(if $(BROKEN),$(error stage=$(stage) never worked; its bugs: $(PAIRS)))
one_exercise = $(if $(n),,$(error which exercise? $@ needs n=NUMBER; see 'make exercise'))
# A goal that writes files that the caller names: outputs.sh refuses to lose one that is there.
keep = sh checks/scripts/outputs.sh $@ '$(1)'

# --- which libraries a call means: all correct kernels, one, or bugs ---
B := build/$(if $(SANITIZE),asan,$(backend))
library = $(foreach s,$(1),$(B)/$(s)/$(2)/kernel.so)
fixed = $(call library,$(1),fixed)
checked = $(call library,$(1),$(if $(filter gpu,$(backend)),fixed,checked))
planted = $(foreach pair,$(1),$(B)/$(subst :,/bug-,$(pair))/kernel.so)
EVERY_STAGE := $(ALL_STAGES) $(BACKWARD_STAGES)
EVERY_PAIR := $(ALL_PAIRS) $(BACKWARD_PAIRS)
BUGS := $(call planted,$(if $(stage),$(PAIRS),$(EVERY_PAIR)))
homes := $(sort $(foreach pair,$(if $(stage),$(PAIRS),$(EVERY_PAIR)),$(firstword $(subst :, ,$(pair)))))
chosen = $(if $(stage),$(if $(bug)$(BROKEN),$(BUGS),$(call $(1),$(STAGE))),$(call $(1),$(ALL_STAGES)))
RUNNER := $(B)/runner
# The other libraries that the runner loads: all commands but a stage's test; exercises, results and the search.
COMMANDS := $(B)/commands.so
DESK := $(B)/desk.so
# What runs a kernel: a forward stage's test waits for the runner alone.
USES := $(RUNNER) $(if $(and $(stage),$(if $(filter-out test,$(MAKECMDGOALS))$(BACKWARD)$(BROKEN)$(bug),,1)),,$(COMMANDS))

# --- flags ---
# No sibling calls: they leave no frame behind, and a report would name the caller's caller. A product and a sum are two roundings on
# both backends, unless the source says fmaf.
CXXFLAGS := -std=c++20 -O2 -g -ffp-contract=off -fno-optimize-sibling-calls -Wall -Wextra -Wno-unknown-pragmas
# Reports need all lines of kernels, and not in which register a variable is. fmaf is one instruction on an x86-64 that has it, and else
# a slow call that gives the same bits. Kernels read halves as uint4, as nvcc lets them. CXXFLAGS=... of the command line stand alone.
KERNEL_FLAGS := $(if $(filter CXXFLAGS,$(typed)),,-fno-var-tracking -fno-strict-aliasing $(if $(shell grep -swom1 fma /proc/cpuinfo),-mfma))
# g++ calls the checker at every load and store: of a whole uint4, not of its words. An argument by value of a class (half, uint4) is
# loaded by a statement without a line, which would get the line before it: a copy that is not elided has its own. So has a volatile
# access a call. AddressSanitizer and this exclude each other.
INSTRUMENTATION := $(if $(SANITIZE),,-fsanitize=thread -fno-tree-sra -fno-elide-constructors --param tsan-distinguish-volatile=1)
ASAN := $(if $(SANITIZE),-fsanitize=address$(comma)undefined)
override CXXFLAGS += $(if $(SANITIZE),-fno-omit-frame-pointer $(ASAN) -fno-sanitize-recover=all -Wno-clobbered)
# g++ remarks on how it once passed a tensor map by value.
NO_PSABI := -Wno-psabi
# What the runner asks a library for, the source marks (common/stage.hpp); all else is the library's own.
LIBRARY_FLAGS := -fPIC -fvisibility=hidden
NVCC := nvcc
NVCCFLAGS := -std=c++20 -O3 -fmad=false -lineinfo -ccbin $(CXX) -Xcompiler -Wall
# For the lab's two architectures, the GPU at hand, and as PTX for the rest, from 8.0 on: cp.async. sm_90a code runs on 9.0 alone. For a
# T4 (7.5) ptxas refuses whatever needs more than 7.5 has: such a stage is built for the others, and skipped when it runs.
gencode = $(foreach a,$(1),-gencode arch=compute_$(a)$(comma)code=sm_$(a)) -gencode arch=compute_80$(comma)code=compute_80
SM_90A := -gencode arch=compute_90a$(comma)code=sm_90a
conf = $($(1)_$(if $(filter own/%,$(2)),own,$(2)))
gencode_of = $(if $(filter sm_90a,$(call conf,target,$(1))),$(SM_90A),$(strip \
  $(call gencode,$(filter-out $(if $(filter-out wmma ldmatrix,$(call conf,needs,$(1))),7%),$(GPU_ARCHS)))))
ifeq ($(backend),gpu)
INCLUDES := -I. -DLAB_GPU -isystem $(CUDA_HOME)/include
# The runtime is a library too, which the runner and the kernel that it loads share.
LIBS := -L$(CUDA_HOME)/lib64 -Wl,-rpath,$(CUDA_HOME)/lib64 -lcudart -ldl -lrt -pthread
# A kernel that is loaded when it is launched leaves time for another process between the NaN and the launch.
export CUDA_MODULE_LOADING := EAGER
not_here := $(addprefix checks/,trace/% counters/counters.cpp evolve/cpu/% exercises/kernel_printf.cpp)
else
INCLUDES := -Icommon/cpu -I.
LIBS := -lboost_context -ldl -pthread $(ASAN)
not_here := $(addprefix checks/,bench/gpu/% evolve/gpu/%)
endif
FLAGS := $(CXX) $(CXXFLAGS) $(KERNEL_FLAGS) $(INSTRUMENTATION) | $(NVCC) $(NVCCFLAGS) $(GPU_ARCHS) | $(INCLUDES) $(LIBS)

# --- the runner, its libraries, the unit tests ---
.SECONDEXPANSION:
.DELETE_ON_ERROR:
.SECONDARY:
FORCE:
# A changed flag rebuilds what was built with the old one.
$(B)/flags: FORCE
	@mkdir -p $(@D); printf '%s\n' '$(FLAGS)' | cmp -s - $@ || printf '%s\n' '$(FLAGS)' > $@
# Half of what a test spends is in these; vectors change no bit of what they compute, for no order of additions changes.
FAST := $(if $(filter cpu,$(backend)),common/emulator/mma.cpp common/emulator/tensor_core.cpp) reference/attention.cpp
CORE := $(wildcard common/*.cpp checks/acceptance/*.cpp checks/races/*.cpp) $(addprefix checks/,runner/library.cpp runner/run.cpp \
  bugs/trial.cpp bugs/elsewhere.cpp bugs/hang.cpp) reference/inputs.cpp reference/npy.cpp \
  $(if $(filter cpu,$(backend)),checks/exercises/kernel_printf.cpp,$(wildcard common/gpu/*.cpp))
MORE := $(filter-out $(CORE) checks/tests/% checks/desk/% checks/budget/% checks/exercises/drills/% checks/runner/main.cpp $(not_here),\
  $(wildcard checks/*.cpp checks/*/*.cpp checks/*/*/*.cpp)) checks/desk/patch.cpp reference/wrong_answers.cpp \
  $(if $(filter cpu,$(backend)),checks/exercises/drills/drill.cpp)
EMULATOR := $(if $(filter cpu,$(backend)),$(filter-out $(FAST),$(wildcard common/emulator/*.cpp)))
# Sources are compiled several as one text, for most of the time goes into headers and templates that they share: that saves two thirds
# of it. The anonymous namespaces of a text are one.
core_TEXT := $(CORE)
emulator-1_TEXT := $(wordlist 1,13,$(EMULATOR))
emulator-2_TEXT := $(wordlist 14,26,$(EMULATOR))
emulator-3_TEXT := $(wordlist 27,99,$(EMULATOR))
more-1_TEXT := $(filter checks/bugs/% checks/backward/% checks/desk/% reference/%,$(MORE))
more-2_TEXT := $(filter checks/exercises/% checks/fuzz/% checks/evolve/%,$(MORE))
more-3_TEXT := $(filter-out $(more-1_TEXT) $(more-2_TEXT),$(MORE))
desk-1_TEXT := $(filter-out checks/desk/patch.cpp,$(wildcard checks/desk/*.cpp))
desk-2_TEXT := $(wildcard checks/desk/records/*.cpp checks/desk/evolve/*.cpp) checks/budget/ptxas.cpp
desk-3_TEXT := $(wildcard checks/desk/learn/*.cpp)
TEXTS := core $(if $(EMULATOR),emulator-1 emulator-2 emulator-3) more-1 more-2 more-3 desk-1 desk-2 desk-3
object = $(patsubst %,$(B)/obj/%.o,$(basename $(1)))
cuda = $(if $(filter gpu,$(backend)),$(wildcard $(1)))
RUNNER_OBJ := $(call object,checks/runner/main $(FAST) $(filter core emulator-%,$(TEXTS)) $(call cuda,common/gpu/*.cu))
MORE_OBJ := $(call object,reference/backward $(filter more-%,$(TEXTS)) $(call cuda,checks/*/gpu/*.cu))
DESK_OBJ := $(call object,$(filter desk-%,$(TEXTS)))
# Tests that run no kernel: make sanitize check=quick leaves them out.
HOST_TESTS := $(patsubst %,checks/tests/test_%.cpp,desk_% backward_% reference% results trace block_order expected expression gpu_fit npy \
  pattern ptxas referee)
UNIT_OBJ := $(call object,$(filter-out $(if $(filter quick,$(SANITIZE)),$(HOST_TESTS)),$(wildcard checks/tests/test_*.cpp))) \
  $(filter-out %/runner/main.o,$(RUNNER_OBJ)) $(MORE_OBJ) $(if $(filter quick,$(SANITIZE)),,$(DESK_OBJ))
# Reports name no line of the harness, and addr2line would read them each time; sanitizers want them. Of tests, some bring instrumented
# kernels along, and in two accesses and calls must stay what they are when optimised.
LINES := $(if $(SANITIZE),-g1,-g0)
flags_of = $(CXXFLAGS) $(strip $(if $(filter checks/tests/%_kernels.cpp,$(1)),$(KERNEL_FLAGS) $(NO_PSABI) $(INSTRUMENTATION),\
  $(if $(filter $(FAST) reference/backward.cpp,$(1)),-O3 $(LINES),$(if $(filter emulator-%,$(1)),$(LINES),$(NO_PSABI) \
  $(if $(filter %/test_exec_collectives.cpp %/test_exec_memory.cpp,$(1)),-g1,$(if $(filter checks/tests/%,$(1)),-O0 -g1,\
  $(if $(filter checks/runner/main.cpp desk-%,$(1)),-O0,-O1) $(LINES)))))))
$(B)/obj/%.o: %.cpp $(B)/flags
	@$(building) mkdir -p $(@D); $(CXX) $(call flags_of,$<) $(POSITION) $(INCLUDES) -MMD -MP -c $< -o $@
$(B)/obj/%.o: $(B)/obj/%.text $(B)/flags
	@$(building) $(CXX) $(call flags_of,$*) $(POSITION) $(INCLUDES) -fmacro-prefix-map=./= -MMD -MP -x c++ -c $< -o $@
# Changes when a source is added or removed.
$(TEXTS:%=$(B)/obj/%.text): $(B)/obj/%.text: FORCE
	@mkdir -p $(@D); printf '#include "%s"\n' $($*_TEXT) | cmp -s - $@ || printf '#include "%s"\n' $($*_TEXT) > $@
$(B)/obj/%.o: %.cu $(B)/flags
	@$(building) mkdir -p $(@D); $(NVCC) $(NVCCFLAGS) $(call gencode,$(GPU_ARCHS)) $(POSITION:%=-Xcompiler %) -I. -MD -MP -MF $(@:.o=.d) -c $< -o $@
$(MORE_OBJ) $(DESK_OBJ): POSITION := -fPIC
$(B)/obj/checks/exercises/drills/%.o: POSITION := $(LIBRARY_FLAGS)
# The runner exports all that a library may ask for.
$(RUNNER): $(RUNNER_OBJ)
	@$(CXX) -no-pie -rdynamic $^ $(LIBS) -o $@.new && mv $@.new $@
linked = $(CXX) -shared -Wl,-z,now $(ASAN) $(filter %.o,$^) $(if $(filter gpu,$(backend)),$(LIBS)) -o $@.new && mv $@.new $@
$(COMMANDS): $(MORE_OBJ)
$(DESK): $(DESK_OBJ)
$(COMMANDS) $(DESK):
	@$(linked)
$(B)/unit: $(UNIT_OBJ)
	@$(CXX) -no-pie -g $^ $(LIBS) -o $@

# --- kernels: $* is STAGE/VARIANT ---
stage_of = $(patsubst %/,%,$(dir $(1)))
folder_of = $(if $(filter own/%,$(1)),$(OWN),stages/$(1))
planted_in = $(patsubst bug-%,%,$(filter bug-%,$(notdir $(1))))
outside = $(if $(LAB_BUGS),$(wildcard $(LAB_BUGS)/$(1)/$(2)))
patch_in = $(or $(call outside,$(call stage_of,$(1)),$(call planted_in,$(1)).patch),stages/$(call stage_of,$(1))/bugs/$(call planted_in,$(1)).patch)
# learn-NN, evolve-ID: what an exercise or the search has put there. Of an exercise a printf has its block and thread in front; of a
# candidate ptxas says what it takes. These and bugs are quick to compile, and a bug is found out as soon.
learnt_in = $(filter learn-% evolve-%,$(notdir $(1)))
evolved_in = $(filter evolve-%,$(notdir $(1)))
printf_of = $(if $(filter learn-%,$(notdir $(1)))$(filter own/%,$(1)),-include checks/exercises/kernel_printf.hpp)
kernel_source = $(if $(call learnt_in,$(1)),$(B)/$(1)/source.cu,$(strip \
  $(if $(call planted_in,$(1)),$(B)/$(1),$(call folder_of,$(call stage_of,$(1)))))/kernel.cu)
kernel_flags = $(KERNEL_FLAGS) $(if $(call learnt_in,$(1))$(call planted_in,$(1)),-O1) $(if $(call planted_in,$(1)),-Wno-unused-parameter) \
  $(if $(filter fixed,$(notdir $(1))),,$(INSTRUMENTATION)) $(call printf_of,$(1))
build_log = $(if $(call evolved_in,$(1)),> $(B)/$(1)/kernel.log 2>&1)
$(B)/%/kernel.o: $$(call kernel_source,$$*) $(B)/flags
	@$(building) mkdir -p $(@D); $(if $(filter gpu,$(backend)),$(NVCC) $(NVCCFLAGS) $(call gencode_of,$(call stage_of,$*)) \
	  $(LIBRARY_FLAGS:%=-Xcompiler %) -I. -MD -MF $(@:.o=.d) $(if $(call evolved_in,$*),-Xptxas -v),$(CXX) -x c++ $(CXXFLAGS) $(NO_PSABI) \
	  $(call kernel_flags,$*) $(LIBRARY_FLAGS) -fno-plt -ftls-model=initial-exec $(INCLUDES) -MMD) -MP -c $< -o $@ $(call build_log,$*)
# The kernel with a bug's patch applied. #line directives in it name the lines of kernel.cu and of the patch.
$(B)/%/kernel.cu: stages/$$(call stage_of,$$*)/kernel.cu $$(call patch_in,$$*) checks/scripts/patched.sh
	@mkdir -p $(@D); sh checks/scripts/patched.sh $(call patch_in,$*) > $@
# learn-checked and learn-bug-NAME are the lab's own kernels, as an exercise's. The runner reads what a stage is for beside its kernels.
kernel_dir = $(patsubst %/learn-checked,%/checked,$(subst /learn-bug-,/bug-,$(1)))
$(B)/%/kernel.so: $(B)/$$(call kernel_dir,$$*)/kernel.o $(B)/$$(call stage_of,$$*)/stage.conf | $$(USES)
	@mkdir -p $(@D); $(linked)
$(B)/%/stage.conf: $$(call folder_of,$$*)/stage.conf
	@mkdir -p $(@D); cp $< $@
# One instruction's kernel, build/cpu/drill-NAME/learn-NN/kernel.so, with NAME's inputs and answer.
$(B)/drill-%/kernel.so: $(B)/drill-%/kernel.o $(B)/obj/checks/exercises/drills/$$(call stage_of,$$*).o | $$(USES)
	@$(linked)
# The signatures of a stage's bugs are compiled as one text, each file in a namespace of its own: what they include comes first.
looks_of = $(sort $(wildcard stages/$(1)/bugs/*.cpp)) $(call outside,$(1),*.cpp)
$(B)/%/signatures.text: FORCE
	@mkdir -p $(@D); sh checks/scripts/signatures.sh $(call looks_of,$*) > $@.$$$$; cmp -s $@.$$$$ $@ && rm $@.$$$$ || mv $@.$$$$ $@
$(B)/%/signatures.so: $(B)/%/signatures.text $(B)/flags
	@$(building) $(CXX) $(call flags_of,$<) $(LIBRARY_FLAGS) $(INCLUDES) -fmacro-prefix-map=./= -MMD -MP -MF $(@:.so=.d) -MT $@ -shared -x c++ $< -o $@
build/gpu/probe_%: checks/probes/probe_%.cu $(wildcard checks/probes/*.*h* common/*.hpp common/ptx/*.cuh common/emulator/tensor_core.hpp) $(B)/flags
	@$(NVCC) $(NVCCFLAGS) $(if $(filter wgmma overlap,$*),$(SM_90A),$(call gencode,$(GPU_ARCHS))) -DLAB_GPU -I. -o $@ $< $(PROBE_$*)
PROBE_mma := common/emulator/tensor_core.cpp
PROBE_ex2 := common/emulator/special_functions.cpp
PROBE_wgmma := $(PROBE_mma) common/gpu/tensor_map.cpp common/tensor_map.cpp
# How much is done, and the time left, in a line that the next one replaces. A dry run says how many steps there are.
ifeq ($(origin STEPS),undefined)
STEPS = $(eval STEPS := $(shell STEPS=0 $(MAKE) -n $(addprefix -o ,$(B)/flags $(TEXTS:%=$(B)/obj/%.text) $(homes:%=$(B)/%/signatures.text)) \
  $(foreach word,$(typed),$(word)=$(call quote,$(value $(word)))) $(foreach goal,$(MAKECMDGOALS),$(call quote,$(goal))) 2>&1 | grep -c scripts/progress.sh))$(STEPS)
endif
building = $(eval BUILT += x)sh checks/scripts/progress.sh $(words $(BUILT)) '$(STEPS)' $@;

# --- goals: `make help` prints what stands behind ## ---
help: ## make
	@sh checks/scripts/help.sh Makefile
list: ## make list | every stage, its idea, its bugs, its names in the notes
	@sh checks/scripts/ladder.sh list
test: ## make stage=v2b test [full=1] [bug=NAME] | run the kernel and hold it against the fp64 oracle; without stage=: everything
ifdef stage
test: $(if $(BROKEN)$(bug),$(BUGS),$(call fixed,$(STAGE)) $(if $(filter cpu,$(backend)),$(call checked,$(STAGE)))) | $(USES)
	@$(if $(BROKEN)$(bug),$(RUNNER) broken-version "$$stage",sh checks/scripts/stage_test.sh $(if $(BACKWARD),same-bits,once)) $^
else
# Pieces, of this and of CI, each leave a log; what they count is added up.
test: $(patsubst %,build/logs/%.log,$(sort $(EVERY_STAGE:%=acceptance-%) $(homes:%=bugs-%)) patches \
  $(if $(filter cpu,$(backend)),unit counters bits trace exercises words packages,wmma-layout check-harness))
ci: $(patsubst %,build/logs/%.log,all-exercises writeups racecheck check-harness evolve plots sanitize resources format)
test ci:
	@sh checks/scripts/sum.sh $^
# On a GPU bugs come after the acceptances, between whose copies it can forget the NaN that a launch is to find in shared memory.
build/logs/%.log: FORCE | built $$(if $$(findstring gpu-bugs-,$$(backend)-$$*),$$(ACCEPTED))
	@MAKE='$(MAKE)' sh checks/scripts/piece.sh $@ $(backend)
ACCEPTED := $(EVERY_STAGE:%=build/logs/acceptance-%.log)
built: $(call fixed,$(EVERY_STAGE)) $(call checked,$(EVERY_STAGE)) $(BUGS) $(homes:%=$(B)/%/signatures.so) $(DESK) \
  $(if $(filter cpu,$(backend)),$(B)/unit,build/gpu/probe_wmma) | $(USES)
endif
reproduce-bug: $(BUGS) $(call checked,$(homes)) $(homes:%=$(B)/%/signatures.so) ## make stage=v2b reproduce-bug [bug=NAME] | bring its bugs back, one after the other
	$(one_stage)@$(RUNNER) reproduce "$$stage" $(BUGS)
show-bug: ## make stage=v2b show-bug [bug=NAME] | the patch that plants it, and what it must lead to
edit-bug: ## make stage=v2b edit-bug bug=NAME [new=1] | a copy of the kernel with the bug, to work on
save-bug: ## make stage=v2b save-bug bug=NAME | the copy becomes the bug's patch
show-bug edit-bug save-bug:
	$(one_stage)@sh checks/scripts/bug.sh $(@:-bug=)
check-harness: $(BUGS) ## make check-harness [stage=v2b] | proof that the acceptance can fail: each planted bug turns it red
	@$(RUNNER) check-harness $^
run: $(if $(stage),$(if $(bug),$(BUGS),$(call fixed,$(STAGE)))) ## make stage=v2b run q=Q.npy k=K.npy v=V.npy out=O.npy [causal=1] [scale=0.1] | fp16 tensors [B, H, S, D] of your own; of b1 q= k= v= do= dq=DQ.npy dk=DK.npy dv=DV.npy
	$(one_stage)$(if $(bug),,$(works))@$(call keep,out dq dk dv) $(RUNNER) $< run $(call given,q k v do dq dk dv out causal scale)
racecheck: ## make stage=v2b racecheck [bug=NAME] | races, uninitialised reads, overruns: file and line; n=7: of an exercise
counters: ## make stage=v2d counters [shape=1,8,512,64] [lines=1] | wavefronts, sectors, products, the least time on an H200; n=7
trace: ## make stage=v2d trace [shape=1,8,512,64,causal] [tile=K] [bug=NAME] [json=FILE] | one block's steps, for ui.perfetto.dev; n=7
ifdef n
racecheck counters trace: $(DESK) | $(USES)
	$(if $(stage),$(error $@ takes stage= or n=, not both))@$(call keep,json) $(RUNNER) look '$(MAKE)' "$$n" $@ $(call given,shape lines tile json check)
else ifeq ($(backend),gpu)
racecheck: $(call chosen,checked) $(if $(stage),,$(call checked,$(BACKWARD_STAGES))) $(DESK)
	@sh checks/races/sanitizer.sh $(filter %/kernel.so,$^)
counters trace:
	@$(MAKE) backend=cpu $@
else
racecheck: $(call chosen,checked) $(if $(stage),,$(call checked,$(BACKWARD_STAGES)))
	@$(RUNNER) racecheck $^
counters: $(call chosen,checked)
	$(works)@$(if $(stage),$(RUNNER) $< counters $(call given,shape lines),sh checks/counters/counters.sh "$$record" $^)
trace: $(call chosen,checked)
	$(if $(or $(stage),$(filter 1,$(check))),,$(one_stage))@sh checks/scripts/trace.sh $(call given,shape tile json check) -- $^
endif
bits: $(call chosen,fixed) ## make bits [stage=v3j] [quick=1] [record=1] | does the CPU compute an H200's bits?
	$(works)@sh checks/bits/bits.sh "$$record" "$$quick" $^
fuzz: $(call chosen,$(if $(filter 1,$(check)),checked,fixed)) ## make fuzz [stage=v2b] [seconds=60] [seed=N] [check=1] | random problems against the oracle; failures shrunk to one command
	@sh checks/scripts/fuzz.sh $^
<<<<<<< HEAD
unit: $(B)/unit ## make unit | the lab's own tests
=======

# The unit tests and random problems of every stage under AddressSanitizer and UndefinedBehaviorSanitizer; stage=S: of that stage
# alone. check=quick is CI's part: what executes kernels and watches them, and four stages.
sanitize:
	$(if $(filter-out quick,$(check)),$(error check=$(check): sanitize takes check=quick))
	@$(MAKE) backend=cpu SANITIZE=$(or $(check),whole) sanitized
FOUR_STAGES := v2b_single_warp v2d_ldmatrix v3e_pingpong v4a_split_keys
SANITIZED_STAGES := $(or $(if $(BROKEN),,$(STAGE)),$(if $(filter quick,$(SANITIZE)),$(FOUR_STAGES),$(ALL_STAGES)))
sanitized: $(if $(stage),,$(B)/unit) $(foreach s,$(SANITIZED_STAGES),$(B)/$(s)/fixed/$(if $(filter quick,$(SANITIZE)),learner,lab))
	@sh checks/scripts/sanitize.sh "$${cases:-$(if $(filter quick,$(SANITIZE)),8,40)}" $^

# Times on a GPU, the stages and PyTorch taking turns; stage=S times one stage alone, and bug=B shows that a wrong kernel is
# not timed. json=FILE names the results (all stages: a new file in writeups/results/); shape=sweep is a map of 160 shapes.
ifneq ($(BACKWARD),)
# Of a backward stage: its table, then PyTorch's lines, or why there are none.
bench: $(if $(bug),$(BUG_LABS),$(FIXED_LAB))
	@$< bench $(call given,shape) && { $(PYTHON) reference/backward_peers.py $(call given,shape) || [ $$? -eq 2 ]; }
else
bench: $(RECORDS) $(call chosen,fixed)
	@PYTHON='$(PYTHON)' $(call keep,json) $< bench "$${shape:-all}" "$$rounds" "$$json" "$$stage" $(filter %/lab,$^)
endif

# One kernel under Nsight Compute.
profile: $(FIXED_LAB)
	$(one_stage)$(works)@sh checks/scripts/profile.sh $< "$${shape:-2,8,2048,64}"

# The elite loop over a stage's levers.conf: an elite of three, two levers a child. check=1: every cheater in checks/evolve/cheaters
# must be refused by the loop's referee, with its reason.
ifeq ($(check),1)
evolve: $(RECORDS)
	@$< cheaters '$(MAKE)' $(backend)
else
evolve: $(RECORDS) $(FIXED_LAB)
	$(one_stage)$(works)@$(call keep,json) $< search '$(MAKE)' $(backend) $(STAGE) $(call given,shape seed minutes generations candidates json)
endif
evolve-labs: $(if $(call goals_among,evolve-labs),$(if $(call strange,$(only)),$(error only= names candidates))$(foreach id,$(only),$(B)/$(STAGE)/evolve-$(id)/judge))

# The figures of the pages, from writeups/results/ and from the code that draws them. check=1: whether they are that, and whether the
# kernels' steps are as recorded; record=1 records them anew.
RECORDED := $(foreach s,v2c8_mma_sync v2d_ldmatrix v3b_wgmma v3c_overlap v3d_producer v3e_pingpong,build/cpu/$(s)/checked/lab)
plots: $(if $(check)$(record),$(RECORDED)) $(if $(check),,.venv/ready)
	@$(if $(check)$(record),$(PYTHON) checks/plots/plots.py record $(if $(check),check) $(RECORDED) &&) \
	  $(if $(check),$(PYTHON),.venv/bin/python) checks/plots/plots.py $(if $(check),check,draw)
.venv/ready: checks/plots/requirements.txt
	@$(PYTHON) -m venv .venv && .venv/bin/pip install -q --disable-pip-version-check -r $< && touch $@ || \
	  { echo 'make plots needs Python 3.10 or newer with venv, and matplotlib from a package index or a mirror' >&2; exit 2; }

# Every kernel through nvcc, for its target and every other architecture that it claims: registers, shared memory, spills, and whether
# it compiles; and host code that includes device headers as a GPU's build reads it. Needs nvcc, but no GPU. record=1 writes the
# committed table.
ifdef stage
# Of an own kernel beside the stage that it comes from.
NEIGHBOUR := $(if $(filter own/%,$(STAGE)),$(call conf,$(STAGE),from))
resources: $(RECORDS) $(foreach s,$(if $(BROKEN),,$(STAGE)) $(NEIGHBOUR),build/cpu/$(s)/fixed/lab)
	$(works)@$(call keep,json) $< resources build/cpu/STAGE/VARIANT/lab "$$json" $(STAGE)
else
resources: $(RECORDS) $(foreach s,$(ALL_STAGES) $(BACKWARD_STAGES),build/cpu/$(s)/fixed/lab)
	@$(MAKE) backend=gpu host-as-gpu
	@$(if $(filter 1,$(record)),json=writeups/results/resources.csv;,$(call keep,json)) \
	  $< resources build/cpu/STAGE/VARIANT/lab "$$json"
endif
host-as-gpu:
	@for source in $$(grep -l '\.cuh"' $(LIB_SRC)); do $(CXX) $(CXXFLAGS) $(INCLUDES) -fsyntax-only $$source || exit 1; done

# Renews (or, with check=1, compares) every block of real output on the pages, and tries their links. CPU output is deterministic.
writeups: $(FIXED_LABS) $(CHECKED_LABS) $(BUG_LABS)
	@env $(addprefix -u ,$(WORDS) JOBS) sh checks/scripts/writeups.sh $(if $(check),check)

unit: $(B)/unit
>>>>>>> main
	@$<
sanitize: ## make sanitize [stage=v2b] [check=quick] | unit tests and random problems under AddressSanitizer and UBSan
	$(if $(filter-out quick,$(check)),$(error check=$(check): sanitize takes check=quick))@$(MAKE) backend=cpu SANITIZE=$(or $(check),whole) sanitized
sanitized: $(if $(stage),,$(B)/unit) $(call fixed,$(or $(STAGE),$(if $(filter quick,$(SANITIZE)),v2b_single_warp v2d_ldmatrix v3e_pingpong v4a_split_keys,$(ALL_STAGES))))
	@sh checks/scripts/sanitize.sh "$${cases:-$(if $(filter quick,$(SANITIZE)),8,40)}" $^
exercise: ## make exercise [n=7] [again=1] | exercises, with what is done (n=faster: of a kind); n=7 lays one out in work/07
hint: ## make hint n=7 | one of three
predict: ## make predict n=1 say='row % 16 < 4' | what will be wrong, before you mend it; of a wrong rule how much is right
try: ## make try n=7 | the checks, from cheap to dear, up to the first red
solution: ## make solution n=7 [give-up=1] | the reference's, when done or given up
grade: ## make grade [assigned='1 5 119'] [json=FILE] [seed=N] | what is assigned (or begun), on hidden inputs and shapes
exercise hint predict try solution grade: $(DESK) | $(USES)
	$(if $(filter exercise grade,$@),,$(one_exercise))@$(call keep,json) $(RUNNER) $@ $(if $(filter predict try grade,$@),'$(MAKE)') \
	  $(if $(filter grade,$@),"$$json" "$$seed" "$$assigned",$(if $(n),"$$n")) $(if $(filter predict,$@),"$$say") $(filter again,$(again:1=again)) $(filter give-up,$(give-up:1=give-up))
bench: $(if $(BACKWARD),$(if $(bug),$(BUGS),$(call fixed,$(STAGE))),$(call chosen,fixed)) $(DESK) ## make bench [stage=v2b] [shape=...|sweep] [rounds=N] [json=FILE] | time on a GPU, graph and single call, beside PyTorch
	@$(if $(BACKWARD),$(RUNNER) $< bench $(call given,shape) && { $(PYTHON) reference/backward_peers.py $(call given,shape) || [ $$? -eq 2 ]; },\
	  PYTHON='$(PYTHON)' $(call keep,json) $(RUNNER) bench "$${shape:-all}" "$$rounds" "$$json" "$$stage" $(filter %/kernel.so,$^))
profile: $(call fixed,$(STAGE)) ## make stage=v2b profile [shape=2,8,2048,64] | one kernel under Nsight Compute
	$(one_stage)$(works)@sh checks/scripts/profile.sh $< "$${shape:-2,8,2048,64}"
resources: $(DESK) $(patsubst $(B)/%,build/cpu/%,$(call fixed,$(if $(stage),$(STAGE),$(EVERY_STAGE)))) ## make resources [stage=v2b] [record=1] | registers, shared memory, spills, for all architectures that a stage claims (needs nvcc)
	$(works)$(if $(stage),,@$(MAKE) backend=gpu host-as-gpu)
	@$(if $(filter 1,$(record)),json=writeups/results/resources.csv;,$(call keep,json)) $(RUNNER) resources build/cpu/STAGE/VARIANT/kernel.so "$$json" $(STAGE)
host-as-gpu:  # host code that includes device headers, as a GPU's build reads it
	@for source in $$(grep -l '\.cuh"' $(CORE) $(MORE)); do $(CXX) $(CXXFLAGS) $(INCLUDES) -fsyntax-only $$source || exit 1; done
evolve: $(DESK) $(call fixed,$(STAGE)) | $(USES) ## make stage=v3j evolve [shape=] [minutes=] | search over a stage's levers; check=1: its referee refuses every cheater
	$(if $(filter 1,$(check)),,$(one_stage)$(works))@$(call keep,json) $(RUNNER) $(if $(filter 1,$(check)),cheaters '$(MAKE)' $(backend),search \
	  '$(MAKE)' $(backend) $(STAGE) $(call given,shape seed minutes generations candidates json))
evolve-labs: $(CANDIDATES:%=$(B)/$(STAGE)/evolve-%/kernel.so)
writeups: $(call fixed,$(ALL_STAGES)) $(call checked,$(ALL_STAGES)) $(call planted,$(ALL_PAIRS)) ## make writeups [check=1] | renew the pages' blocks of output; are they what their commands print?
	@env $(addprefix -u ,$(WORDS) JOBS) sh checks/scripts/writeups.sh $(if $(check),check)
plots: $(if $(check)$(record),$(call checked,$(PLOTTED))) ## make plots [check=1] [record=1] | draw the figures; are they what results and code give?
	@PYTHON='$(PYTHON)' sh checks/scripts/plots.sh $(if $(check),check) $^
PLOTTED := v2c8_mma_sync v2d_ldmatrix v3b_wgmma v3c_overlap v3d_producer v3e_pingpong
probe: $(PROBE) ## make probe what=wmma|mma|wgmma|ex2|overlap [sample=FILE] [check=1] | which element each lane holds, whether products have the CPU's bits, clocks (needs a GPU)
	@$(call keep,sample) $< $(if $(filter wmma,$(what)),$(if $(filter 1,$(check)),check),$(call given,sample only))
clean: ## make clean
	@$(if $(clean_first),:,rm -rf build)
.PHONY: $(GOALS) $(INNER_GOALS) FORCE
# Several goals are met one after the other, as they were typed; only what they are built from is made in parallel.
before :=
in_order = $(if $(before),$(eval $(1): | $(lastword $(before))))$(eval before += $(1))
$(foreach goal,$(MAKECMDGOALS),$(if $(filter $(goal),$(before)),,$(call in_order,$(goal))))
-include $(shell find $(B) -name '*.d' 2>/dev/null)
