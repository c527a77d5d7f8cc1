// Linked to a checked program (make check): takes the schedule from the environment, and leaves what was found in a file
// when the program ends.
//   LAB_RUN       "SCHEDULE COPIES SECONDS"
//   LAB_FINDINGS  a file: of each finding a line "finding KEY" or "same-value KEY", the report, and a line with a dot
// It is linked last, so that its work at the end comes before the emulator's own variables go.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "common/backend.hpp"
#include "common/build_info.hpp"
#include "common/emulator/block.hpp"
#include "common/target.hpp"

namespace lab {
const StageConf& stage_conf() {
  static const StageConf conf{"sm_90a", "", 232448};
  return conf;
}
const char* stage_name() { return "the program"; }
const char* planted_bug() { return ""; }
bool can_check() { return true; }
}  // namespace lab

namespace {

using namespace lab;

// "s" of "s[3]", "g" of "element 5 of g (256 B, elements of 4 B)".
std::string array_of(const std::string& where) {
  const auto of = where.find(" of ");
  const std::string name = of == where.npos ? where : where.substr(of + 4);
  return name.substr(0, name.find_first_of("[(,"));
}

void write_findings() {
  static bool written = false;
  const char* path = std::getenv("LAB_FINDINGS");
  if (written || !path) return;
  written = true;
  std::FILE* const file = std::fopen(path, "w");
  if (!file) return;
  const ExecReport report = take_exec_report();
  for (const Finding& f : report.findings) {
    const auto [kind, later, earlier, hazard] = f.key();
    std::fprintf(file, "%s %d %s:%d %s:%d %s\n%s\n.\n", f.same_value ? "same-value" : "finding", int(kind),
                 later.first.c_str(), later.second, earlier.first.c_str(), earlier.second,
                 (later.second ? array_of(f.where) : f.kernel).c_str(), f.text.c_str());
  }
  if (!report.message.empty()) std::fprintf(file, "message\n%s\n.\n", report.message.c_str());
  std::fclose(file);
}

void on_abort(int) {
  write_findings();
  std::signal(SIGABRT, SIG_DFL);
  std::raise(SIGABRT);
}

struct Setup {
  Setup() {
    ExecOptions options;
    options.multiprocessors = 132, options.workers = 1, options.check = options.gaps = options.unwritten = true;
    char schedule[32] = "ascending", copies[32] = "at_wait";
    double seconds = 60;
    if (const char* run = std::getenv("LAB_RUN")) std::sscanf(run, "%31s %31s %lf", schedule, copies, &seconds);
    for (const Schedule each : SCHEDULES)
      if (!std::strcmp(name(each), schedule)) options.schedule = each;
    for (const Copies each : COPY_TIMES)
      if (!std::strcmp(name(each), copies)) options.copies = options.products = each;
    // Blocks begin in any order, on which it depends which of them has a lock first.
    if (options.schedule == Schedule::round_robin) options.block_order = 1;  // descending
    if (options.schedule == Schedule::random) options.block_order = 2;       // shuffled
    options.block_seconds = seconds;
    set_exec_options(options);
    std::signal(SIGABRT, on_abort);
    std::atexit(write_findings);
  }
} const setup;

}  // namespace

// Of a kernel: the launch's error, with block, thread and place. Of host code: the end of the program.
extern "C" void __assert_fail(const char* condition, const char* file, unsigned line,
                              const char* function) noexcept(true) {
  cpu::Block* const block = cpu::this_block();
  if (block && block->running())
    block->fail(cudaErrorAssert, Finding::Kind::fault,
                joined("assertion `", condition, "` failed in ", function, ", thread (", threadIdx.x, ",", threadIdx.y,
                       ",", threadIdx.z, ")"),
                reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)) - 1);
  std::fprintf(stderr, "%s:%u: %s: assertion `%s` failed\n", file, line, function, condition);
  std::abort();
}
