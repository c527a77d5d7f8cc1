# The desk at make's service: built here, while the Makefile is being read, when it is missing or older than its sources.
# `help` and `clean` ask nothing of it, and need no compiler.
quote = '$(subst ','\'',$(1))'
asks := $(filter-out help clean,$(MAKECMDGOALS))
ifneq ($(asks),)
# A compiler whose programs run here, even where CXX is another machine's.
HOST_CXX ?= $(or $(firstword $(foreach c,g++ g++-14 g++-13 g++-12,$(shell test "$$($(c) -dumpversion 2>/dev/null | cut -d. -f1)" -ge 12 2>/dev/null && echo $(c)))),$(CXX))
# The words of this call are not that make's.
desk_make := env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u MAKEOVERRIDES $(MAKE) -s -f common/make/desk.mk -j2 HOST_CXX=$(call quote,$(HOST_CXX))
DESK_BUILT := $(shell mkdir -p build && { if command -v flock > /dev/null; then flock build/.desk-lock $(desk_make); else $(desk_make); fi; } >&2 || echo failed)
ifneq ($(DESK_BUILT),)
$(error the desk (checks/desk) does not build with $(HOST_CXX); the reason stands above)
endif
endif

# $(call ask,COMMAND...): what the desk says. One line of its own and exit status 2 become make's.
ask = $(if $(asks),$(call refused,$(shell build/desk $(1) 2>&1 || echo ' FAILED')))
refused = $(if $(filter FAILED,$(1)),$(error $(filter-out FAILED,$(1))),$(1))
