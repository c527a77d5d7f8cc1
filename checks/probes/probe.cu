// The program of a probe, for a GPU: make probe what=mma builds it from checks/probes/mma.cuh, which PROBE_HEADER names, with PROBE as its
// namespace, and runs its sections. sample=FILE also writes what was measured, for the unit tests; only=WORD runs sections with WORD in
// their name. Each section runs in a process of its own: one that faults or hangs costs itself alone.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string_view>

#include PROBE_HEADER

using namespace lab;
using probe::Failed;

// The reason of common/gpu/tensor_map.cpp for a map that it refuses.
namespace lab {
void set_launch_message(const std::string& text) { probe::at_work += " " + text; }
}  // namespace lab

namespace {

constexpr int SECONDS = 60;  // for a section

// 2: it could not go on.
int main_of(const std::function<int()>& body) {
  try {
    return body();
  } catch (const Failed& failed) {
    std::fprintf(stderr, "probe: %s\n", failed.what());
    return 2;
  }
}

// The answer of `work` in a process of its own; "" if that did not come to its end in time. CUDA must not begin before the fork.
std::string in_a_process(const std::function<std::string()>& work) {
  int ends[2];
  if (pipe(ends) != 0) throw Failed("no pipe");
  std::fflush(stdout);
  const pid_t child = fork();
  if (child < 0) throw Failed("no process");
  if (child == 0) {
    close(ends[0]);
    alarm(SECONDS);
    std::exit(main_of([&] {
      const std::string answer = work();
      std::FILE* const pipe = fdopen(ends[1], "w");
      return std::fwrite(answer.data(), 1, answer.size(), pipe) == answer.size() && std::fclose(pipe) == 0 ? 0 : 2;
    }));
  }
  close(ends[1]);
  std::string answer;
  char part[4096];
  for (ssize_t got; (got = read(ends[0], part, sizeof part)) > 0;) answer.append(part, std::size_t(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? answer : "";
}

// "90 NVIDIA H200, CUDA 13.0".
std::string device() {
  cudaDeviceProp gpu{};
  int runtime = 0;
  probe::must(cudaGetDeviceProperties(&gpu, 0), "no GPU");
  probe::must(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  const int sm = 10 * gpu.major + gpu.minor;
  if (sm < PROBE::FROM || sm > PROBE::TO)
    throw Failed(format("%s is sm_%d; this probe is for sm_%d to sm_%d", gpu.name, sm, PROBE::FROM, PROBE::TO));
  return format("%d %s, CUDA %d.%d", sm, gpu.name, runtime / 1000, runtime % 1000 / 10);
}

int probe_all(const std::string& sample, const std::string& only) {
  const std::string about = in_a_process(device);
  if (about.empty()) return 2;
  const int sm = std::atoi(about.c_str());
  const std::string name = about.substr(about.find(' ') + 1);
  std::printf("%s\n", name.c_str());
  std::string measured = PROBE::head(name, sm);
  int passed = 0, failed = 0;
  for (const probe::Section& section : PROBE::sections(sm, true)) {
    if (section.name.find(only) == std::string::npos) continue;
    const std::string answer = in_a_process([&] {
      probe::Tally tally;
      section.work(tally);
      std::printf("%s%-44s %8ld of %ld wrong\n", tally.report.c_str(), section.name.c_str(), tally.wrong, tally.cases);
      return (tally.wrong == 0 && tally.cases > 0 ? "+" : "-") + tally.sample;
    });
    if (answer.empty()) std::printf("%-44s did not come to its end\n", section.name.c_str());
    ++(answer.starts_with("+") ? passed : failed);
    if (!answer.empty()) measured += answer.substr(1);
  }
  if (passed + failed == 0) throw Failed("no section has '" + only + "' in its name");
  if (!sample.empty() && !(std::ofstream(sample) << measured).flush()) throw Failed("cannot write " + sample);
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed > 0;
}

}  // namespace

int main(int argc, char** argv) {
  return main_of([&] {
    std::string sample, only;
    for (const std::string_view word : std::vector<std::string_view>(argv + 1, argv + argc)) {
      std::string* const value = word.starts_with("sample=") ? &sample : word.starts_with("only=") ? &only : nullptr;
      if (!value || word.ends_with("=")) throw Failed("'" + std::string(word) + "' means nothing here");
      *value = word.substr(word.find('=') + 1);
    }
    return probe_all(sample, only);
  });
}
