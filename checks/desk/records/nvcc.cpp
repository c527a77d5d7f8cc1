#include "checks/desk/records/nvcc.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "checks/budget/ptxas.hpp"
#include "checks/desk/desk.hpp"
#include "checks/desk/ladder.hpp"
#include "checks/desk/side_by_side.hpp"
#include "common/gpu_fit.hpp"
#include "common/number.hpp"

namespace lab::desk {
namespace {

namespace fs = std::filesystem;

// When a header that a kernel may include was last touched.
fs::file_time_type newest_header() {
  fs::file_time_type newest = fs::file_time_type::min();
  for (const auto& entry : fs::recursive_directory_iterator("common"))
    if (entry.path().extension() == ".cuh" || entry.path().extension() == ".hpp")
      newest = std::max(newest, entry.last_write_time());
  return newest;
}

}  // namespace

std::optional<std::string> said_before(const std::string& log, const std::string& key, fs::file_time_type inputs) {
  std::error_code missing;
  const auto written = fs::last_write_time(log, missing);
  if (missing || written <= inputs) return std::nullopt;
  const std::string text = read_text(log);
  return text.starts_with(key + "\n") ? std::optional(text.substr(key.size() + 1)) : std::nullopt;
}

void compile_all(std::vector<Compilation>& all) {
  const auto version = lines_of(capture({"nvcc", "--version"}).out);
  const std::string work = "build/cubins/", compiler = version.empty() ? "no nvcc" : version.back();
  const auto headers = newest_header();
  const auto compiled = [&](const Compilation& c) {
    const std::string name = work + c.stage + "-" + c.bug + "-" + c.arch, log = name + ".log";
    fs::create_directories(fs::path(name).parent_path());
    const Args command = {"nvcc",    "-std=c++20", "-O3", "-fmad=false", "-arch=" + c.arch, "-cubin",
                          "-Xptxas", "-v",         "-I.", "-o",          name + ".cubin",   c.source};
    const std::string key = compiler + ": " + joined(command, " ");
    if (const auto said = said_before(log, key, std::max(headers, fs::last_write_time(c.source))))
      return Ran{0, "", *said};
    const auto begun = fs::file_time_type::clock::now();
    Ran ran = capture(command);
    if (ran.status != 0) return ran;
    write_text(log, key + "\n" + ran.out + ran.err);
    fs::last_write_time(log, begun);  // what was edited while nvcc ran is newer
    return ran;
  };
  const char* jobs = std::getenv("JOBS");
  const auto at_a_time = number_in<std::size_t>(jobs ? jobs : "", 1).value_or(cores());
  std::size_t next = 0;
  side_by_side(at_a_time, std::vector(all), compiled, [&](const Ran& ran) { all[next++].nvcc = ran; });
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

// desk-records archs: every stage's kernel compiled for every architecture that its stage.conf claims; no GPU is
// needed. A line for each stage. Exit status 1 if one does not compile, or compiles with what trouble_in() names.

int archs_command(const Args&) {
  const Ran known = capture({"nvcc", "--list-gpu-code"});
  if (known.status != 0) throw BadInput("make archs needs nvcc, which is not on the PATH");
  std::vector<Compilation> all;
  for (const StageNeeds& stage : stages_in("stages"))
    for (const std::string& arch : claimed_architectures(stage, words_of(known.out)))
      all.push_back({stage.stage, "", arch, kernel_path(stage.stage)});
  compile_all(all);

  int passed = 0, failed = 0;
  std::string last;
  for (const Compilation& c : all) {
    if (c.stage != last) std::printf("%s%-20s", last.empty() ? "" : "\n", (last = c.stage).c_str());
    const std::string trouble = trouble_in(c.nvcc);
    ++(trouble.empty() ? passed : failed);
    std::printf(" %s%s%s", c.arch.c_str(), trouble.empty() ? "" : " RED: ", trouble.c_str());
  }
  std::printf("\n%d passed, %d failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}

}  // namespace lab::desk
