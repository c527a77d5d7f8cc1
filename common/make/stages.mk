# Which binaries a call means: all correct stages, or one, or its bugs.
#   ALL_STAGES   every stage's directory            STAGE   the one that stage= names
#   PAIRS        STAGE:BUG of the bugs meant        BROKEN  not empty if stage= is a version of the notes that never worked
ALL_STAGES := $(call ask,dirs)
# Stages of the backward pass, the second ladder. No list above has them, so no command of the whole forward ladder does.
BACKWARD_STAGES := $(call ask,dirs backward)
BACKWARD_GOALS := test racecheck reproduce-bug show-bug edit-bug save-bug check-harness run bench resources
ifdef stage
STAGE := $(call ask,resolve $(call quote,$(stage)))
BROKEN := $(if $(findstring :,$(STAGE)),$(STAGE))
ifneq ($(filter own/%,$(STAGE)),)
not_own := $(filter-out $(OWN_GOALS) build/%,$(MAKECMDGOALS))
$(if $(not_own),$(error make $(firstword $(not_own)) is for stages of the ladder; for a kernel of your own there are: $(OWN_GOALS)))
endif
BACKWARD := $(filter $(STAGE),$(BACKWARD_STAGES))
no_goal := $(if $(BACKWARD),$(filter-out $(BACKWARD_GOALS) build/%,$(MAKECMDGOALS)))
$(if $(no_goal),$(error a backward stage has no $(firstword $(no_goal)); it has: $(BACKWARD_GOALS)))
# edit-bug and save-bug may name a bug that is yet to be.
PAIRS := $(if $(call goals_among,edit-bug save-bug),,$(call ask,bugs $(call quote,$(stage)) $(call quote,$(bug))))
else
PAIRS := $(call ask,bugs)
BACKWARD_PAIRS := $(call ask,bugs backward)
endif
# At the head of a recipe that makes sense for one stage only, and for one that works.
one_stage = $(if $(stage),,$(error which stage? $@ needs stage=NAME; see 'make list'))
one_exercise = $(if $(n)$(filter exercise,$@),,$(error which exercise? $@ needs n=NUMBER; see 'make exercise'))
works = $(if $(BROKEN),$(error stage=$(stage) never worked; its bugs: $(strip $(PAIRS))))

stage_of_pair = $(firstword $(subst :, ,$(1)))
bug_of_pair = $(lastword $(subst :, ,$(1)))
lab_of = $(B)/$(1)/$(2)/kernel.so
bug_lab = $(call lab_of,$(call stage_of_pair,$(1)),bug-$(call bug_of_pair,$(1)))
fixed = $(call lab_of,$(1),fixed)
# The correct kernel as a checker wants it: instrumented, or as it is for compute-sanitizer.
checked = $(call lab_of,$(1),$(if $(filter gpu,$(backend)),fixed,checked))
fixed_of_pair = $(call checked,$(call stage_of_pair,$(1)))

BUG_LABS := $(foreach p,$(PAIRS),$(call bug_lab,$(p)))
BACKWARD_BUG_LABS := $(foreach p,$(BACKWARD_PAIRS),$(call bug_lab,$(p)))
BACKWARD_FIXED := $(foreach s,$(BACKWARD_STAGES),$(call fixed,$(s)))
BACKWARD_LABS = $(BACKWARD_FIXED) $(BACKWARD_BUG_LABS) $(BACKWARD_CHECKED)
BACKWARD_CHECKED := $(if $(stage),,$(foreach s,$(BACKWARD_STAGES),$(call checked,$(s))))
FIXED_LABS := $(foreach s,$(ALL_STAGES),$(call fixed,$(s)))
CHECKED_LABS := $(foreach s,$(ALL_STAGES),$(call lab_of,$(s),checked))
FIXED_LAB := $(if $(stage),$(if $(BROKEN),,$(call fixed,$(STAGE))))
# The builds that the words name: all correct stages, or one, or the bugs. $(1) is fixed or checked.
chosen = $(if $(stage),$(if $(or $(bug),$(BROKEN)),$(BUG_LABS),$(call $(1),$(STAGE))),$(strip \
  $(foreach s,$(ALL_STAGES),$(call $(1),$(s)))))
