// Does this GPU compute what common/emulator/tensor_core.hpp says, bit for bit, and do its lanes hold what
// common/mma_layout.hpp says (checks/probes/mma_sections.cuh)?
//
//   probe_mma [sample=FILE]    on a GPU: make probe what=mma check=1. sample=FILE also writes measured cases, for the unit tests
#include <cstdio>
#include <string>

#include "checks/probes/mma_sections.cuh"

using namespace lab;

int main(int argc, char** argv) {
  return probe::main_of("probe_mma", [&] {
    constexpr int TILES = 512;
    const std::string sample = probe::word_of(argc, argv, "sample");
    cudaDeviceProp device{};
    probe::must(cudaGetDeviceProperties(&device, 0), "no GPU");
    if (device.major != 8 && device.major != 9)
      throw probe::Failed(std::string(device.name) + " is sm_" + std::to_string(10 * device.major + device.minor) +
                          "; there is a model of sm_8x and of sm_90");
    const bool hopper = device.major == 9;
    const std::string model = hopper ? "sm_90" : "sm_89";
    std::printf("%s, model %s\n", device.name, model.c_str());
    std::string measured =
        "# Dot products as the tensor core of one GPU gives them (mma.sync.m16n8k16): a and b, 16 halves each,\n"
        "# c, result; all as bits. Measured on an " +
        probe::device_line(device) + ", by `make probe what=mma sample=...`.\n" + model + "\n";
    int passed = 0, failed = 0;
    for (const probe::Section& section :
         mma_probe::sections(TILES, hopper, hopper ? TensorCore::sm_90 : TensorCore::sm_89)) {
      probe::Tally tally;
      section.work(tally);
      std::printf("%s", tally.report.c_str());
      if (tally.sample.empty())
        std::printf("%-28s %7ld of %ld wrong\n", section.name.c_str(), tally.wrong, tally.cases);
      ++(tally.wrong == 0 ? passed : failed);
      measured += tally.sample;
    }
    probe::write_sample(sample, measured);
    return probe::finish(passed, failed);
  });
}
