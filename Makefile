# The SDPA lab notebook. `make` says what can be done here; this file is the table of contents, common/make/ the rest:
#   words.mk   refuses wrong words    ask.mk, desk.mk   the desk, which knows stages and bugs
#   build.mk   compiles and links     stages.mk         which binaries a call means

.DEFAULT_GOAL := help
SHELL := /bin/sh
PYTHON ?= python3
override JOBS := $(if $(filter undefined,$(origin JOBS)),$(shell nproc 2>/dev/null || echo 2),$(value JOBS))

# --- words --------------------------------------------------------------------------------------------------
GOALS := help list clean test reproduce-bug show-bug edit-bug save-bug check-harness run racecheck fuzz counters unit sanitize
GOALS += exercise predict try hint solution grade own bench profile resources evolve probe
GOALS += writeups plots bits trace
# Goals for a learner's own kernel, work/own/NAME.
OWN_GOALS := test racecheck counters trace run fuzz resources bench profile
INNER_GOALS := host-as-gpu test-builds sanitized evolve-labs
GPU_GOALS := bench profile probe
WORDS := stage bug bugs backend full turns q k v do dq dk dv out causal scale seconds seed cases case check only shape rounds json
WORDS += sample new n again say give-up lines minutes generations candidates tile quick record assigned name from what
# The words of a learner's goals, which would otherwise ignore a word in silence.
WORDS_OF_exercise := n again
WORDS_OF_hint := n
WORDS_OF_try := n
WORDS_OF_predict := n say
WORDS_OF_solution := n give-up
WORDS_OF_grade := json seed assigned
WORDS_OF_own := name from
WORDS_OF_probe := what sample only check
# Programs and their flags, which run as they are given; and what the Makefile tells a make below it.
TOOL_WORDS := JOBS CXX CXXFLAGS HOST_CXX NVCC NVCCFLAGS CUDA_HOME GPU_ARCHS PYTHON SANITIZE MAKE MAKEFLAGS SHELL
include common/make/words.mk
# A make below this one shares its jobs.
MAKEFLAGS += --no-builtin-rules --no-print-directory $(if $(filter 0,$(MAKELEVEL)),-j$(JOBS))

# --- stages -------------------------------------------------------------------------------------------------
include common/make/build.mk
include common/make/stages.mk

# --- targets ------------------------------------------------------------------------------------------------
help:
	@cat common/help.txt
list:
	@build/desk list

ifndef stage
test: $(WORK)
	@JOBS=$(JOBS) MAKE='$(MAKE)' backend=$(backend) sh checks/tests/run_all.sh
else ifneq ($(BROKEN)$(bug),)
test: $(BUG_LABS) | $(WORK)
	@$(WORK) broken-version "$$stage" $(foreach p,$(PAIRS),$(p)=$(call bug_lab,$(p)))
else
# The numbers, then a short race check: a missing __syncwarp that a rendezvous hides shows there alone.
test: $(call tester,fixed) $(if $(filter cpu,$(backend)),$(call tester,checked)) | $(if $(filter 1,$(turns)),$(WORK))
	@sh checks/scripts/stage_test.sh $(if $(BACKWARD),same-bits,once) $^
endif

# The parts of `make test`.
test-builds: $(FIXED_LABS) $(BUG_LABS) $(BACKWARD_LABS) $(if $(filter cpu,$(backend)),$(B)/unit $(CHECKED_LABS) $(RECORDS),$(PROBE_wmma))

reproduce-bug: $(foreach p,$(PAIRS),$(call bug_lab,$(p)) $(call fixed_of_pair,$(p))) | $(WORK)
	@$(WORK) reproduce "$$stage" $(foreach p,$(PAIRS),$(p)=$(call bug_lab,$(p))=$(call fixed_of_pair,$(p)))

# A bug is a patch: read it, work on it in a copy of the kernel, write it back; new=1 begins one.
show-bug edit-bug save-bug:
	$(one_stage)@sh checks/scripts/bug.sh $(@:-bug=)

check-harness: $(BUG_LABS) $(BACKWARD_BUG_LABS) | $(WORK)
	@$(WORK) check-harness $(foreach p,$(PAIRS) $(BACKWARD_PAIRS),$(p)=$(call bug_lab,$(p)))

# Exercises: laid out in work/NN, predicted, tried, graded. Each says on its card what to type.
# A goal that writes a file that the caller names: outputs.sh refuses to lose one that is there.
keep = sh checks/scripts/outputs.sh $@ '$(1)'
exercise hint: | $(WORK)
	$(one_exercise)@$(WORK) $@ "$$n" $(if $(filter 1,$(again)),again)
predict: | $(WORK)
	$(one_exercise)@$(WORK) predict '$(MAKE)' "$$n" "$$say"
try: | $(WORK)
	$(one_exercise)@$(WORK) try '$(MAKE)' "$$n"
# A kernel of your own, from a stage's or from a blank one: work/own/NAME. stage=NAME is that then.
own: | $(WORK)
	$(call need,name,what name? make own name=mine from=v2c8 lays out work/own/mine)
	@$(WORK) own "$$name" "$$from"
solution: | $(WORK)
	$(one_exercise)@$(WORK) solution "$$n" $(if $(filter 1,$(give-up)),give-up)
grade: | $(WORK)
	@$(call keep,json) $(WORK) grade '$(MAKE)' "$$json" "$$seed" "$$assigned"

run: $(if $(bug),$(BUG_LABS),$(FIXED_LAB))
	$(one_stage)$(if $(bug),,$(works))@$(call keep,out dq dk dv) $< run $(call given,q k v do dq dk dv out causal scale)

# The tools for a stage's kernel, for the kernel of an exercise.
ifdef n
racecheck counters trace: | $(WORK)
	$(if $(stage),$(error $@ takes stage= or n=, not both))
	@$(call keep,json) $(WORK) look '$(MAKE)' "$$n" $@ $(call given,shape lines tile json check)
else
# All correct stages, or one, or one bug. Exit status 1 where there are findings.
racecheck: $(call chosen,checked) $(BACKWARD_CHECKED) $(if $(filter gpu,$(backend)),$(RECORDS),| $(WORK))
ifeq ($(backend),gpu)
	@sh checks/races/sanitizer.sh $(filter %/lab,$^)
else
	@$(WORK) racecheck $^
endif

# A GPU's counters for one stage, or one bug, line by line, as the CPU counts them, and the least time that follows. Of all stages:
# whether that is what was committed; record=1 writes it.
ifeq ($(backend),gpu)
counters:
	@$(MAKE) backend=cpu counters
else ifdef stage
counters: $(call chosen,checked)
	$(works)@$< counters $(call given,shape lines)
else
counters: $(CHECKED_LABS)
	@sh checks/counters/counters.sh "$$record" $^
endif

# Whether each case's output has the bits that an H100 gave. quick=1 takes each fifth case; record=1 on a GPU writes all of all stages.
bits: $(call chosen,fixed)
	$(works)@sh checks/bits/bits.sh "$$record" "$$quick" $(filter %/lab,$^)
ifneq ($(and $(filter 1,$(record)),$(filter cpu,$(backend))$(stage)$(quick)),)
$(if $(call goals_among,bits),$(error record=1 writes what a GPU computes, of all cases of all stages: with backend=gpu, without stage= and quick=))
endif

# One block's steps as a picture for ui.perfetto.dev. check=1 holds it against the lab's counts and other schedules; so of all
# stages, without stage=, at a shape that takes no time.
ifeq ($(backend),gpu)
trace:
	@$(MAKE) backend=cpu trace
else
trace: $(call chosen,checked)
	$(if $(or $(stage),$(filter 1,$(check))),,$(error which stage? trace needs stage=NAME; see 'make list'))
	@status=0; for lab in $^; do $(call keep,json) $$lab trace $(call given,shape tile json check) \
	  $(if $(stage)$(shape),,shape=1,1,256,64) || status=$$?; done; exit $$status
endif
endif

# Tests with random problems. make fuzz [stage=S [bug=B]] [seconds=N] [seed=K] [cases=N] [check=1], or only='...' of a failure.
fuzz: $(call chosen,$(if $(filter 1,$(check)),checked,fixed))
	@sh checks/scripts/fuzz.sh $^

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
	@$<
clean:
	@$(if $(clean_first),:,rm -rf build)
# What this GPU does, which the CPU's execution must repeat. what=wmma: which element each lane of a fragment holds; mma, wgmma, ex2:
# products, fragments, swizzles, descriptors and the copy engine's boxes, 2^x and 1/x, to the bit (sample=FILE writes cases for the
# unit tests); overlap: clocks of wgmma beside those of a softmax.
PROBES := wmma mma wgmma ex2 overlap
wrong_probe := $(if $(call goals_among,probe),$(filter-out $(PROBES),$(or $(what),none))$(word 2,$(what)))
$(if $(wrong_probe),$(error probe takes what=, one of $(PROBES)))
probe: $(PROBE_$(what))
	@$(call keep,sample) $< $(if $(filter wmma,$(what)),$(if $(filter 1,$(check)),check),$(call given,sample only))

.PHONY: $(GOALS) $(INNER_GOALS)
