#include "checks/desk/records/nvcc.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "checks/budget/ptxas.hpp"
#include "checks/desk/desk.hpp"

namespace lab::desk {

void compile_all(std::vector<Compilation>& all, const std::string& work) {
  std::filesystem::create_directories(work);
  std::atomic<std::size_t> next = 0;
  const auto compile = [&] {
    for (std::size_t i; (i = next++) < all.size();) {
      Compilation& c = all[i];
      const std::string cubin = work + c.stage + "-" + c.bug + "-" + c.arch + ".cubin";
      c.nvcc = capture(
          {"nvcc", "-std=c++20", "-O3", "-arch=" + c.arch, "-cubin", "-Xptxas", "-v", "-I.", "-o", cubin, c.source});
    }
  };
  const char* jobs = std::getenv("JOBS");
  const int asked = jobs ? std::atoi(jobs) : 0;
  const unsigned count = asked > 0 ? unsigned(asked) : std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::jthread> workers;
  for (unsigned i = 0; i < count; ++i) workers.emplace_back(compile);
}

std::string trouble_in(const Ran& nvcc) {
  const std::string text = nvcc.out + nvcc.err;
  if (nvcc.status != 0) {
    for (const std::string& line : lines_of(text))
      if (line.find("error") != line.npos || line.find("fatal") != line.npos) return line;
    return "nvcc ends with status " + std::to_string(nvcc.status);
  }
  const PtxasLog log = parse_ptxas(text);
  if (!log.lost.empty()) return log.lost.front();
  return log.kernels.empty() ? "ptxas names no kernel" : "";
}

}  // namespace lab::desk
