# Lets a stage's own directory answer to every target of the lab.
.DEFAULT_GOAL := test
MAKEFLAGS += -j$(or $(JOBS),$(shell nproc 2>/dev/null || echo 2))
%:
	@$(MAKE) --no-print-directory -C ../.. stage=$(notdir $(subst $(eval ) ,_,$(CURDIR))) $@
Makefile ../../common/stage.mk: ;
