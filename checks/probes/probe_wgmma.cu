// Does this GPU's wgmma find and leave its matrices where common/wgmma_layout.hpp says, and compute what
// common/emulator/tensor_core.hpp says, bit for bit? Does the copy engine move boxes as checks/probes/box_cases.hpp
// says?
//
//   probe_wgmma [sample=FILE] [only=WORD]    on a GPU of sm_90: make probe what=wgmma check=1. sample=FILE also writes what
//                                            was measured, for the unit tests; only= runs sections with WORD in their
//                                            name.
// Each section runs in a process of its own: one that faults or hangs costs itself alone.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "checks/probes/wgmma_sections.cuh"

using namespace lab;

namespace {

constexpr int SECONDS = 60;     // for a section
constexpr int DOT_BLOCKS = 64;  // per family and kind of A

// The answer of `work` in a process of its own; nothing if that did not come to its end in time.
std::optional<std::string> in_a_process(const std::function<std::string()>& work) {
  int ends[2];
  if (pipe(ends) != 0) throw probe::Failed("no pipe");
  std::fflush(stdout);
  const pid_t child = fork();
  if (child < 0) throw probe::Failed("no process");
  if (child == 0) {
    close(ends[0]);
    alarm(SECONDS);
    std::exit(probe::main_of("probe_wgmma", [&] {
      const std::string answer = work();
      for (std::size_t at = 0; at < answer.size();) {
        const ssize_t written = write(ends[1], answer.data() + at, answer.size() - at);
        if (written <= 0) throw probe::Failed("the pipe is closed");
        at += std::size_t(written);
      }
      return 0;
    }));
  }
  close(ends[1]);
  std::string answer;
  char part[4096];
  for (ssize_t got; (got = read(ends[0], part, sizeof part)) > 0;) answer.append(part, std::size_t(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return std::nullopt;
  return answer;
}

// CUDA must not begin before the fork.
std::string device() {
  const auto line = in_a_process([] {
    cudaDeviceProp device{};
    probe::must(cudaGetDeviceProperties(&device, 0), "no GPU");
    if (device.major != 9 || device.minor != 0)
      throw probe::Failed(std::string(device.name) + " is sm_" + std::to_string(10 * device.major + device.minor) +
                          "; wgmma is sm_90's alone");
    return probe::device_line(device);
  });
  if (!line) std::exit(2);
  return *line;
}

int probe_all(const std::string& sample, const std::string& only) {
  const std::string name = device();
  std::printf("%s\n", name.c_str());
  std::string measured =
      "# What wgmma gave on an " + name +
      ", written by `make probe what=wgmma sample=...`.\n"
      "# case: N, B n innermost, A from registers, scale-D, descriptors of A and B counted from the image,\n"
      "#   seed, the image's address, FNV-1a of D's words row by row (checks/probes/wgmma_cases.hpp).\n"
      "# dot: a and b, 16 halves each, c, result; all as bits.\n";
  int passed = 0, failed = 0;
  auto sections = wgmma_probe::sections(DOT_BLOCKS, true);
  sections.push_back({"announced: too few bytes, too many", wgmma_probe::announced});
  for (const probe::Section& section : sections) {
    if (section.name.find(only) == std::string::npos) continue;
    const auto answer = in_a_process([&] {
      probe::Tally tally;
      section.work(tally);
      std::printf("%s%-36s %8ld of %ld wrong\n", tally.report.c_str(), section.name.c_str(), tally.wrong, tally.cases);
      return (tally.wrong == 0 && tally.cases > 0 ? "+" : "-") + tally.sample;
    });
    if (!answer) std::printf("%-36s did not come to its end\n", section.name.c_str());
    const bool good = answer && answer->starts_with("+");
    ++(good ? passed : failed);
    if (answer) measured += answer->substr(1);
  }
  if (passed + failed == 0) throw probe::Failed("no section has '" + only + "' in its name");
  probe::write_sample(sample, measured);
  return probe::finish(passed, failed);
}

}  // namespace

int main(int argc, char** argv) {
  return probe::main_of("probe_wgmma", [&] {
    return probe_all(probe::word_of(argc, argv, "sample", "only"), probe::word_of(argc, argv, "only", "sample"));
  });
}
