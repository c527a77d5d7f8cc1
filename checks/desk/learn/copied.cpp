#include "checks/desk/learn/copied.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <vector>

#include "checks/desk/desk.hpp"
#include "checks/desk/ladder.hpp"
#include "checks/desk/learn/handout.hpp"

namespace lab::desk {
namespace {

constexpr std::size_t MANY = 60;  // tokens that two people do not choose alike

// Names and numbers, and every other character by itself.
std::vector<std::string> tokens_of(const std::string& source) {
  const std::string text = without_comments(source);
  std::vector<std::string> tokens;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && in_name(text[end])) ++end;
    end = std::max(end, i + 1);
    if (!std::isspace(static_cast<unsigned char>(text[i]))) tokens.push_back(text.substr(i, end - i));
    i = end;
  }
  return tokens;
}

// How many of the solution's tokens lie between the first and the last that was not handed out.
std::size_t not_handed_out(const Exercise& e) {
  const std::vector<std::string> given = tokens_of(handed_out(e)), solved = tokens_of(solution(e));
  const auto [head, same] = std::ranges::mismatch(solved, given);
  const auto before = std::size_t(head - solved.begin()), most = std::min(solved.size(), given.size()) - before;
  std::size_t after = 0;
  while (after < most && solved[solved.size() - 1 - after] == given[given.size() - 1 - after]) ++after;
  return solved.size() - before - after;
}

std::set<std::string> comments_in(const std::string& source) {
  std::set<std::string> all;
  for (const std::string& line : lines_of(source))
    if (const std::string comment = squeezed(comment_of(line)); comment.size() >= TELLING) all.insert(comment);
  return all;
}

}  // namespace

std::string nameless(const std::string& text) {
  std::map<std::string, std::size_t> names;  // by first appearance
  std::string result;
  for (const std::string& token : tokens_of(text)) {
    const bool name = in_name(token[0]) && !std::isdigit(static_cast<unsigned char>(token[0]));
    result += name ? "$" + std::to_string(names.emplace(token, names.size()).first->second) : token;
    result += ' ';
  }
  return result;
}

std::string copied_from(const Exercise& e, const std::string& text) {
  if (e.kind == "test" || e.kind == "predict") return "";
  const std::string mine = nameless(text);
  static std::map<std::string, std::string> kernels;  // that have been read, nameless
  for (const Stage& stage : read_ladder().stages) {
    const bool begun_with = stage.dir == e.stage && e.kind != "capstone";
    const std::string kernel = kernel_path(stage.dir);
    if (begun_with) continue;
    if (!kernels.contains(kernel)) kernels[kernel] = nameless(read_text(kernel));
    if (mine == kernels[kernel]) return "the same as " + kernel + " but for comments, blanks and names";
  }
  if (mine != nameless(solution(e))) return "";
  const std::set<std::string> given = comments_in(handed_out(e)), own = comments_in(text);
  for (const std::string& comment : comments_in(solution(e)))
    if (!given.contains(comment) && own.contains(comment)) return "the solution, with its comments";
  const std::size_t fresh = not_handed_out(e);
  return fresh < MANY ? ""
                      : "the solution but for comments, blanks and names: " + std::to_string(fresh) +
                            " tokens that were not handed out";
}

}  // namespace lab::desk
