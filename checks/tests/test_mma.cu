// `make probe what=mma` on the CPU: mma.sync, ldmatrix, stmatrix; and WMMA's fragments.
#include <cctype>
#include <fstream>
#include <iterator>

#include "checks/probes/mma_sections.cuh"
#include "checks/tests/test_exec.hpp"
#include "common/wmma_layout.hpp"

using namespace lab;

namespace {

// Written by `make probe what=mma sample=...` on an H200; its head is three lines.
const char* const SAMPLE = "reference/tensor_core_sample.txt";

}  // namespace

TEST_CASE("mma: the probe's places and products, ldmatrix and stmatrix, and the bits of a GPU") {
  std::ifstream file(SAMPLE);
  REQUIRE(file.good());
  std::string line, sample;
  for (int i = 0; i < 3; ++i) std::getline(file, line);
  CHECK(line == "sm_90");
  for (const probe::Section& section : mma_probe::sections(mma_probe::SAMPLED, true, TensorCore::sm_90)) {
    probe::Tally tally;
    section.work(tally);
    CHECK_MESSAGE((tally.wrong == 0 && tally.cases > 0), section.name << "\n" << tally.report);
    sample += tally.sample;
  }
  CHECK(sample == std::string(std::istreambuf_iterator<char>(file), {}));
}

TEST_CASE("mma: WMMA's fragments are those that an H200 showed") {
  namespace wmma = wmma_layout;
  std::ifstream file("writeups/results/h200-wmma-layout.txt");
  int agree = 0;
  const auto next_is = [&](const auto& table) {
    file.ignore(10'000, '{');
    for (const auto& row : table)
      for (const short wanted : row) {
        int number = -1;
        while (file.good() && !std::isdigit(file.peek())) file.get();
        file >> number, agree += number == wanted;
      }
  };
  next_is(wmma::A_ROW_HELD), next_is(wmma::B_HELD), next_is(wmma::B_HELD), next_is(wmma::ACC_HELD);
  next_is(wmma::A_ROW_USED), next_is(wmma::B_USED), next_is(wmma::B_USED);
  CHECK(agree == 3 * 32 * 16 + 32 * 8 + 3 * 16 * 16);
}
