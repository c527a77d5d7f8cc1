#include "checks/search/tunables.hpp"

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>

#include "checks/acceptance/format.hpp"
#include "checks/acceptance/whole_file.hpp"
#include "reference/bad_input.hpp"

namespace lab::search {
namespace {

std::vector<std::string> split(const std::string& text, const std::string& separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0, end = 0; end != text.npos; begin = end + separator.size())
    end = text.find(separator, begin), parts.push_back(text.substr(begin, end - begin));
  return parts;
}

struct Launch {
  std::size_t at, size;
  std::vector<std::string> arguments;
};

std::vector<Launch> launches(const std::string& source) {
  static const std::regex CALL("\\blaunch<(\\d[^>]*)>\\(args\\)");
  std::vector<Launch> all;
  for (std::sregex_iterator i(source.begin(), source.end(), CALL), end; i != end; ++i)
    all.push_back({std::size_t(i->position()), std::size_t(i->length()), split((*i)[1], ", ")});
  return all;
}

std::string conf_of(const std::string& stage) {
  const std::string path = "stages/" + stage + "/tunables.conf";
  if (!std::filesystem::exists(path))
    throw BadInput(stage + " has no tunables: there is no " + path + " (writeups/extending.md says what is in one)");
  return read_whole(path);
}

}  // namespace

Tunables::Tunables(const std::string& stage)
    : Tunables(stage, conf_of(stage), read_whole("stages/" + stage + "/kernel.cu")) {}

Tunables::Tunables(const std::string& stage, const std::string& conf, const std::string& kernel)
    : stage_(stage), kernel_(kernel) {
  read(conf);
  for (Tunable& t : tunables_) {
    if (t.at.empty()) continue;
    const auto [at, size] = place(t, kernel_);
    t.own = kernel_.substr(at, size);
  }
  check();
}

void Tunables::must(bool holds, const std::string& what) const {
  if (!holds) throw BadInput("stages/" + stage_ + "/tunables.conf: " + what);
}

void Tunables::read(const std::string& conf) {
  const std::regex LINE("(table|tunable|  values|  at)(?: (.*?[^ ]))?: (.*)");
  std::istringstream lines(conf);
  std::smatch m;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    must(std::regex_match(line, m, LINE) && (line[0] != ' ' || !tunables_.empty()),
         "'" + line + "' means nothing; lines are table, tunable (with values and at)");
    const std::string kind = m[1], what = m[2], text = m[3];
    const std::size_t when = what.find(" when ");
    if (kind == "table") arguments_ = split(text, " ");
    if (kind == "tunable")
      tunables_.push_back({what.substr(0, when), when == what.npos ? "" : what.substr(when + 6), {}, {}, {}});
    if (kind == "  values") tunables_.back().values = split(text, " | ");
    if (kind == "  at") tunables_.back().at = text;
  }
}

void Tunables::check() const {
  std::set<std::string> names = {"D"};
  for (const Tunable& t : tunables_) {
    const bool of_launch = std::ranges::count(arguments_, t.name) > 0;
    must(names.insert(t.name).second, t.name + " is there twice");
    must(t.values.size() > 1, t.name + " has no two values");
    must(of_launch != !t.at.empty(), t.name + " must have at:, or be an argument of the table");
    must(t.when.empty() || t.when == "causal" || t.when == "D == 64" || t.when == "D == 128",
         t.name + ": when " + t.when + ": it is D == 64, D == 128 or causal");
    must(of_launch || std::ranges::count(t.values, t.own),
         t.name + ": '" + t.own + "', which kernel.cu says, is not among its values");
  }
  must(!arguments_.empty() && arguments_[0] == "D" &&
           std::ranges::all_of(arguments_, [&](const auto& name) { return names.contains(name); }),
       "table: D and then tunables");
  for (const Launch& call : launches(kernel_))
    must(call.arguments.size() == arguments_.size(),
         format("table: has %zu arguments, a launch of kernel.cu %zu", arguments_.size(), call.arguments.size()));
}

// Where a source has the value that stands in braces in "constexpr int Q = {2};", and its length. The piece must be there once, and
// not in a comment, whose words change nothing.
std::pair<std::size_t, std::size_t> Tunables::place(const Tunable& t, const std::string& source) const {
  const std::size_t open = t.at.find('{'), close = t.at.find('}', std::min(open, t.at.size()));
  must(close != t.at.npos, t.name + ": no value in braces in '" + t.at + "'");
  const std::string value = t.at.substr(open + 1, close - open - 1);
  const std::string text = t.at.substr(0, open) + value + t.at.substr(close + 1);
  const std::size_t at = source.find(text);
  must(at != source.npos && source.find(text, at + 1) == source.npos,
       t.name + ": '" + text + "' must be in kernel.cu once");
  must(source.find("//", source.rfind('\n', at) + 1) >= at + text.size(), t.name + ": '" + text + "' is in a comment");
  return {at + open, value.size()};
}

std::vector<const Tunable*> Tunables::for_shape(const Shape& shape) const {
  std::vector<const Tunable*> some;
  for (const Tunable& t : tunables_)
    if (t.when.empty() || (t.when == "causal" ? shape.causal : t.when == format("D == %d", shape.D)))
      some.push_back(&t);
  return some;
}

std::vector<Setting> Tunables::rows(const Shape& shape) const {
  std::vector<Setting> all;
  for (const Launch& call : launches(kernel_)) {
    if (call.arguments[0] != std::to_string(shape.D)) continue;
    Setting& row = all.emplace_back();
    for (const Tunable& t : tunables_)
      if (!t.at.empty()) row[t.name] = t.own;
    for (std::size_t i = 1; i < arguments_.size(); ++i) row[arguments_[i]] = call.arguments[i];
  }
  return all;
}

std::string Tunables::launch(const Setting& row, const Shape& shape, const char* comma) const {
  std::string text = "<" + std::to_string(shape.D);
  for (std::size_t i = 1; i < arguments_.size(); ++i) text += comma + row.at(arguments_[i]);
  return text + ">";
}

Setting Tunables::own(const Shape& shape, const std::string& plan) const {
  const std::vector<Setting> all = rows(shape);
  for (const Setting& row : all)
    if (all.size() == 1 || plan.find(launch(row, shape, ",")) != plan.npos) return row;
  must(false, "no row of the table is what the stage's plan says");
  return {};
}

// Changes no number of lines.
std::string Tunables::source(const Setting& setting, const Shape& shape) const {
  std::string text = "#line 1 \"stages/" + stage_ + "/kernel.cu\"\n" + kernel_;
  std::vector<std::pair<std::pair<std::size_t, std::size_t>, std::string>> edits;
  for (const Tunable& t : tunables_)
    if (!t.at.empty()) edits.emplace_back(place(t, text), setting.at(t.name));
  for (const Launch& call : launches(text)) {  // those of the other D need not compile
    const bool chosen = call.arguments[0] == std::to_string(shape.D);
    edits.push_back(
        {{call.at, call.size}, chosen ? "launch" + launch(setting, shape, ", ") + "(args)" : "cudaErrorInvalidValue"});
  }
  std::ranges::sort(edits, std::greater());
  for (const auto& [where, value] : edits) text.replace(where.first, where.second, value);
  return text;
}

}  // namespace lab::search
