# The desk at make's service: built here, while the Makefile is being read, when it is missing or older than its sources.
# `help` and `clean` ask nothing of it, and need no compiler.
asks := $(filter-out help clean,$(MAKECMDGOALS))
ifneq ($(asks),)
# A compiler whose programs run here, even where CXX builds for another machine.
ifeq ($(origin HOST_CXX),undefined)
HOST_CXX := $(or $(first_gcc),$(CXX))
endif
# A make of its own, which the words of this call do not concern; under a lock, so that several makes take turns.
desk_make := env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u MAKEOVERRIDES \
  $$(command -v flock > /dev/null && echo flock build/.desk-lock) $(MAKE) -s -f common/make/desk.mk -j2 HOST_CXX=$(call quote,$(HOST_CXX))
ifneq ($(shell { mkdir -p build && $(desk_make); } >&2 || echo failed),)
$(error the desk (checks/desk) does not build with $(HOST_CXX); the reason stands above)
endif
endif

# $(call ask,COMMAND...): what the desk says. Its one line with exit status 2 becomes make's.
ask = $(if $(asks),$(call refused,$(shell LAB_BUGS=$(LAB_BUGS) build/desk $(1) 2>&1 || echo ' FAILED')))
refused = $(if $(filter FAILED,$(1)),$(error $(filter-out FAILED,$(1))),$(1))
