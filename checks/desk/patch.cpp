#include "checks/desk/patch.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

#include "reference/bad_input.hpp"

namespace lab::desk {
namespace {

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

[[noreturn]] void fail(const std::string& path, int line, const std::string& what) {
  throw BadInput(path + ":" + std::to_string(line) + ": " + what);
}

// The keys of a head, in the order in which they must stand; `also` is a list of words.
const std::pair<std::string, std::string PatchHead::*> KEYS[] = {{"plants", &PatchHead::plants},
                                                                 {"predicted", &PatchHead::predicted},
                                                                 {"also", nullptr},
                                                                 {"harmless", &PatchHead::harmless},
                                                                 {"slow", &PatchHead::slow},
                                                                 {"unseen", &PatchHead::unseen},
                                                                 {"lucky", &PatchHead::lucky},
                                                                 {"map", &PatchHead::map}};

std::string known_keys() {
  std::string list;
  for (const auto& [key, member] : KEYS) list += (list.empty() ? "" : ", ") + key;
  return list;
}

// Reads `-12,7` or `-12` after `sign`: the first line and how many.
bool read_range(const std::string& word, char sign, int& first, int& count) {
  count = 1;
  int used = 0;
  return word.starts_with(sign) && std::sscanf(word.c_str() + 1, "%d%n,%d%n", &first, &used, &count, &used) >= 1 &&
         used + 1 == int(word.size());
}

class Parser {
 public:
  Parser(const std::string& path, std::string_view text) : lines_(split(text)) { patch_.path = path; }

  Patch parse() {
    read_head();
    read_files();
    while (at_ < lines_.size()) read_hunk();
    if (patch_.hunks.empty()) fail(patch_.path, line(), "changes nothing: there is no hunk");
    return std::move(patch_);
  }

 private:
  int line() const { return int(at_) + 1; }
  bool next_is(std::string_view start) const { return at_ < lines_.size() && lines_[at_].starts_with(start); }

  void read_head() {
    std::ptrdiff_t last = -1;
    for (; at_ < lines_.size() && !next_is("--- "); ++at_) {
      const std::string& text = lines_[at_];
      if (text.empty() || next_is("diff --git ") || next_is("index ")) continue;
      const std::size_t colon = text.find(": ");
      const std::string key = text.substr(0, std::min(colon, text.size()));
      const std::ptrdiff_t place =
          std::ranges::find(KEYS, key, [](const auto& known) { return known.first; }) - std::begin(KEYS);
      if (colon == text.npos || place == std::ssize(KEYS))
        fail(patch_.path, line(), "'" + text + "' is not `key: value`; the keys are " + known_keys());
      if (place <= last)
        fail(patch_.path, line(), "`" + key + ":` is out of place; once each and in this order: " + known_keys());
      const std::string value = text.substr(colon + 2);
      if (value.find_first_not_of(" \t") == value.npos) fail(patch_.path, line(), "`" + key + ":` says nothing");
      std::istringstream words(value);
      if (const auto member = KEYS[place].second)
        patch_.*member = value;
      else
        patch_.also = {std::istream_iterator<std::string>(words), {}};
      patch_.head += text + "\n";
      last = place;
    }
    for (const auto& [key, value] : {std::pair{"plants", &patch_.plants}, {"predicted", &patch_.predicted}})
      if (value->empty()) fail(patch_.path, 1, std::string("the head has no `") + key + ":`");
  }

  void read_files() {
    if (!next_is("--- a/")) fail(patch_.path, line(), "a diff must follow the head: `--- a/stages/STAGE/kernel.cu`");
    patch_.source = lines_[at_++].substr(6);
    if (!next_is("+++ b/") || lines_[at_].substr(6) != patch_.source)
      fail(patch_.path, line(),
           "must be `+++ b/" + patch_.source + "`: a bug changes its stage's kernel.cu and nothing else");
    ++at_;
  }

  void read_hunk() {
    Hunk hunk;
    hunk.number = line();
    std::istringstream words(lines_[at_]);
    std::string begin, before, after, end;
    words >> begin >> before >> after >> end;
    int kept_or_removed = 0, kept_or_added = 0, new_first = 0;
    const bool good = begin == "@@" && read_range(before, '-', hunk.at, kept_or_removed) &&
                      read_range(after, '+', new_first, kept_or_added) && end == "@@";
    if (!good) fail(patch_.path, line(), "'" + lines_[at_] + "' is not the beginning of a hunk, `@@ -12,7 +12,6 @@`");
    for (++at_; kept_or_removed > 0 || kept_or_added > 0; ++at_) {
      if (at_ >= lines_.size()) fail(patch_.path, line(), "the patch ends inside a hunk");
      const std::string& text = lines_[at_];
      const char kind = text.empty() ? ' ' : text[0];  // an editor may have taken the blank of an empty line
      if (kind != ' ' && kind != '-' && kind != '+')
        fail(patch_.path, line(),
             "a line of a hunk begins with a blank, - or +; or its @@ line counts more lines than it has");
      kept_or_removed -= kind != '+', kept_or_added -= kind != '-';
      hunk.lines.push_back({kind, text.empty() ? "" : text.substr(1), line()});
    }
    if (kept_or_removed != 0 || kept_or_added != 0)
      fail(patch_.path, hunk.number, "the hunk has other numbers of lines than its @@ line says");
    if (std::ranges::all_of(hunk.lines, [](const PatchLine& l) { return l.kind == '+'; }))
      fail(patch_.path, hunk.number, "the hunk has no line of the source to go by");
    patch_.hunks.push_back(std::move(hunk));
  }

  std::vector<std::string> lines_;
  std::size_t at_ = 0;
  Patch patch_;
};

// Whether the hunk's kept and removed lines are those of `source` from `at` on.
bool fits(const Hunk& hunk, const std::vector<std::string>& source, std::size_t at) {
  for (const PatchLine& line : hunk.lines) {
    if (line.kind == '+') continue;
    if (at >= source.size() || source[at] != line.text) return false;
    ++at;
  }
  return true;
}

std::size_t place_of(const Patch& patch, std::size_t index, const std::vector<std::string>& source, std::size_t from) {
  const Hunk& hunk = patch.hunks[index];
  const std::size_t stated = std::size_t(std::max(hunk.at, 1)) - 1;
  if (stated >= from && fits(hunk, source, stated)) return stated;
  std::vector<std::size_t> places;
  for (std::size_t at = from; at < source.size(); ++at)
    if (fits(hunk, source, at)) places.push_back(at);
  if (places.size() == 1) return places[0];
  const std::string name = "hunk " + std::to_string(index + 1) + " of " + std::to_string(patch.hunks.size());
  if (places.empty()) fail(patch.path, hunk.number, name + " no longer applies: its lines are not in " + patch.source);
  fail(patch.path, hunk.number,
       name + " fits " + std::to_string(places.size()) + " places of " + patch.source + " (lines " +
           std::to_string(places[0] + 1) + " and " + std::to_string(places[1] + 1) +
           "): it needs more lines around it");
}

}  // namespace

Patch parse_patch(const std::string& path, std::string_view text) { return Parser(path, text).parse(); }

Patch read_patch(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf()))
    throw BadInput(path + " cannot be read; it is sought from the repository's root");
  return parse_patch(path, text.str());
}

std::vector<std::string> bug_dirs(const std::string& stage) {
  std::vector<std::string> dirs = {"stages/" + stage + "/bugs"};
  if (const char* outside = std::getenv("LAB_BUGS"); outside && *outside)
    dirs.push_back(std::string(outside) + "/" + stage);
  return dirs;
}

std::string patch_path(const std::string& stage, const std::string& bug) {
  const std::vector<std::string> dirs = bug_dirs(stage);
  const bool outside = dirs.size() > 1 && std::filesystem::exists(dirs[1] + "/" + bug + ".patch");
  return dirs[outside ? 1 : 0] + "/" + bug + ".patch";
}

std::vector<SourceLine> patched_lines(const Patch& patch, std::string_view text) {
  const std::vector<std::string> source = split(text);
  std::vector<SourceLine> lines;
  std::size_t at = 0;
  const auto keep_until = [&](std::size_t end) {
    for (; at < end; ++at) lines.push_back({source[at], false, int(at) + 1});
  };
  for (std::size_t i = 0; i < patch.hunks.size(); ++i) {
    keep_until(place_of(patch, i, source, at));
    for (const PatchLine& line : patch.hunks[i].lines) {
      if (line.kind == '+') lines.push_back({line.text, true, line.number});
      if (line.kind == ' ') lines.push_back({line.text, false, int(at) + 1});
      at += line.kind != '+';
    }
  }
  keep_until(source.size());
  return lines;
}

std::string patched_text(const Patch& patch, std::string_view source) {
  std::string text;
  for (const SourceLine& line : patched_lines(patch, source)) text += line.text + "\n";
  return text;
}

std::string patched_for_compiler(const Patch& patch, std::string_view source) {
  std::string text;
  const SourceLine* before = nullptr;
  const std::vector<SourceLine> lines = patched_lines(patch, source);
  for (const SourceLine& line : lines) {
    if (!before || before->added != line.added || before->number + 1 != line.number) {
      if (before && before->text.ends_with('\\'))
        fail(
            line.added ? patch.path : patch.source, line.number,
            "a change inside a line that \\ continues cannot be told to the compiler; let the patch replace all of it");
      text += "#line " + std::to_string(line.number) + " \"" + (line.added ? patch.path : patch.source) + "\"\n";
    }
    text += line.text + "\n";
    before = &line;
  }
  return text;
}

}  // namespace lab::desk
