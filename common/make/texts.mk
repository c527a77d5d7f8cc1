# Sources that are compiled several as one text, which takes half as long as one by one: headers and templates are shared. Their
# anonymous namespaces are one then; a file whose names meet another's stays alone, and so does what no list names. For each text the
# flags it takes (build.mk) and its files. Of the first four, `tester` and programs without a stage link what they need: `accept` wants one.
TEXTS := exec-1 exec-2 watch accept compared backward judge $(patsubst %,tests-%,1 2 3 4 5 6 7 8 9)
text_heat = $(if $(filter tests-%,$(1)),TESTS,$(if $(filter judge,$(1)),WARM,$(if $(filter exec-%,$(1)),HOST,COOL)))
exec = $(patsubst %,common/emulator/%.cpp,$(1))
test = $(patsubst %,checks/tests/test_%.cpp,$(1))
watch_TEXT := $(call exec,findings launch mbarrier_story standing)
exec_files := $(sort $(filter-out $(watch_TEXT) $(call exec,mma tensor_core),$(wildcard common/emulator/*.cpp)))
exec-1_TEXT := $(wordlist 1,15,$(exec_files))
exec-2_TEXT := $(filter-out $(exec-1_TEXT),$(exec_files))
accept_TEXT := $(patsubst %,checks/%.cpp,$(addprefix acceptance/,acceptance report overlap) races/racecheck)
compared_TEXT := $(patsubst %,checks/acceptance/%.cpp,backward_bound case_run cases comparison forward_bound launch pattern problem processes sampling)
backward_TEXT := $(patsubst %,checks/%.cpp,acceptance/backward acceptance/backward_test bugs/backward_parts)
judge_TEXT := $(call test,reference reference_inputs reference_wrong)
# The first four are the host's alone: build.mk's HOST_TESTS is made of them.
tests-1_TEXT := $(call test,$(addprefix desk_,evolve_elite names runs tables))
tests-2_TEXT := $(call test,desk_learn)
tests-3_TEXT := $(call test,desk_evolve desk_measured results trace)
tests-4_TEXT := $(call test,block_order expected expression gpu_fit npy pattern ptxas referee)
tests-5_TEXT := $(call test,checked async_deadlock async_watcher)
tests-6_TEXT := $(call test,wgmma wgmma_cases exec_blocks exec_launch tma mbarrier)
tests-7_TEXT := $(call test,named_barrier registers time_limit ldmatrix device_tensors attention_launch instances addr2line mma)
tests-8_TEXT := $(call test,tensor_core counters_async checker_watcher)
tests-9_TEXT := $(call test,hang acceptance_processes counters verdict global)

# The objects of these sources: of the texts that they are in, and their own.
objects_of = $(patsubst %,$(B)/obj/%.o,$(foreach t,$(TEXTS),$(if $(filter $($(t)_TEXT),$(1)),$(t))) \
  $(basename $(filter-out $(foreach t,$(TEXTS),$($(t)_TEXT)),$(1))))
