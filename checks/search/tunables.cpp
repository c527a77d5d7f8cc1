#include "checks/search/tunables.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>

#include "checks/acceptance/format.hpp"
#include "checks/acceptance/whole_file.hpp"
#include "checks/search/shell.hpp"
#include "common/number.hpp"

namespace lab::search {
namespace {

struct Place {
  std::size_t at, size;
};

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

// Where a source has the values that stand in braces in "constexpr int Q = {2};". The piece must be there once, and not in a
// comment, whose words change nothing.
std::vector<Place> places_of(const std::string& piece, const std::string& source, const std::string& who) {
  std::string text;
  std::vector<Place> values;
  for (const char c : piece)
    if (c == '{')
      values.push_back({text.size(), 0});
    else if (c == '}' && !values.empty())
      values.back().size = text.size() - values.back().at;
    else
      text += c;
  const std::size_t at = source.find(text);
  if (at == source.npos || source.find(text, at + 1) != source.npos)
    throw BadInput(who + ": '" + text + "' must be in kernel.cu once");
  if (source.find("//", source.rfind('\n', at) + 1) < at + text.size())
    throw BadInput(who + ": '" + text + "' is in a comment");
  if (values.empty()) throw BadInput(who + ": no value in braces in '" + piece + "'");
  for (Place& value : values) value.at += at;
  return values;
}

// The rows of a stage's table are its calls `launch<64, 1>(args)`.
struct Table {
  std::vector<std::vector<std::string>> rows;
  std::vector<Place> calls;
};

Table table_of(const std::string& source, const std::string& who) {
  const std::regex call("\\blaunch<(\\d[^>]*)>\\(args\\)");
  Table table;
  for (std::sregex_iterator i(source.begin(), source.end(), call), end; i != end; ++i) {
    table.rows.push_back(split((*i)[1], ","));
    table.calls.push_back({std::size_t(i->position()), std::size_t(i->length())});
  }
  if (table.rows.empty()) throw BadInput(who + ": no `launch<64, ...>(args)` in kernel.cu");
  return table;
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
    : stage_(stage),
      path_("stages/" + stage + "/tunables.conf"),
      kernel_path_("stages/" + stage + "/kernel.cu"),
      kernel_(kernel) {
  read(conf);
  for (Tunable& t : tunables_)
    for (const std::string& at : t.at) {
      const Place first = places_of(at, kernel_, path_ + ": " + t.name)[0];
      const std::string own = kernel_.substr(first.at, first.size);
      if (!t.own.empty() && own != t.own) throw BadInput(path_ + ": " + t.name + " has two values in kernel.cu");
      t.own = own;
    }
  check();
}

void Tunables::read(const std::string& conf) {
  const std::regex tunable("(tunable|patch) (\\w+)( when (.*?))?: .*"), pair("(table|  values|  at): (.*)"),
      let("let (\\w+): (.*)"), must("must (.*?[^ ]): (.*)");
  std::istringstream lines(conf);
  int number = 0;
  std::smatch m;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.empty() || line[0] == '#') continue;
    if (std::regex_match(line, m, tunable)) {
      tunables_.push_back({m[2], m[4], m[1] == "patch", {}, {}, {}});
      if (m[1] == "patch") tunables_.back().values = {"0", "1"}, tunables_.back().own = "0";
    } else if (std::regex_match(line, m, let)) {
      lets_.emplace_back(m[1], m[2]);
    } else if (std::regex_match(line, m, must)) {
      musts_.emplace_back(m[1], m[2]);
    } else if (std::regex_match(line, m, pair) && (line[0] != ' ' || !tunables_.empty())) {
      if (m[1] == "table") arguments_ = words_of(m[2]);
      if (m[1] == "  values") tunables_.back().values = split(m[2], " | ");
      if (m[1] == "  at") tunables_.back().at.push_back(m[2]);
    } else {
      throw BadInput(path_ + ":" + std::to_string(number) + ": '" + line +
                     "' means nothing; lines are table, tunable (with values and at), patch, let, must");
    }
  }
}

void Tunables::check() const {
  std::set<std::string> names = {"D", "causal", "S", "B", "H"};
  int patches = 0;
  for (const Tunable& t : tunables_) {
    const std::string who = path_ + ": " + t.name;
    const bool in_table = std::ranges::find(arguments_, t.name) != arguments_.end();
    if (!names.insert(t.name).second) throw BadInput(who + " is there twice");
    if (t.values.size() < 2) throw BadInput(who + " has no two values");
    if (in_table + t.patch + !t.at.empty() != 1) throw BadInput(who + " must have at:, or be an argument of the table");
    if (!in_table && std::ranges::find(t.values, t.own) == t.values.end())
      throw BadInput(who + ": '" + t.own + "', which kernel.cu says, is not among its values");
    patches += t.patch;
  }
  if (patches > 1) throw BadInput(path_ + ": one patch at most");
  const Table table = table_of(kernel_, path_);
  for (const auto& row : table.rows)
    if (row.size() != arguments_.size())
      throw BadInput(
          format("%s: table: has %zu arguments, a row of kernel.cu %zu", path_.c_str(), arguments_.size(), row.size()));
  for (std::size_t i = 0; i < arguments_.size(); ++i)
    if (!names.contains(arguments_[i]) || (arguments_[i] == "D") != (i == 0))
      throw BadInput(path_ + ": table: D and then tunables, not " + arguments_[i]);
  // To sh a name that it does not know is 0.
  const auto known = [&](const std::string& expression) {
    const std::regex name("[A-Za-z_]\\w*");
    for (std::sregex_iterator i(expression.begin(), expression.end(), name), end; i != end; ++i)
      if (!names.contains(i->str())) throw BadInput(path_ + ": " + i->str() + " in '" + expression + "' is no name");
  };
  for (const auto& [name, expression] : lets_) known(expression), names.insert(name);
  for (const auto& [condition, reason] : musts_) known(condition);
  for (const Tunable& t : tunables_) known(t.when);
}

// The output of a script of sh that knows the setting's numbers: sh's arithmetic is C's. A value that is no number, such as
// "1.0f / sum", is a dash, an error where an expression asks for it.
std::string Tunables::computed(const Setting& setting, const Shape& s, const std::string& script) const {
  std::string numbers = format("exec 2>&1\nD=%d causal=%d S=%d B=%d H=%d\n", s.D, s.causal, s.S, s.B, s.H), others;
  for (const auto& [name, value] : setting)
    if (number_in<long>(value))
      numbers += name + "=" + value + "\n";
    else
      others += name + "=$( (echo $((" + value + "))) 2>/dev/null || echo -)\n";
  for (const auto& [name, expression] : lets_)
    if (!setting.empty()) others += name + "=$((" + expression + "))\n";
  const Printed printed = shell(numbers + others + script);
  if (printed.status != 0) throw BadInput(path_ + ": " + printed.text);
  return printed.text;
}

std::vector<const Tunable*> Tunables::for_shape(const Shape& shape) const {
  std::string script;
  for (const Tunable& t : tunables_) script += "echo $((" + (t.when.empty() ? "1" : t.when) + "))\n";
  const std::vector<std::string> matters = words_of(computed({}, shape, script));
  std::vector<const Tunable*> some;
  for (std::size_t i = 0; i < tunables_.size(); ++i)
    if (matters.at(i) != "0") some.push_back(&tunables_[i]);
  return some;
}

std::vector<Setting> Tunables::rows(const Shape& shape) const {
  Setting common;
  for (const Tunable& t : tunables_)
    if (!t.own.empty()) common[t.name] = t.own;
  std::vector<Setting> all;
  for (const auto& row : table_of(kernel_, path_).rows) {
    if (row[0] != std::to_string(shape.D)) continue;
    all.push_back(common);
    for (std::size_t i = 1; i < arguments_.size(); ++i) all.back()[arguments_[i]] = row[i];
  }
  if (all.empty()) throw BadInput(stage_ + " has no tile for D = " + std::to_string(shape.D));
  return all;
}

Setting Tunables::own(const Shape& shape, const std::string& plan) const {
  std::smatch kernel;
  const bool named = std::regex_search(plan, kernel, std::regex("kernel \\w+<(.*)>"));
  const std::vector<Setting> all = rows(shape);
  for (const Setting& row : all) {
    std::vector<std::string> values = {std::to_string(shape.D)};
    for (std::size_t i = 1; i < arguments_.size(); ++i) values.push_back(row.at(arguments_[i]));
    if (all.size() == 1 || (named && values == split(kernel[1], ","))) return row;
  }
  throw BadInput(path_ + ": no row of the table is what the stage's plan says");
}

long Tunables::number(const std::string& name, const Setting& setting, const Shape& shape) const {
  return std::stol(computed(setting, shape, "echo $((" + name + "))"));
}

std::string Tunables::objection(const Setting& setting, const Shape& shape) const {
  std::string script;
  for (std::size_t i = 0; i < musts_.size(); ++i)
    script += "[ $((" + musts_[i].first + ")) != 0 ] || { echo " + std::to_string(i) + "; exit; }\n";
  const std::string failed = computed(setting, shape, script);
  return failed.empty() ? "" : musts_.at(std::stoul(failed)).second;
}

// Changes no number of lines, but for a patch, which has #line directives of its own.
std::string Tunables::source(const Setting& setting, const Shape& shape) const {
  std::string text = "#line 1 \"" + kernel_path_ + "\"\n" + kernel_;
  for (const Tunable& t : tunables_)
    if (t.patch && setting.at(t.name) == "1") {
      const std::string patch = "stages/" + stage_ + "/tunables/" + t.name + ".patch";
      if (patched_.empty()) {
        const Printed printed = shell("exec sh checks/scripts/patched.sh " + patch + " 2>&1");
        if (printed.status != 0) throw BadInput(printed.text);
        patched_ = printed.text;
      }
      text = patched_;
    }
  std::vector<std::pair<Place, std::string>> edits;
  const auto put = [&](const std::string& at, const std::string& value, const std::string& who) {
    for (const Place& place : places_of(at, text, path_ + ": " + who)) edits.emplace_back(place, value);
  };
  for (const Tunable& t : tunables_)
    for (const std::string& at : t.at) put(at, setting.at(t.name), t.name);
  std::string row = std::to_string(shape.D);
  for (std::size_t i = 1; i < arguments_.size(); ++i) row += ", " + setting.at(arguments_[i]);
  const Table table = table_of(text, path_);
  // Whichever row the stage's own choice leads to is this one; rows of the other D need not compile.
  for (std::size_t i = 0; i < table.calls.size(); ++i)
    edits.emplace_back(table.calls[i], table.rows[i][0] == std::to_string(shape.D) ? "launch<" + row + ">(args)"
                                                                                   : "cudaErrorInvalidValue");
  std::ranges::sort(edits, std::greater(), [](const auto& edit) { return edit.first.at; });
  for (std::size_t i = 0; i < edits.size(); ++i) {
    const auto& [place, value] = edits[i];
    if (i > 0 && place.at + place.size > edits[i - 1].first.at)
      throw BadInput(path_ + ": two tunables want the same place");
    text.replace(place.at, place.size, value);
  }
  return text;
}

}  // namespace lab::search
