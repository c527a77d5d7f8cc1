#include "checks/search/tunables.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>

#include "checks/acceptance/format.hpp"
#include "checks/acceptance/whole_file.hpp"
#include "common/number.hpp"

namespace lab::search {
namespace {

std::vector<std::string> split(const std::string& text, const std::string& separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0, end = 0; end != text.npos; begin = end + separator.size()) {
    end = text.find(separator, begin);
    const std::string part = text.substr(begin, end == text.npos ? end : end - begin);
    const std::size_t first = std::min(part.find_first_not_of(' '), part.size());
    parts.push_back(part.substr(first, part.find_last_not_of(' ') + 1 - first));
  }
  return parts;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

struct Launch {
  std::size_t at, size;
  std::vector<std::string> arguments;
};

std::vector<Launch> launches(const std::string& source) {
  static const std::regex CALL("\\blaunch<(\\d[^>]*)>\\(args\\)");
  std::vector<Launch> all;
  for (std::sregex_iterator i(source.begin(), source.end(), CALL), end; i != end; ++i)
    all.push_back({std::size_t(i->position()), std::size_t(i->length()), split((*i)[1], ",")});
  return all;
}

std::string conf_of(const std::string& stage) {
  const std::string path = "stages/" + stage + "/tunables.conf";
  if (!std::filesystem::exists(path))
    throw BadInput(stage + " has no tunables: there is no " + path + " (writeups/extending.md says what is in one)");
  return read_whole(path);
}

}  // namespace

Printed shell(const std::string& script) {
  std::fflush(nullptr);  // what was printed before stands before what the script prints
  std::FILE* const pipe = popen(script.c_str(), "re");
  if (!pipe) throw std::runtime_error("sh cannot be started");
  Printed printed;
  char buffer[1 << 12];
  for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) printed.text.append(buffer, n);
  const int waited = pclose(pipe);
  printed.status = WIFEXITED(waited) ? WEXITSTATUS(waited) : -1;
  return printed;
}

Tunables::Tunables(const std::string& stage)
    : Tunables(stage, conf_of(stage), read_whole("stages/" + stage + "/kernel.cu")) {}

Tunables::Tunables(const std::string& stage, const std::string& conf, const std::string& kernel)
    : stage_(stage),
      path_("stages/" + stage + "/tunables.conf"),
      kernel_path_("stages/" + stage + "/kernel.cu"),
      kernel_(kernel) {
  read(conf);
  for (Tunable& t : tunables_)
    for (const std::string& piece : t.at) {
      const auto [at, size] = place(piece, kernel_, t.name);
      const std::string own = kernel_.substr(at, size);
      must(t.own.empty() || t.own == own, t.name + " has two values in kernel.cu");
      t.own = own;
    }
  check();
}

void Tunables::must(bool holds, const std::string& what) const {
  if (!holds) throw BadInput(path_ + ": " + what.substr(0, what.find_last_not_of("\n") + 1));
}

void Tunables::read(const std::string& conf) {
  const std::regex tunable("tunable (\\w+)(?: when (.*?))?: .*"), other("(table|  values|  at): (.*)"),
      let("let (\\w+): (.*)"), condition("must (.*?[^ ]): (.*)");
  std::istringstream lines(conf);
  int number = 0;
  std::smatch m;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.empty() || line[0] == '#') continue;
    if (std::regex_match(line, m, tunable)) {
      tunables_.push_back({m[1], m[2].matched ? m[2] : std::string("1"), {}, {}, {}});
    } else if (std::regex_match(line, m, let)) {
      lets_.emplace_back(m[1], m[2]);
    } else if (std::regex_match(line, m, condition)) {
      musts_.emplace_back(m[1], m[2]);
    } else if (std::regex_match(line, m, other) && (line[0] != ' ' || !tunables_.empty())) {
      if (m[1] == "table") arguments_ = words_of(m[2]);
      if (m[1] == "  values") tunables_.back().values = split(m[2], " | ");
      if (m[1] == "  at") tunables_.back().at.push_back(m[2]);
    } else {
      throw BadInput(path_ + ":" + std::to_string(number) + ": '" + line +
                     "' means nothing; lines are table, tunable (with values and at), let, must");
    }
  }
}

void Tunables::check() const {
  std::set<std::string> names = {"D", "causal", "S", "B", "H"};
  for (const Tunable& t : tunables_) {
    const bool of_launch = std::ranges::count(arguments_, t.name) > 0;
    must(names.insert(t.name).second, t.name + " is there twice");
    must(t.values.size() > 1, t.name + " has no two values");
    must(of_launch != !t.at.empty(), t.name + " must have at:, or be an argument of the table");
    must(of_launch || std::ranges::count(t.values, t.own),
         t.name + ": '" + t.own + "', which kernel.cu says, is not among its values");
  }
  must(!arguments_.empty() && arguments_[0] == "D" &&
           std::ranges::all_of(arguments_, [&](const auto& name) { return names.contains(name); }),
       "table: D and then tunables");
  const std::vector<Launch> calls = launches(kernel_);
  must(!calls.empty(), "no `launch<64, ...>(args)` in kernel.cu");
  for (const Launch& call : calls)
    must(call.arguments.size() == arguments_.size(),
         format("table: has %zu arguments, a launch of kernel.cu %zu", arguments_.size(), call.arguments.size()));
  // To sh a name that it does not know is 0.
  const auto known = [&](const std::string& expression) {
    const std::regex name("[A-Za-z_]\\w*");
    for (std::sregex_iterator i(expression.begin(), expression.end(), name), end; i != end; ++i)
      must(names.contains(i->str()), i->str() + " in '" + expression + "' is no name");
  };
  for (const auto& [name, expression] : lets_) known(expression), names.insert(name);
  for (const auto& [condition, reason] : musts_) known(condition);
  for (const Tunable& t : tunables_) known(t.when);
}

// Where a source has the value that stands in braces in "constexpr int Q = {2};", and its length. The piece must be there once, and
// not in a comment, whose words change nothing.
std::pair<std::size_t, std::size_t> Tunables::place(const std::string& piece, const std::string& source,
                                                    const std::string& who) const {
  const std::size_t open = piece.find('{'), close = piece.find('}', std::min(open, piece.size()));
  must(close != piece.npos, who + ": no value in braces in '" + piece + "'");
  const std::string value = piece.substr(open + 1, close - open - 1);
  const std::string text = piece.substr(0, open) + value + piece.substr(close + 1);
  const std::size_t at = source.find(text);
  must(at != source.npos && source.find(text, at + 1) == source.npos,
       who + ": '" + text + "' must be in kernel.cu once");
  must(source.find("//", source.rfind('\n', at) + 1) >= at + text.size(), who + ": '" + text + "' is in a comment");
  return {at + open, value.size()};
}

// Runs a script of sh that knows the setting's numbers, and returns its output: sh's arithmetic is C's. A value that is no number is a
// dash, an error where an expression asks for it: sh would take the unknown KEYS in "KEYS / 2" for 0.
std::string Tunables::computed(const Setting& setting, const Shape& s, const std::string& script) const {
  std::string numbers = format("exec 2>&1\nD=%d causal=%d S=%d B=%d H=%d\n", s.D, s.causal, s.S, s.B, s.H);
  for (const auto& [name, value] : setting) numbers += name + "=" + (number_in<long>(value) ? value : "-") + "\n";
  for (const auto& [name, expression] : lets_)
    if (!setting.empty()) numbers += name + "=$((" + expression + "))\n";
  const Printed printed = shell(numbers + script);
  must(printed.status == 0, printed.text);
  return printed.text;
}

std::vector<const Tunable*> Tunables::for_shape(const Shape& shape) const {
  std::string script;
  for (const Tunable& t : tunables_) script += "echo $((" + t.when + "))\n";
  const std::vector<std::string> matters = words_of(computed({}, shape, script));
  std::vector<const Tunable*> some;
  for (std::size_t i = 0; i < tunables_.size(); ++i)
    if (matters.at(i) != "0") some.push_back(&tunables_[i]);
  return some;
}

std::vector<Setting> Tunables::rows(const Shape& shape) const {
  std::vector<Setting> all;
  for (const Launch& call : launches(kernel_)) {
    if (call.arguments[0] != std::to_string(shape.D)) continue;
    Setting& row = all.emplace_back();
    for (const Tunable& t : tunables_)
      if (!t.own.empty()) row[t.name] = t.own;
    for (std::size_t i = 1; i < arguments_.size(); ++i) row[arguments_[i]] = call.arguments[i];
  }
  return all;
}

Setting Tunables::own(const Shape& shape, const std::string& plan) const {
  std::smatch named;
  std::regex_search(plan, named, std::regex("kernel \\w+<(.*)>"));
  const std::vector<Setting> all = rows(shape);
  for (const Setting& row : all) {
    std::vector<std::string> values = {std::to_string(shape.D)};
    for (std::size_t i = 1; i < arguments_.size(); ++i) values.push_back(row.at(arguments_[i]));
    if (all.size() == 1 || (!named.empty() && values == split(named[1], ","))) return row;
  }
  throw BadInput(path_ + ": no row of the table is what the stage's plan says");
}

std::string Tunables::objection(const Setting& setting, const Shape& shape) const {
  std::string script;
  for (std::size_t i = 0; i < musts_.size(); ++i)
    script += "[ $((" + musts_[i].first + ")) != 0 ] || { echo " + std::to_string(i) + "; exit; }\n";
  const std::string failed = computed(setting, shape, script);
  return failed.empty() ? "" : musts_.at(std::stoul(failed)).second;
}

// Changes no number of lines.
std::string Tunables::source(const Setting& setting, const Shape& shape) const {
  std::string text = "#line 1 \"" + kernel_path_ + "\"\n" + kernel_;
  std::vector<std::pair<std::pair<std::size_t, std::size_t>, std::string>> edits;
  for (const Tunable& t : tunables_)
    for (const std::string& piece : t.at) edits.emplace_back(place(piece, text, t.name), setting.at(t.name));
  const std::string D = std::to_string(shape.D);
  std::string row = D;
  for (std::size_t i = 1; i < arguments_.size(); ++i) row += ", " + setting.at(arguments_[i]);
  for (const Launch& call : launches(text))  // those of the other D need not compile
    edits.push_back(
        {{call.at, call.size}, call.arguments[0] == D ? "launch<" + row + ">(args)" : "cudaErrorInvalidValue"});
  std::ranges::sort(edits, std::greater());
  for (const auto& [where, value] : edits) text.replace(where.first, where.second, value);
  return text;
}

}  // namespace lab::search
