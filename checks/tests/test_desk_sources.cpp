// nvcc's output about a kernel, for make archs.
#include <doctest/doctest.h>

#include "checks/desk/records/records.hpp"
#include "checks/tests/scratch.hpp"

namespace {
using namespace lab::desk;

const std::string KERNEL =
    "ptxas info    : Compiling entry function 'k' for 'sm_90a'\n"
    "ptxas info    : Function properties for k\n    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    "ptxas info    : Used 12 registers, used 0 barriers\n";
const std::string LOST = "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async is serialized";

}  // namespace

TEST_CASE("archs, ptxas: what nvcc says of a kernel that does not compile, or not well") {
  CHECK(trouble_in({0, "", KERNEL}) == "");
  CHECK(trouble_in({0, "", LOST + "\n" + KERNEL}) == LOST);
  CHECK(trouble_in({0, "", "ptxas info    : (C7515) another\n" + KERNEL}) == "");
  CHECK(trouble_in({0, "", ""}) == "ptxas names no kernel");
  CHECK(trouble_in({2, "", "a warning\nk.cu(3): error: no such thing\n1 error detected\n"}) ==
        "k.cu(3): error: no such thing");
  CHECK(trouble_in({1, "", "nvcc fatal   : Unsupported gpu architecture\n"}) ==
        "nvcc fatal   : Unsupported gpu architecture");
  CHECK(trouble_in({137, "", ""}) == "nvcc ends with status 137");
}

TEST_CASE("archs: what nvcc said before counts if the command is the same and nothing was touched since") {
  const std::string log = lab::scratch_path("nvcc") + ".log";
  const auto inputs = std::filesystem::file_time_type::clock::now();
  write_text(log, "nvcc -arch=sm_90 k.cu\n" + KERNEL);
  std::filesystem::last_write_time(log, inputs + std::chrono::seconds(1));
  CHECK(said_before(log, "nvcc -arch=sm_90 k.cu", inputs) == KERNEL);
  CHECK_FALSE(said_before(log, "nvcc -arch=sm_9 k.cu", inputs));
  CHECK_FALSE(said_before(log, "nvcc -arch=sm_90 k.c", inputs));
  std::filesystem::last_write_time(log, inputs);
  CHECK_FALSE(said_before(log, "nvcc -arch=sm_90 k.cu", inputs));
  std::filesystem::remove(log);
  CHECK_FALSE(said_before(log, "nvcc -arch=sm_90 k.cu", inputs));
}
