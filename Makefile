# The SDPA lab notebook. `make` says what can be done here; this file is the table of contents, common/make/ the rest:
#   words.mk   refuses wrong words    ask.mk, desk.mk   the desk, which knows stages and bugs
#   build.mk   compiles and links     stages.mk         which binaries a call means

.DEFAULT_GOAL := help
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
# A make below this one shares its jobs.
MAKEFLAGS += --no-builtin-rules --no-print-directory $(if $(filter 0,$(MAKELEVEL)),-j$(JOBS))
SHELL := /bin/sh
PYTHON ?= python3

# --- words --------------------------------------------------------------------------------------------------
GOALS := help list test show-bug reproduce-bug check-harness run racecheck fuzz sanitize unit clean
GOALS += patches edit-bug save-bug counters bits same-bits
GOALS += blindness tools-table climb-table writeups figure-data plots plots-check resources build-gpu
GOALS += archs format format-check test-arm64
GOALS += trace exercise predict try watch hint solution reset grade check-exercises
GOALS += own
# Goals for a learner's own kernel, work/own/NAME.
OWN_GOALS := test racecheck counters trace run fuzz resources bench profile watch
GOALS += bench peers profile probe-wmma probe-mma probe-wgmma probe-ex2 probe-overlap
INNER_GOALS := host-as-gpu test-builds sanitized tested-arm64
GPU_GOALS := bench profile probe-wmma probe-mma probe-wgmma probe-ex2 probe-overlap
GOALS += check-evolve evolve evolve-confirm evolve-adopt
INNER_GOALS += evolve-labs
GPU_GOALS += evolve-adopt
NO_BUG_GOALS := profile
WORDS := stage bug backend full turns q k v do dq dk dv out causal scale seconds seed cases case check only shape rounds json
WORDS += sample new fix n say give-up lines minutes generations candidates tile quick record assigned name from bugs
# The words of a learner's goals, which would otherwise ignore a word in silence.
WORDS_OF_exercise := n
WORDS_OF_hint := n
WORDS_OF_reset := n
WORDS_OF_try := n
WORDS_OF_watch := n stage
WORDS_OF_predict := n say
WORDS_OF_solution := n give-up
WORDS_OF_grade := json seed assigned
WORDS_OF_check-exercises := n check
WORDS_OF_own := name from
TOOL_WORDS := JOBS CXX CXXFLAGS HOST_CXX NVCC NVCCFLAGS CUDA_HOME GPU_ARCHS PYTHON SANITIZE ARM64 MAKE MAKEFLAGS SHELL
include common/make/words.mk

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
	@$(WORK) broken-version '$(stage)' $(foreach p,$(PAIRS),$(p)=$(call bug_lab,$(p)))
else
# The numbers, then a short race check: a missing __syncwarp that a rendezvous hides shows there alone.
test: $(call tester,fixed) $(if $(filter cpu,$(backend)),$(call tester,checked)) | $(if $(filter 1,$(turns)),$(WORK))
	@sh checks/tests/stage_test.sh '$(or $(full),0)' '$(or $(turns),0)' $^
endif

# The parts of `make test`.
test-builds: $(FIXED_LABS) $(BUG_LABS) $(BACKWARD_LABS) $(if $(filter cpu,$(backend)),$(B)/unit $(CHECKED_LABS) $(RECORDS),$(PROBE))

reproduce-bug: $(foreach p,$(PAIRS),$(call bug_lab,$(p)) $(call fixed_of_pair,$(p))) | $(WORK)
	@$(WORK) reproduce '$(stage)' $(foreach p,$(PAIRS),$(p)=$(call bug_lab,$(p))=$(call fixed_of_pair,$(p)))

# A bug is a patch: read it, work on it in a copy of the kernel, write it back; new=1 begins one.
show-bug: | $(WORK)
	$(one_stage)@$(WORK) show-bug $(call quote,$(stage)) $(call quote,$(bug))
edit-bug: | $(WORK)
	$(one_stage)@$(WORK) edit-bug $(call quote,$(stage)) $(call quote,$(bug)) $(if $(filter 1,$(new)),new)
save-bug: | $(WORK)
	$(one_stage)@$(WORK) save-bug $(call quote,$(stage)) $(call quote,$(bug))
# Whether every patch applies; fix=1 renews line numbers that an edit of a kernel has moved.
patches: | $(WORK)
	@$(WORK) patches $(if $(filter 1,$(fix)),fix)

check-harness: $(BUG_LABS) $(BACKWARD_BUG_LABS) | $(WORK)
	@$(WORK) check-harness $(foreach p,$(PAIRS) $(BACKWARD_PAIRS),$(p)=$(call bug_lab,$(p)))

# Exercises: laid out in work/NN, predicted, tried, graded. Each says on its card what to type.
exercise hint reset: | $(WORK)
	$(one_exercise)@$(WORK) $@ $(call quote,$(n))
predict: | $(WORK)
	$(one_exercise)@$(WORK) predict '$(MAKE)' $(call quote,$(n)) $(call quote,$(say))
try watch: | $(WORK)
	$(if $(stage),,$(one_exercise))@$(WORK) $(if $(stage),watch-own '$(MAKE)' $(call quote,$(stage)),$@ '$(MAKE)' $(call quote,$(n)))
# A kernel of your own, from a stage's or from a blank one: work/own/NAME. stage=NAME is that then.
own: | $(WORK)
	$(call need,name,what name? make own name=mine from=v2c8 lays out work/own/mine)
	@$(WORK) own $(call quote,$(name)) $(call quote,$(from))
solution: | $(WORK)
	$(one_exercise)@$(WORK) solution $(call quote,$(n)) $(if $(filter 1,$(give-up)),give-up)
grade: | $(WORK)
	@$(WORK) grade '$(MAKE)' $(call quote,$(json)) $(call quote,$(seed)) $(call quote,$(assigned))
# The exercises themselves: red as handed out, green when solved, and no cheater passes. check=quick is `make test`'s part, check=half CI's.
check-exercises: | $(WORK)
	@$(WORK) check-exercises '$(MAKE)' $(call quote,$(or $(check),whole)) $(if $(n),$(call quote,$(n)))

run: $(if $(bug),$(BUG_LABS),$(FIXED_LAB))
	$(one_stage)$(if $(bug),,$(works))@$< run \
	  $(foreach w,q k v do dq dk dv out causal scale,$(if $(filter-out undefined,$(origin $(w))),$(w)=$(call quote,$($(w)))))

# The tools for a stage's kernel, for the kernel of an exercise.
ifdef n
racecheck counters trace: | $(WORK)
	$(if $(stage),$(error $@ takes stage= or n=, not both))
	@$(WORK) look '$(MAKE)' $(call quote,$(n)) $@ $(call given,shape lines tile json check)
else
# All correct stages, or one, or one bug. Exit status 1 where there are findings.
racecheck: $(call chosen,checked) $(BACKWARD_CHECKED) $(if $(filter gpu,$(backend)),$(RECORDS),| $(WORK))
ifeq ($(backend),gpu)
	@sh checks/races/sanitizer.sh $(filter %/lab,$^)
else
	@$(WORK) racecheck $^
endif

# A GPU's counters for one stage, or one bug, line by line, as the CPU counts them, and the least time that follows. Of all stages:
# whether that is what was committed; json=FILE writes it.
ifeq ($(backend),gpu)
counters:
	@$(MAKE) backend=cpu counters
else ifdef stage
counters: $(call chosen,checked)
	$(works)@$< counters $(call given,shape lines json)
else
counters: $(RECORDS) $(CHECKED_LABS)
	@$< counters build/cpu/STAGE/VARIANT/lab $(call quote,$(json))
endif

# Of a backward stage: whether its bits depend on the order of its blocks, and whether stage.conf says so.
same-bits: $(if $(bug),$(BUG_LABS),$(FIXED_LAB))
	$(one_stage)@$< same-bits

# Whether each case's output has the bits that an H100 gave. record=1 on a GPU writes them, of all stages; quick=1 takes each fifth
# case; json=FILE is a record other than writeups/results/bits-H100.json.
bits: $(RECORDS) $(call chosen,fixed)
	$(works)@$< bits '$(record)' '$(quick)' $(call quote,$(json)) $(filter %/lab,$^)
ifneq ($(filter 1,$(record)),)
ifneq ($(filter cpu,$(backend)),)
$(error record=1 writes what a GPU computes, and this is backend=cpu)
endif
ifneq ($(stage)$(quick),)
$(error record=1 takes neither stage= nor quick=: a record has all cases of all stages)
endif
endif

# One block's steps as a picture for ui.perfetto.dev. check=1 holds it against the lab's counts and other schedules; so of all
# stages, without stage=, at a shape that takes no time.
ifeq ($(backend),gpu)
trace:
	@$(MAKE) backend=cpu trace
else
trace: $(call chosen,checked)
	$(if $(or $(stage),$(filter 1,$(check))),,$(error which stage? trace needs stage=NAME; see 'make list'))
	@status=0; for lab in $^; do $$lab trace $(call given,shape tile json check) \
	  $(if $(stage)$(shape),,shape=1,1,256,64) || status=$$?; done; exit $$status
endif
endif

# Tests with random problems. make fuzz [stage=S [bug=B]] [seconds=N] [seed=K] [cases=N] [check=1], or only='...' of a failure.
fuzz: $(call chosen,$(if $(filter 1,$(check)),checked,fixed))
	@sh checks/fuzz/fuzz.sh '$(foreach w,seconds seed cases case check,$(if $($(w)),$(w)=$($(w))))' \
	  '$(if $(only),$(only)$(if $(check), check=$(check)))' $^

# The unit tests and random problems of every stage under AddressSanitizer and UndefinedBehaviorSanitizer; stage=S: of that stage
# alone. check=quick is CI's part: the unit tests of what executes kernels, and one stage, each day the next one.
sanitize:
	$(if $(filter-out quick,$(check)),$(error check=$(check): sanitize takes check=quick))
	@$(MAKE) backend=cpu SANITIZE=$(or $(check),whole) sanitized
TODAYS_STAGE = $(shell sh checks/tests/in_turn.sh 1 $(ALL_STAGES))
SANITIZED_STAGES := $(or $(if $(BROKEN),,$(STAGE)),$(if $(filter quick,$(SANITIZE)),$(TODAYS_STAGE),$(ALL_STAGES)))
sanitized: $(if $(stage),,$(B)/unit) $(foreach s,$(SANITIZED_STAGES),$(B)/$(s)/fixed/$(if $(filter quick,$(SANITIZE)),learner,lab))
	@sh checks/tests/sanitize.sh $(or $(cases),$(if $(filter quick,$(SANITIZE)),8,40)) $^

# The CPU backend on arm64 Linux, cross-built and under qemu-user; sh common/setup.sh --arm64 installs what that needs. check=quick
# is CI's part: one half of the unit tests, the next day the other.
test-arm64:
	$(if $(filter-out quick,$(check)),$(error check=$(check): test-arm64 takes check=quick))@sh checks/tests/arm64.sh prepare
	@$(MAKE) backend=cpu ARM64=1 CXX=aarch64-linux-gnu-g++ tested-arm64
ifdef ARM64
tested-arm64: $(addprefix $(B)/,unit $(addprefix v2b_single_warp/,fixed/tester checked/learner bug-interwarp_race/learner)) | $(WORK)
	@check='$(check)' sh checks/tests/arm64.sh run $^ $(HOST_TESTS)
endif

# Whether the notes' own inputs show each bug; and what each tool sees of it.
blindness: $(RECORDS) $(FIXED_LABS) $(BUG_LABS)
	@$< blindness-table $(B)/STAGE/VARIANT/lab
tools-table: $(RECORDS) $(FIXED_LABS) $(CHECKED_LABS) $(BUG_LABS)
	@$< tools-table $(B)/STAGE/VARIANT/lab

# Times on a GPU, the stages and PyTorch taking turns; stage=S times one stage alone, and bug=B shows that a wrong kernel is
# not timed. json=FILE names the results (all stages: a new file in writeups/results/); shape=sweep is a map of 160 shapes.
ifneq ($(BACKWARD),)
# Of a backward stage: its table, then PyTorch's lines, or why there are none.
bench: $(if $(bug),$(BUG_LABS),$(FIXED_LAB))
	@$< bench $(call given,shape) && { $(PYTHON) reference/backward_peers.py $(call given,shape) || [ $$? -eq 2 ]; }
else
bench: $(RECORDS) $(call chosen,fixed)
	@PYTHON='$(PYTHON)' $< bench '$(or $(shape),all)' '$(rounds)' '$(json)' '$(stage)' $(filter %/lab,$^)
endif
peers:
	@$(PYTHON) reference/peers.py shape='$(or $(shape),all)'

# One kernel under Nsight Compute.
profile: $(FIXED_LAB)
	$(one_stage)$(works)@sh checks/scripts/profile.sh $< $(call quote,$(or $(shape),2,8,2048,64))

# The elite loop over a stage's levers.conf: an elite of three, two levers a child. evolve-confirm measures the elite once more, in
# turns; evolve-adopt holds a log's winner against the stage and the peers.
EVOLVE_WORDS = $(call given,shape seed minutes generations candidates rounds json)
evolve: $(RECORDS) $(FIXED_LAB)
	$(one_stage)$(works)@$< search '$(MAKE)' $(backend) $(STAGE) $(EVOLVE_WORDS)
evolve-confirm: $(RECORDS) $(FIXED_LAB)
	$(one_stage)$(works)@$< confirm '$(MAKE)' $(backend) $(STAGE) $(EVOLVE_WORDS)
evolve-adopt: $(RECORDS)
	$(one_stage)$(works)@$< adopt '$(MAKE)' $(STAGE) $(call quote,$(json)) $(call quote,$(or $(rounds),3)) $(call quote,$(shape)) \
	  $(if $(filter 1,$(fix)),write)
# The referee of the loop: every cheater in checks/evolve/cheaters must be refused, with its reason.
check-evolve: $(RECORDS)
	@$< cheaters '$(MAKE)' $(backend)
evolve-labs: $(if $(call goals_among,evolve-labs),$(foreach id,$(only),$(B)/$(STAGE)/evolve-$(id)/judge))

# Figures and tables from what is committed under writeups/results/: no GPU. The check needs nothing but Python itself.
plots: .venv/ready
	@.venv/bin/python checks/pages/plots.py draw
plots-check:
	@$(PYTHON) checks/pages/plots.py check
# The CPU backend's data for the figures: plans, layouts, traces, and a map of each bug whose patch has a `map:` line. Committed;
# redone after a change, and check=1 says whether it was.
MAPPED := $(call ask,mapped)
figure-data: $(FIXED_LABS) $(BACKWARD_FIXED) \
  $(foreach p,$(MAPPED) v2b_single_warp:smem_overflow v2c5_wmma_qk:partial_stripe,$(call bug_lab,$(p))) \
  $(foreach s,v2b_single_warp v2c3_scalar_smem v2c5_wmma_qk v2c6_wmma_pv v2c7_one_slot v2c8_mma_sync v2d_ldmatrix, \
    $(call lab_of,$(s),checked))
	@$(PYTHON) checks/pages/plots.py $(if $(check),data-check,data) $(B)

# Every kernel, fixed and with each bug, through nvcc and the linker: needs no GPU.
build-gpu: $(if $(BACKWARD),$(FIXED_LAB),$(FIXED_LABS) $(BACKWARD_FIXED)) $(BUG_LABS) $(BACKWARD_BUG_LABS)
	@echo "built for sm_$(subst $(eval ) ,$(comma) sm_,$(GPU_ARCHS)): $(words $^) binaries"

# Needs nvcc, but no GPU. The JSON is what tables and plots are made from.
ifdef stage
# Of an own kernel beside the stage that it comes from.
NEIGHBOUR := $(if $(filter own/%,$(STAGE)),$(call conf,$(STAGE),from))
resources: $(RECORDS) $(foreach s,$(if $(BROKEN),,$(STAGE)) $(NEIGHBOUR),build/cpu/$(s)/fixed/lab)
	$(works)@$< resources build/cpu/STAGE/VARIANT/lab $(call quote,$(json)) $(STAGE)
else
resources: $(RECORDS) $(foreach s,$(ALL_STAGES) $(BACKWARD_STAGES),build/cpu/$(s)/fixed/lab) \
  $(foreach p,$(PAIRS) $(BACKWARD_PAIRS),build/cpu/$(call stage_of_pair,$(p))/bug-$(call bug_of_pair,$(p))/lab)
	@$< resources build/cpu/STAGE/VARIANT/lab $(call quote,$(json))
endif

# Every stage through nvcc for every architecture that it claims (its target and needs, in stage.conf), and host code that includes
# device headers as a GPU's build reads it; needs no GPU.
archs: $(RECORDS)
	@$(MAKE) backend=gpu host-as-gpu
	@$< archs

host-as-gpu:
	@for source in $$(grep -l '\.cuh"' $(LIB_SRC)); do $(CXX) $(CXXFLAGS) $(INCLUDES) -fsyntax-only $$source || exit 1; done

# clang-format 14 on all sources; the check changes nothing.
format format-check:
	@sh checks/tests/format.sh $@

climb-table: $(RECORDS) $(FIXED_LABS) $(BUG_LABS)
	@$< climb-table $(B)/STAGE/VARIANT/lab

# Renews (or, with check=1, compares) every block of real output on the pages. CPU output is deterministic.
writeups: $(RECORDS) $(FIXED_LABS) $(CHECKED_LABS) $(BUG_LABS)
	@env $(addprefix -u ,$(WORDS) JOBS) $< pages $(if $(check),--check)

unit: $(B)/unit
	@$<
clean:
	@$(if $(clean_first),:,rm -rf build)
# Which element each lane of a fragment holds, on this GPU; check=1 holds common/wmma_layout.hpp against it.
probe-wmma: $(PROBE)
	@$< $(if $(filter 1,$(check)),check)

# Whether the tensor cores of this GPU compute what the CPU's do, to the bit, and where lanes hold what; sample=FILE writes
# measured cases for the unit tests. It always checks; check=1 is taken for likeness.
probe-mma: $(PROBE_MMA)
	@$< $(if $(sample),$(call quote,sample=$(sample)))

# The same of Hopper's wgmma (sm_90): fragments, swizzles, descriptors, dot products; and the copy engine's boxes.
probe-wgmma: $(PROBE_WGMMA)
	@$< $(if $(sample),$(call quote,sample=$(sample))) $(if $(only),$(call quote,only=$(only)))

# And of 2^x, 1 / x, __expf and the conversion to half; sample=FILE as above.
probe-ex2: $(PROBE_EX2)
	@$< $(if $(sample),$(call quote,sample=$(sample)))

# Clocks of wgmma and of a softmax's instructions, each alone and beside the other (sm_90a).
probe-overlap: $(PROBE_OVERLAP)
	@$<

.PHONY: $(GOALS) $(INNER_GOALS)
