# Lets a stage's own directory answer to every target of the lab.
.DEFAULT_GOAL := test
%:
	@$(MAKE) --no-print-directory -C ../.. stage=$(notdir $(CURDIR)) $@
Makefile ../../common/stage.mk: ;
