#include <sys/utsname.h>
#include <unistd.h>

#include <ctime>
#include <fstream>

#include "checks/acceptance/format.hpp"
#include "checks/desk/records/records.hpp"

namespace lab::desk {
namespace {

std::string quoted(const std::string& text) { return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace); }

// The pieces of an array, or "key": piece of an object, between brackets.
template <class Text>
std::string bracketed(const Json& value, const std::string& before, const std::string& end, Text text) {
  std::string out;
  for (const auto& item : value.items())
    out += (out.empty()                ? ""
            : before.starts_with('\n') ? ","
                                       : ", ") +
           before + (value.is_object() ? quoted(item.key()) + ": " : "") + text(item.value());
  return (value.is_object() ? "{" : "[") + out + end + (value.is_object() ? "}" : "]");
}

std::string laid_out(const Json& value, int levels, int digits, const std::string& indent) {
  if (levels == 0 || !value.is_structured() || value.empty()) return one_line(value, digits);
  return bracketed(value, indent + "  ", indent,
                   [&](const Json& one) { return laid_out(one, levels - 1, digits, indent + "  "); });
}

}  // namespace

Json parse_json(std::string_view text, const std::string& what) {
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  const auto seen = [&](int, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second)
      throw BadInput(what + ": not JSON: '" + value.get<std::string>() + "' twice in one object");
    return true;
  };
  try {
    return Json::parse(text, seen);
  } catch (const Json::parse_error& e) {
    throw BadInput(what + ": not JSON: an error at byte " + std::to_string(e.byte));
  }
}

Json load_results(const fs::path& path, std::string_view schema, std::string_view remade_by) {
  const std::string name = path.string(), remade = "; " + std::string(remade_by) + " writes it";
  if (!fs::exists(path)) throw BadInput("no " + name + remade);
  Json value = parse_json(read_text(path.string()), name);
  if (!value.is_object() || !value.contains("schema") || value["schema"] != schema)
    throw BadInput(name + ": its schema is not " + std::string(schema) + remade);
  return value;
}

std::string one_line(const Json& value, int digits) {
  if (value.is_structured()) return bracketed(value, "", "", [&](const Json& one) { return one_line(one, digits); });
  if (value.is_string()) return quoted(value.get<std::string>());
  if (value.is_number_float()) return format("%.*g", digits, value.get<double>());
  return value.dump();
}

std::string laid_out(const Json& value, int levels, int digits) { return laid_out(value, levels, digits, "\n") + "\n"; }

std::string title_of(const Json& facts, const std::vector<const char*>& keys) {
  std::vector<std::string> words;
  for (const char* key : keys) words.push_back(facts.at(key));
  return joined(words, ", ") + ": " + facts.at("gpu").get<std::string>() + "\n";
}

std::string lab_path(std::string pattern, const std::string& stage, const std::string& variant) {
  const std::string whole = pattern;
  for (const auto& [word, value] : {std::pair<std::string, std::string>{"STAGE", stage}, {"VARIANT", variant}}) {
    const std::size_t at = pattern.find(word);
    if (at == pattern.npos)
      throw BadInput("'" + whole + "' has no " + word + "; such as build/cpu/STAGE/VARIANT/kernel.so");
    pattern.replace(at, word.size(), value);
  }
  return pattern;
}

std::string variant_of(const std::string& bug, const std::string& otherwise) {
  return bug.empty() ? otherwise : "bug-" + bug;
}

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
