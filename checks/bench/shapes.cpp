#include "checks/bench/shapes.hpp"

#include <algorithm>
#include <cmath>

#include "checks/acceptance/format.hpp"
#include "common/number.hpp"
#include "reference/bad_input.hpp"

namespace lab {
namespace {

constexpr Shape ACCEPTANCE[] = {{1, 8, 512, 64, false}, {1, 8, 512, 64, true},    {2, 8, 2048, 64, false},
                                {2, 8, 2048, 64, true}, {2, 8, 2048, 128, false}, {2, 8, 2048, 128, true}};
constexpr Shape LONG[] = {
    {4, 16, 8192, 64, false}, {4, 16, 8192, 64, true}, {4, 16, 8192, 128, false}, {4, 16, 8192, 128, true}};

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0;;) {
    const std::size_t end = text.find(separator, begin);
    parts.emplace_back(text.substr(begin, end == text.npos ? end : end - begin));
    if (end == text.npos) return parts;
    begin = end + 1;
  }
}

}  // namespace

std::string shape_word(const Shape& s) {
  return format("%d,%d,%d,%d%s", s.B, s.H, s.S, s.D, s.causal ? ",causal" : "");
}

std::optional<Shape> shape_of(const std::string& word) {
  const auto parts = split(word, ',');
  if (parts.size() < 4 || parts.size() > 5 || (parts.size() == 5 && parts[4] != "causal")) return std::nullopt;
  Shape shape;
  int* const extents[] = {&shape.B, &shape.H, &shape.S, &shape.D};
  for (std::size_t i = 0; i < 4; ++i) {
    const auto value = number_in<int>(parts[i]);
    if (!value || *value < 1 || *value > (1 << 20)) return std::nullopt;
    *extents[i] = *value;
  }
  shape.causal = parts.size() == 5;
  return shape;
}

std::vector<Shape> bench_shapes(std::string_view words) {
  std::vector<Shape> shapes;
  if (words == "acceptance" || words == "all")
    shapes.insert(shapes.end(), std::begin(ACCEPTANCE), std::end(ACCEPTANCE));
  if (words == "long" || words == "all") shapes.insert(shapes.end(), std::begin(LONG), std::end(LONG));
  if (words == "sweep")
    for (const int D : {64, 128})
      for (const bool causal : {false, true})
        for (const int BH : {8, 16, 32, 64, 128})
          for (int S = 128; S <= 16384; S *= 2) shapes.push_back({BH / 8, 8, S, D, causal});
  if (!shapes.empty()) return shapes;
  for (const std::string& word : split(words, ';')) {
    const auto shape = shape_of(word);
    if (!shape) throw BadInput("shape=" + word + ": neither B,H,S,D[,causal] nor one of acceptance, long, all, sweep");
    if (shape->D != 64 && shape->D != 128)
      throw BadInput("shape=" + word + ": the stages take head dimensions 64 and 128");
    shapes.push_back(*shape);
  }
  return shapes;
}

Shape one_shape(std::string_view words) {
  const std::vector<Shape> shapes = bench_shapes(words);
  if (shapes.size() != 1) throw BadInput("shape= names one shape, such as 1,1,512,64,causal");
  return shapes[0];
}

double percentile(const std::vector<double>& sorted, double p) {
  if (sorted.empty()) return NAN;
  const double at = p * double(sorted.size() - 1);
  const std::size_t below = std::size_t(at), above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - double(below)) * (sorted[above] - sorted[below]);
}

Spread spread(std::vector<double> values) {
  std::ranges::sort(values);
  return {percentile(values, 0.5), percentile(values, 0.1), percentile(values, 0.9)};
}

double flop(const Shape& s) { return 4.0 * double(s.rows()) * s.S * s.D * (s.causal ? 0.5 : 1); }

}  // namespace lab
