#include <unistd.h>

#include "checks/desk/evolve/evolve.hpp"
#include "common/number.hpp"

namespace lab::desk {
namespace {

// A piece of kernel.cu with its values in braces, taken apart.
struct Piece {
  std::string text;                                         // without the braces
  std::vector<std::pair<std::size_t, std::size_t>> values;  // where they stand in it: from, length
};

Piece piece_of(const std::string& at) {
  Piece piece;
  std::size_t open = at.npos;
  for (const char c : at)
    if (c == '{')
      open = piece.text.size();
    else if (c == '}' && open != at.npos)
      piece.values.emplace_back(open, piece.text.size() - open), open = at.npos;
    else
      piece.text += c;
  return piece;
}

// Throws where the piece is not in the source once, or partly in a comment, whose words change nothing.
void must_be_code(const std::string& piece, const std::string& source, const std::string& who) {
  const std::size_t at = place_of(piece, source, who), line = source.rfind('\n', at) + 1;
  if (source.find("//", line) < at + piece.size()) throw BadInput(who + ": '" + piece + "' is in a comment");
}

struct Replacement {
  std::size_t at, size;
  std::string by;
};

std::string edited(std::string source, std::vector<Replacement> all, const std::string& who) {
  std::ranges::sort(all, {}, &Replacement::at);
  for (std::size_t i = 1; i < all.size(); ++i)
    if (all[i - 1].at + all[i - 1].size > all[i].at) throw BadInput(who + ": two levers want the same place");
  for (auto r = all.rbegin(); r != all.rend(); ++r) source.replace(r->at, r->size, r->by);
  return source;
}

// `return stage_of<Launcher<Tile<64, 1>>, ...>();`
struct Table {
  std::size_t at = 0, size = 0;  // from "stage_of<" to the ">" before "()"
  struct Row {
    std::size_t at, size;  // of what stands between Tile's angle brackets, in the source
    std::vector<std::string> values;
  };
  std::vector<Row> rows;
};

Table table_of(const std::string& source, const std::string& who) {
  const std::string begin = "stage_of<", end = ">();", row = "Launcher<Tile<";
  Table table;
  table.at = place_of("return " + begin, source, who) + 7;
  const std::size_t stop = source.find(end, table.at);
  if (stop == source.npos) throw BadInput(who + ": the table of tiles has no end in kernel.cu");
  table.size = stop + 1 - table.at;
  for (std::size_t at = source.find(row, table.at); at < stop; at = source.find(row, at + 1)) {
    const std::size_t from = at + row.size(), to = source.find('>', from);
    table.rows.push_back({from, to - from, split(source.substr(from, to - from), ",")});
  }
  if (table.rows.empty()) throw BadInput(who + ": the table of tiles has no row Launcher<Tile<...>> in kernel.cu");
  return table;
}

// "KEY REST: TEXT" at the first colon behind which a blank stands, and before which none does: ?: has one.
std::optional<std::pair<std::string, std::string>> at_colon(const std::string& line) {
  for (std::size_t i = 1; i + 1 < line.size(); ++i)
    if (line[i] == ':' && line[i + 1] == ' ' && line[i - 1] != ' ')
      return std::pair(line.substr(0, i), trimmed(line.substr(i + 2)));
  return std::nullopt;
}

std::string conf_of(const std::string& stage, const std::string& root) {
  const std::string path = "stages/" + stage + "/levers.conf";
  if (!fs::exists(root + "/" + path))
    throw BadInput(stage + " has no levers: there is no " + path + " (writeups/extending.md says what is in one)");
  return read_text(root + "/" + path);
}

}  // namespace

Levers::Levers(const std::string& stage, const std::string& root)
    : Levers(stage, conf_of(stage, root), read_text(root + "/" + kernel_path(stage)), root) {}

Levers::Levers(const std::string& stage, const std::string& conf, const std::string& kernel, const std::string& root)
    : stage_(stage),
      root_(root),
      path_("stages/" + stage + "/levers.conf"),
      source_(kernel_path(stage)),
      kernel_(kernel) {
  read(conf);
  check_against_kernel();
}

void Levers::read(const std::string& conf) {
  int number = 0;
  for (const std::string& line : lines_of(conf)) {
    ++number;
    const auto wrong = [&](const std::string& what) {
      return BadInput(path_ + ":" + std::to_string(number) + ": " + what);
    };
    if (trimmed(line).empty() || line[0] == '#') continue;
    const auto parts = at_colon(trimmed(line));
    if (!parts) throw wrong("not KEY: TEXT");
    const auto& [head, text] = *parts;
    if (line[0] == ' ') {
      if (levers_.empty()) throw wrong(head + " belongs to a lever, and there is none above it");
      Lever& lever = levers_.back();
      if (head == "values")
        lever.values = split(text, " | ");
      else if (head == "at")
        lever.at.push_back(text);
      else
        throw wrong("a lever has values: and at:, no " + head + ":");
    } else if (head == "table") {
      const auto halves = split(text, "|");
      if (halves.size() > 2) throw wrong("one bar at most");
      for (const std::string& half : halves)
        for (const std::string& word : words_of(half)) arguments_.push_back(word);
      identity_ = words_of(halves[0]).size();
      if (arguments_.empty() || arguments_[0] != "D") throw wrong("the table's first argument must be D");
    } else if (head == "takes") {
      takes_ = text;
    } else if (head == "row") {
      row_ = text;
    } else if (head.starts_with("let ")) {
      lets_.emplace_back(trimmed(head.substr(4)), text);
    } else if (head.starts_with("must ")) {
      musts_.push_back({trimmed(head.substr(5)), text});
    } else if (head.starts_with("lever ") || head.starts_with("patch ")) {
      const auto words = split(head.substr(6), " when ");
      if (words.size() > 2 || words[0].empty() || words[0].find(' ') != words[0].npos)
        throw wrong("not lever NAME [when EXPRESSION]: what it trades");
      if (find(words[0])) throw wrong("the lever " + words[0] + " is there twice");
      Lever lever{words[0], text, words.size() > 1 ? words[1] : "", {}, {}};
      if (head.starts_with("patch ")) lever.patch = true, lever.values = {"0", "1"}, lever.own = "0";
      levers_.push_back(lever);
    } else {
      throw wrong("'" + head + "' means nothing; lines are table, takes, row, lever, patch, let, must");
    }
  }
}

void Levers::check_against_kernel() {
  if (arguments_.empty()) throw BadInput(path_ + ": no line table:");
  if (!takes_.empty()) {
    if (piece_of(takes_).values.size() != 1) throw BadInput(path_ + ": takes: has no condition in braces");
    must_be_code(piece_of(takes_).text, kernel_, path_ + ": takes");
  } else if (arguments_.size() > 1) {
    throw BadInput(path_ + ": a table with arguments beside D needs a line takes:");
  }
  for (const auto& row : table_of(kernel_, path_).rows)
    if (row.values.size() != arguments_.size())
      throw BadInput(path_ + ": table: has " + std::to_string(arguments_.size()) + " arguments, a row of kernel.cu " +
                     std::to_string(row.values.size()));
  for (std::size_t i = 1; i < arguments_.size(); ++i)
    if (!find(arguments_[i])) throw BadInput(path_ + ": the table's argument " + arguments_[i] + " has no lever");
  if (levers_.empty()) throw BadInput(path_ + ": no levers");
  for (Lever& lever : levers_) {
    const std::string who = path_ + ": lever " + lever.name;
    lever.in_table = std::ranges::find(arguments_, lever.name) != arguments_.end();
    if (lever.values.size() < 2) throw BadInput(who + " has no two values");
    if (lever.patch) continue;
    if (lever.in_table != lever.at.empty())
      throw BadInput(who + (lever.in_table ? " is the table's; it has no at:" : " has no at:"));
    for (const std::string& at : lever.at) {
      const Piece piece = piece_of(at);
      if (piece.values.empty()) throw BadInput(who + ": no value in braces in '" + at + "'");
      must_be_code(piece.text, kernel_, who);
      for (const auto& [from, size] : piece.values) {
        const std::string own = piece.text.substr(from, size);
        if (!lever.own.empty() && own != lever.own) throw BadInput(who + " has two values in kernel.cu");
        lever.own = own;
      }
    }
    if (!lever.in_table && std::ranges::find(lever.values, lever.own) == lever.values.end())
      throw BadInput(who + ": '" + lever.own + "', which kernel.cu says, is not among its values");
  }
}

const Lever* Levers::find(const std::string& name) const {
  const auto found = std::ranges::find(levers_, name, &Lever::name);
  return found == levers_.end() ? nullptr : &*found;
}

std::vector<const Lever*> Levers::for_shape(const Shape& shape) const {
  std::vector<const Lever*> some;
  for (const Lever& lever : levers_)
    if (lever.when.empty() || evaluate(lever.when, {{"D", shape.D}, {"causal", shape.causal}})) some.push_back(&lever);
  return some;
}

std::vector<Setting> Levers::rows(const Shape& shape) const {
  Setting common;
  for (const Lever& lever : levers_)
    if (!lever.in_table) common[lever.name] = lever.own;
  std::vector<Setting> all;
  for (const auto& row : table_of(kernel_, path_).rows) {
    if (row.values[0] != std::to_string(shape.D)) continue;
    all.push_back(common);
    for (std::size_t i = 1; i < arguments_.size(); ++i) all.back()[arguments_[i]] = row.values[i];
  }
  if (all.empty()) throw BadInput(stage_ + " has no tile for D = " + std::to_string(shape.D));
  return all;
}

Setting Levers::own(const Shape& shape, const std::string& plan) const {
  const std::vector<Setting> all = rows(shape);
  if (all.size() == 1) return all[0];
  std::map<std::string, std::string> says = facts_in(plan);
  const std::string kernel = says["kernel"];
  if (const std::size_t open = kernel.find('<'); open != kernel.npos) {
    const auto values = split(kernel.substr(open + 1, kernel.find('>') - open - 1), ",");
    for (const Setting& row : all) {
      bool same = values.size() == arguments_.size();
      for (std::size_t i = 1; same && i < values.size(); ++i) same = row.at(arguments_[i]) == values[i];
      if (same) return row;
    }
  } else if (!row_.empty()) {
    for (const Setting& row : all) {
      Numbers names = numbers(row, shape);
      for (const char* key : {"tile_m", "tile_n", "rows_per_warp", "slots"})
        names[std::string("plan_") + key] = number_in<long>(says[key]).value_or(0);
      if (evaluate(row_, names)) return row;
    }
  }
  throw BadInput(path_ + ": no row of the table is what the stage's plan says");
}

Numbers Levers::numbers(const Setting& setting, const Shape& shape) const {
  Numbers names = {{"D", shape.D}, {"causal", shape.causal}, {"S", shape.S}, {"B", shape.B}, {"H", shape.H}};
  for (const auto& [name, value] : setting)
    if (const auto number = number_in<long>(value, 0)) names[name] = *number;
  for (const auto& [name, value] : setting)
    if (!number_in<long>(value, 0)) try {
        names[name] = evaluate(value, names);
      } catch (const BadInput&) {  // a text that is no number: nothing may ask for it
      }
  for (const auto& [name, value] : lets_) names[name] = evaluate(value, names);
  return names;
}

std::string Levers::objection(const Setting& setting, const Shape& shape) const {
  for (const Lever& lever : levers_) {
    const auto found = setting.find(lever.name);
    if (found == setting.end()) throw BadInput(stage_ + ": the lever " + lever.name + " has no value");
    const bool own_row = lever.in_table && std::ranges::any_of(rows(shape), [&](const Setting& row) {
                           return row.at(lever.name) == found->second;
                         });
    if (!own_row && std::ranges::find(lever.values, found->second) == lever.values.end())
      throw BadInput(stage_ + ": " + lever.name + "=" + found->second + ": must be one of " +
                     joined(lever.values, ", "));
  }
  for (const auto& [name, value] : setting)
    if (!find(name)) throw BadInput(stage_ + " has no lever " + name);
  const Numbers names = numbers(setting, shape);
  for (const Must& must : musts_)
    if (!evaluate(must.expression, names)) return must.reason;
  return "";
}

std::vector<Levers::Line> Levers::patched(const Setting& setting) const {
  std::vector<Line> lines;
  for (const std::string& text : lines_of(kernel_)) lines.push_back({text, source_, int(lines.size()) + 1});
  for (const Lever& lever : levers_) {
    if (!lever.patch || setting.at(lever.name) != "1") continue;
    const std::string path = "stages/" + stage_ + "/levers/" + lever.name + ".patch";
    std::string text;
    for (const Line& line : lines) text += line.text + "\n";
    const std::string source = "build/evolve/" + stage_ + "-" + std::to_string(getpid()) + ".cu";
    write_text(source, text);
    std::vector<Line> after;
    for (const SourceLine& line : patched_lines(root_ + "/" + path, source))
      after.push_back(line.added ? Line{line.text, path, line.number} : lines[std::size_t(line.number) - 1]);
    fs::remove(source);
    lines = after;
  }
  return lines;
}

// Changes no number of lines.
std::string Levers::with_values(const Setting& setting, const Shape& shape, const std::string& source) const {
  std::vector<Replacement> all;
  const auto put = [&](const std::string& at, const std::string& value, const std::string& who) {
    const Piece piece = piece_of(at);
    const std::size_t place = place_of(piece.text, source, who);
    for (const auto& [from, size] : piece.values) all.push_back({place + from, size, value});
  };
  for (const Lever& lever : levers_)
    for (const std::string& at : lever.at) put(at, setting.at(lever.name), path_ + ": lever " + lever.name);
  const Table table = table_of(source, path_);
  std::string row = std::to_string(shape.D);
  for (std::size_t i = 1; i < arguments_.size(); ++i) row += ", " + setting.at(arguments_[i]);
  if (!takes_.empty()) put(takes_, "true", path_ + ": takes");
  const std::string old = source.substr(table.at, table.size);
  all.push_back(
      {table.at, table.size,
       std::string(std::size_t(std::ranges::count(old, '\n')), '\n') + "stage_of<Launcher<Tile<" + row + ">>>"});
  return edited(source, all, path_);
}

std::string Levers::narrowed(const Setting& setting, const Shape& shape) const {
  const std::vector<Line> lines = patched(setting);
  std::string source;
  for (const Line& line : lines) source += line.text + "\n";
  std::string text;
  const Line* before = nullptr;
  std::size_t i = 0;
  for (const std::string& line : lines_of(with_values(setting, shape, source))) {
    const Line& origin = lines[i++];
    if (!before || before->path != origin.path || before->number + 1 != origin.number)
      text += "#line " + std::to_string(origin.number) + " \"" + origin.path + "\"\n";
    text += line + "\n";
    before = &origin;
  }
  return text;
}

std::string candidate_id(const std::string& stage, const std::string& source) {
  std::uint64_t bits = 0xCBF29CE484222325ull;  // FNV-1a
  for (const char c : stage + "\n" + source) bits = (bits ^ static_cast<unsigned char>(c)) * 0x100000001B3ull;
  char text[17];
  std::snprintf(text, sizeof text, "%08llx", static_cast<unsigned long long>(bits ^ bits >> 32) & 0xFFFFFFFFull);
  return text;
}

}  // namespace lab::desk
