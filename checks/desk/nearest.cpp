#include "checks/desk/nearest.hpp"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>

namespace lab::desk {

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

}  // namespace lab::desk
