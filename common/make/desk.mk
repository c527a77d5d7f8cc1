# Builds build/desk, the host program that the Makefile asks, when it is missing or older than its sources. A make of its own,
# because the Makefile asks while it is being read; common/make/ask.mk calls it under a lock, so that several makes take turns.
#   make -f common/make/desk.mk HOST_CXX=g++
MAKEFLAGS += --no-builtin-rules --no-print-directory
O := build/desk-objects
FLAGS := $(HOST_CXX) -std=c++20 -O1 -Wall -Wextra -I. -MMD -MP
SRC := $(wildcard checks/desk/*.cpp)

build/desk: $(O)/main.o build/desk-objects/libdesk.a
	@$(HOST_CXX) $^ -o $@.new && mv $@.new $@

# What the unit tests link.
build/desk-objects/libdesk.a: $(patsubst checks/desk/%.cpp,$(O)/%.o,$(filter-out %/main.cpp,$(SRC)))
	@rm -f $@; ar rcs $@ $^

$(O)/%.o: checks/desk/%.cpp common/make/desk.mk | $(O)/.
	@$(FLAGS) -c $< -o $@
$(O)/.:
	@mkdir -p $@; echo 'building the desk...' >&2

.DELETE_ON_ERROR:
-include $(wildcard $(O)/*.d)
