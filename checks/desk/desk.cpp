#include <unistd.h>

#include <exception>
#include <fstream>
#include <iterator>
#include <numeric>
#include <sstream>

#include "checks/desk/desk.hpp"

namespace lab::desk {

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file || fs::is_directory(path)) throw BadInput(path + " cannot be read");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) throw BadInput(path + " cannot be read");
  return text;
}

void write_text(const std::string& path, const std::string& text) {
  const fs::path target(path);
  std::error_code failed;
  if (target.has_parent_path()) fs::create_directories(target.parent_path(), failed);
  const std::string fresh = path + ".new-" + std::to_string(getpid());
  {
    std::ofstream file(fresh, std::ios::binary);
    file << text;
    file.close();
    if (!file) {
      fs::remove(fresh, failed);
      throw BadInput(path + " cannot be written");
    }
  }
  fs::rename(fresh, target, failed);
  if (failed) {
    fs::remove(fresh, failed);
    throw BadInput(path + " cannot be written");
  }
}

void write_if_changed(const std::string& path, const std::string& text) {
  if (!fs::exists(path) || read_text(path) != text) write_text(path, text);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> split(const std::string& text, const std::string& separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0;;) {
    const std::size_t end = text.find(separator, begin);
    parts.push_back(trimmed(text.substr(begin, end == text.npos ? end : end - begin)));
    if (end == text.npos) return parts;
    begin = end + separator.size();
  }
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::string trimmed(const std::string& text, const char* blanks) {
  const std::size_t first = text.find_first_not_of(blanks);
  return first == text.npos ? "" : text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::string joined(const std::vector<std::string>& pieces, const std::string& between) {
  std::string text;
  for (const std::string& piece : pieces) text += (text.empty() ? "" : between) + piece;
  return text;
}

std::string replaced(std::string text, const std::string& old, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(old, at)) != text.npos; at += by.size()) text.replace(at, old.size(), by);
  return text;
}

std::size_t place_of(const std::string& piece, const std::string& text, const std::string& who,
                     const std::string& where) {
  const std::size_t first = text.find(piece);
  if (first == text.npos) throw BadInput(who + ": '" + piece + "' is not in " + where);
  if (text.find(piece, first + 1) != text.npos)
    throw BadInput(who + ": '" + piece + "' is in " + where + " more than once");
  return first;
}

std::map<std::string, std::string> facts_in(const std::string& text) {
  std::map<std::string, std::string> facts;
  for (const std::string& line : lines_of(text))
    if (const std::size_t gap = line.find(' '); gap != line.npos) facts[line.substr(0, gap)] = line.substr(gap + 1);
  return facts;
}

std::string last_line(const std::string& log) {
  std::string last;
  for (const std::string& line : lines_of(log))
    if (const std::string text = trimmed(line); !text.empty()) last = text;
  return last;
}

std::string line_with(const std::string& log, const std::vector<std::string>& pieces) {
  for (const std::string& line : lines_of(log))
    if (std::ranges::any_of(pieces, [&](const std::string& piece) { return line.find(piece) != line.npos; }))
      return line;
  return "";
}

void add_once(std::vector<std::string>& list, const std::string& word) {
  if (std::ranges::find(list, word) == list.end()) list.push_back(word);
}

std::vector<fs::path> files_in(const fs::path& folder, std::string_view ending) {
  std::vector<fs::path> files;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none))
    if (entry.path().filename().string().ends_with(ending)) files.push_back(entry.path().lexically_normal());
  std::ranges::sort(files);
  return files;
}

std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> before, last, row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t(0));
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}

std::vector<std::string> nearest(const std::string& word, std::vector<std::string> names, std::size_t count) {
  std::ranges::sort(names, [&](const std::string& a, const std::string& b) {
    const std::size_t to_a = edit_distance(word, a), to_b = edit_distance(word, b);
    return to_a != to_b ? to_a < to_b : a < b;
  });
  names.erase(std::unique(names.begin(), names.end()), names.end());
  if (names.size() > count) names.resize(count);
  return names;
}

bool version_less(const std::string& a, const std::string& b) {
  const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  const auto version = [&](const std::string& text) { return text.size() > 1 && text[0] == 'v' && digit(text[1]); };
  if (version(a) != version(b)) return version(a);
  const auto number = [&](const std::string& text, std::size_t& at) {
    std::size_t begin = at;
    while (at < text.size() && digit(text[at])) ++at;
    while (begin + 1 < at && text[begin] == '0') ++begin;
    return text.substr(begin, at - begin);
  };
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (digit(a[i]) && digit(b[j])) {
      const std::string x = number(a, i), y = number(b, j);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
    } else if (a[i] != b[j]) {
      return a[i] < b[j];
    } else {
      ++i, ++j;
    }
  }
  return a.size() - i < b.size() - j;
}

namespace {

void print_help(const char* program, std::span<const Command> commands, std::FILE* to) {
  std::fprintf(to, "%s, of the lab's desk; it runs from the repository's root. Commands:\n", program);
  for (const Command& command : commands)
    std::fprintf(to, "  %-50s %s\n", (std::string(command.name) + " " + command.usage).c_str(), command.help);
}

void check_count(const char* program, const Command& command, std::size_t count) {
  std::size_t least = 0, most = 0;
  std::ptrdiff_t optional = 0;  // brackets that are open
  for (const std::string& word : words_of(command.usage)) {
    optional += std::ranges::count(word, '[');
    ++most, least += optional == 0;
    if (word.find("...") != word.npos) most = 100000;
    optional -= std::ranges::count(word, ']');
  }
  if (count < least || count > most)
    throw BadInput(std::string("usage: ") + program + " " + command.name + " " + command.usage);
}

int run(const char* program, std::span<const Command> commands, const Args& words) {
  if (words.empty()) {
    print_help(program, commands, stderr);
    return 2;
  }
  if (words[0] == "help" || words[0] == "--help" || words[0] == "-h") {
    print_help(program, commands, stdout);
    return 0;
  }
  for (const Command& command : commands)
    if (words[0] == command.name) {
      check_count(program, command, words.size() - 1);
      return command.run(Args(words.begin() + 1, words.end()));
    }
  throw BadInput("unknown command '" + words[0] + "'; '" + program + " help' lists them");
}

}  // namespace

int dispatch(const char* program, std::span<const Command> commands, std::span<char*> args) {
  try {
    return run(program, commands, Args(args.begin(), args.end()));
  } catch (const BadInput& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 2;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: %s\n", program, e.what());
    return 1;
  }
}

}  // namespace lab::desk
