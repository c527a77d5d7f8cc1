// The program of a probe, for a GPU: make probe what=mma builds it from checks/probes/mma.cuh, which PROBE_HEADER names, with PROBE as its
// namespace. probe.sh starts it once for each section, by its name: the report goes to standard error and what was measured, for the unit
// tests, to standard output. Without a word the GPU and the sections' names, and the head of what is measured. Status 1: wrong; 2: it cannot
// go on.
#include <cstdlib>

#include PROBE_HEADER

using namespace lab;

// The reason of common/gpu/tensor_map.cpp for a map that it refuses.
namespace lab {
void set_launch_message(const std::string& text) { probe::at_work += " " + text; }
}  // namespace lab

namespace {

int probe_all(const std::string& wanted) {
  cudaDeviceProp gpu{};
  int runtime = 0;
  check_cuda(cudaGetDeviceProperties(&gpu, 0), "no GPU");
  check_cuda(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  const int sm = 10 * gpu.major + gpu.minor;
  if (sm < PROBE::FROM || sm > PROBE::TO)
    throw std::runtime_error(
        format("%s is sm_%d; this probe is for sm_%d to sm_%d", gpu.name, sm, PROBE::FROM, PROBE::TO));
  const std::string name = format("%s, CUDA %d.%d", gpu.name, runtime / 1000, runtime % 1000 / 10);
  if (wanted.empty()) std::printf("%s", PROBE::head(name).c_str()), std::fprintf(stderr, "%s\n", name.c_str());
  bool good = wanted.empty();  // a name that no section has is no success
  for (const probe::Section& section : PROBE::sections(true)) {
    if (wanted.empty()) std::fprintf(stderr, "%s\n", section.name.c_str());
    if (section.name != wanted) continue;
    probe::Tally tally;
    section.work(tally);
    std::fprintf(stderr, "%s%-44s %8ld of %ld wrong\n", tally.report.c_str(), wanted.c_str(), tally.wrong, tally.cases);
    std::printf("%s", tally.sample.c_str());
    good = tally.wrong == 0 && tally.cases > 0;
  }
  return !good;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return probe_all(argc > 1 ? argv[1] : "");
  } catch (const std::exception& failed) {
    std::fprintf(stderr, "probe: %s%s%s\n", probe::at_work.c_str(), probe::at_work.empty() ? "" : ": ", failed.what());
    return 2;
  }
}
