// desk-records machine, sanitizer-report.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>

#include "checks/desk/desk.hpp"
#include "checks/desk/process.hpp"
#include "checks/desk/records/machine.hpp"
#include "checks/desk/records/sanitizer_report.hpp"

namespace lab::desk {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> sorted(const fs::path& directory) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(directory)) found.push_back(entry.path());
  std::ranges::sort(found);
  return found;
}

// "2025.3.1.0 (build 36400806) (public-release)"
std::string sanitizer_version(const std::string& tool) {
  for (const std::string& line : lines_of(capture({tool, "--version"}).out))
    if (line.starts_with("Version")) return line.substr(std::min(line.find_first_not_of(' ', 7), line.size()));
  return "";
}

// Logs of one build: STAGE-fixed/ or STAGE-bug-NAME/ with TOOL.SHAPE.log.
ToolReport report_of(const fs::path& build) {
  const std::string name = build.filename().string();
  const std::size_t dash = name.find('-');
  if (dash == name.npos) throw BadInput(build.string() + " is no STAGE-VARIANT");
  const std::string variant = name.substr(dash + 1);
  std::vector<SanitizerLog> logs;
  for (const fs::path& path : sorted(build)) {
    if (path.extension() != ".log") continue;
    const std::string file = path.stem().string();
    const std::size_t dot = file.find('.');
    if (dot == file.npos) throw BadInput(path.string() + " is no TOOL.SHAPE.log");
    logs.push_back({file.substr(0, dot), file.substr(dot + 1), read_text(path.string())});
  }
  if (logs.empty()) throw BadInput(build.string() + " has no logs");
  return read_sanitizer_logs(name.substr(0, dash), variant.starts_with("bug-") ? variant.substr(4) : "", logs);
}

}  // namespace

int machine_command(const Args& args) {
  std::printf("gpu %s\ndriver %s\ncuda %s\n", gpu_field("name").c_str(), gpu_field("driver_version").c_str(),
              nvcc_release().c_str());
  if (!args.empty()) std::printf("sanitizer %s\n", sanitizer_version(args[0]).c_str());
  std::printf("date %s\n", utc_time().substr(0, 10).c_str());
  return 0;
}

int sanitizer_report_command(const Args& args) {
  const fs::path logs = args[0];
  if (!fs::is_directory(logs)) throw BadInput("no logs in " + logs.string());
  std::vector<ToolReport> reports;
  for (const fs::path& path : sorted(logs))
    if (fs::is_directory(path)) reports.push_back(report_of(path));
  if (reports.empty()) throw BadInput("no logs in " + logs.string());
  for (const ToolReport& report : reports) std::fputs(sanitizer_text(report).c_str(), stdout);
  if (args.size() > 1) write_text(args[1], sanitizer_json(read_text((logs / "machine").string()), reports));
  return std::ranges::all_of(reports, &ToolReport::clean) ? 0 : 1;
}

}  // namespace lab::desk
