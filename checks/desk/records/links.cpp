#include <map>
#include <regex>
#include <set>

#include "checks/desk/records/records.hpp"

namespace lab::desk {
namespace {

std::string without(const std::string& text, const char* pattern) {
  return std::regex_replace(text, std::regex(pattern), "");
}

// The text without fenced code, in which a bracket is no link and "#" no heading.
std::string prose(const std::string& text) {
  std::string out;
  bool fenced = false;
  for (const std::string& line : lines_of(text)) {
    const bool fence = line.starts_with("```");
    if (fence) fenced = !fenced;
    if (!fence && !fenced) out += line + "\n";
  }
  return out;
}

std::vector<std::string> all_of(const std::string& text, const char* pattern) {
  const std::regex found(pattern);
  std::vector<std::string> out;
  for (std::sregex_iterator at(text.begin(), text.end(), found), end; at != end; ++at) out.push_back((*at)[1]);
  return out;
}

// What a link into a .md file may name: its ids, and its headings, a repeated one with a number.
std::set<std::string> anchors_of(const fs::path& file) {
  const std::string text = prose(read_text(file.string()));
  std::set<std::string> out;
  for (const std::string& id : all_of(text, R"re((?:id|name)="([^"]+)")re")) out.insert(id);
  std::map<std::string, int> earlier;
  for (const std::string& line : lines_of(text)) {
    const std::size_t level = line.find_first_not_of('#');
    if (level == 0 || level == line.npos || line[level] != ' ') continue;
    const std::string anchor = anchor_of(line.substr(level + 1));
    const int times = earlier[anchor]++;
    out.insert(times == 0 ? anchor : anchor + "-" + std::to_string(times));
  }
  return out;
}

}  // namespace

std::string anchor_of(const std::string& heading) {
  std::string text = std::regex_replace(heading, std::regex(R"(\[([^\]]*)\]\([^)]*\))"), "$1");
  // Of the signs of several bytes a code host leaves out these: U+2000 to U+22FF, from dashes over arrows to operators;
  // the middle dot; the times sign.
  text = without(text, "<[^>]*>|\xe2[\x80-\x8b][\x80-\xbf]|\xc2\xb7|\xc3\x97");
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80 || std::isalnum(byte) || c == '_' || c == '-') out += static_cast<char>(std::tolower(byte));
    if (c == ' ') out += '-';
  }
  return out;
}

std::vector<std::string> broken_links(const fs::path& page) {
  std::map<fs::path, std::set<std::string>> anchors;  // by file: many links of a page lead to one
  std::vector<std::string> broken;
  for (const std::string& link : all_of(without(prose(read_text(page.string())), "`[^`\n]*`"), R"(\]\(([^)\s]+)\))")) {
    if (link.find("://") != link.npos || link.starts_with("mailto:")) continue;
    const std::size_t hash = link.find('#');
    const fs::path file = hash == 0 ? page : page.parent_path() / link.substr(0, hash);
    if (!fs::exists(file)) {
      broken.push_back(link + ": no such file");
    } else if (hash != link.npos && file.extension() == ".md") {
      const auto [known, is_new] = anchors.try_emplace(file);
      if (is_new) known->second = anchors_of(file);
      if (!known->second.contains(link.substr(hash + 1))) broken.push_back(link + ": no such heading or anchor");
    }
  }
  return broken;
}

}  // namespace lab::desk
