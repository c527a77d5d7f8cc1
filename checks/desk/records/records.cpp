#include <sys/utsname.h>
#include <unistd.h>

#include <ctime>
#include <fstream>

#include "checks/acceptance/format.hpp"
#include "checks/desk/records/records.hpp"

namespace lab::desk {
std::string stage_of(const std::string& lab) {
  const fs::path dir = fs::path(lab).parent_path().parent_path();
  const bool own = dir.parent_path().filename() == "own";
  const std::string stage = (own ? "own/" : "") + dir.filename().string();
  if (stage.empty()) throw BadInput("'" + lab + "' is no build/BACKEND/STAGE/VARIANT/kernel.so");
  return stage;
}

std::string gpu_field(const std::string& field) {
  return first_line({"nvidia-smi", "--query-gpu=" + field, "--format=csv,noheader"});
}

std::string nvcc_release() {
  const std::string text = capture({"nvcc", "--version"}).out, before = "release ";
  const std::size_t at = text.find(before);
  return at == text.npos ? "" : text.substr(at + before.size(), text.find(',', at) - at - before.size());
}

std::string commit() {
  if (const char* given = std::getenv("LAB_COMMIT")) return given;
  const std::string described = first_line({"git", "describe", "--always", "--dirty"});
  return described.empty() ? "unknown" : described;
}

std::string utc_time() {
  const std::time_t now = std::time(nullptr);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
  return text;
}

std::string host() {
  utsname system{};
  uname(&system);
  std::string processor;
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; processor.empty() && std::getline(info, line);)
    if (line.starts_with("model name"))
      if (const auto colon = line.find(": "); colon != line.npos) processor = line.substr(colon + 2);
  return std::string(system.sysname) + " " + system.release + ", " + processor + ", " +
         std::to_string(sysconf(_SC_NPROCESSORS_ONLN)) + " cores";
}

std::vector<std::pair<std::string, std::string>> measured_on() {
  return {{"date", utc_time()},
          {"commit", commit()},
          {"machine", host()},
          {"gpu", gpu_field("name")},
          {"driver", gpu_field("driver_version")},
          {"cuda", nvcc_release()}};
}

}  // namespace lab::desk
