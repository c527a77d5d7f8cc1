// The runner: `runner KERNEL.so COMMAND [WORD...]` loads a stage's library and does one thing with it; `runner COMMAND [WORD...]`
// is what takes several kernels, or none (run.cpp).
#define DOCTEST_CONFIG_IMPLEMENT
// A fault inside a kernel is the CPU backend's to report, with block and lane
#define DOCTEST_CONFIG_NO_POSIX_SIGNALS
#include <doctest/doctest.h>

#include <string>

#include "checks/runner/commands.hpp"
#include "common/backend.hpp"

int main(int argc, char** argv) { return lab::run(std::span<char*>(argv, std::size_t(argc)).subspan(1)); }

// A kernel's library says why it refused a launch (common/attention.hpp).
extern "C" void lab_refused(const char* why) { lab::set_launch_message(why); }
