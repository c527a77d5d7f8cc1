#include "checks/bench/shapes.hpp"

#include <algorithm>
#include <regex>
#include <sstream>

#include "checks/acceptance/cases.hpp"
#include "checks/acceptance/format.hpp"
#include "reference/bad_input.hpp"

namespace lab {

constexpr Shape LONG[] = {
    {4, 16, 8192, 64, false}, {4, 16, 8192, 64, true}, {4, 16, 8192, 128, false}, {4, 16, 8192, 128, true}};

std::string shape_word(const Shape& s) {
  return format("%d,%d,%d,%d%s", s.B, s.H, s.S, s.D, s.causal ? ",causal" : "");
}

std::vector<Shape> bench_shapes(std::string_view words) {
  std::vector<Shape> shapes;
  if (words == "acceptance" || words == "all")
    shapes.assign(std::begin(NOTES_SHAPES), std::end(NOTES_SHAPES)), shapes.push_back({2, 8, 2048, 128, true});
  if (words == "long" || words == "all") shapes.insert(shapes.end(), std::begin(LONG), std::end(LONG));
  if (words == "sweep")
    for (const int D : {64, 128})
      for (const bool causal : {false, true})
        for (const int BH : {8, 16, 32, 64, 128})
          for (int S = 128; S <= 16384; S *= 2) shapes.push_back({BH / 8, 8, S, D, causal});
  if (!shapes.empty()) return shapes;
  const std::regex SHAPE("([1-9]\\d{0,5}),([1-9]\\d{0,5}),([1-9]\\d{0,5}),([1-9]\\d{0,5})(,causal)?");
  std::istringstream all(std::string(words) + ";");
  std::smatch m;
  for (std::string word; std::getline(all, word, ';');) {
    if (!std::regex_match(word, m, SHAPE))
      throw BadInput("shape=" + word + ": neither B,H,S,D[,causal] nor one of acceptance, long, all, sweep");
    if (m[4] != "64" && m[4] != "128") throw BadInput("shape=" + word + ": the stages take head dimensions 64 and 128");
    shapes.push_back({std::stoi(m[1]), std::stoi(m[2]), std::stoi(m[3]), std::stoi(m[4]), m[5].matched});
  }
  return shapes;
}

Shape one_shape(std::string_view words) {
  const std::vector<Shape> shapes = bench_shapes(words);
  if (shapes.size() != 1) throw BadInput("shape= names one shape, such as 1,1,512,64,causal");
  return shapes[0];
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

double flop(const Shape& s) { return 4.0 * double(s.rows()) * s.S * s.D * (s.causal ? 0.5 : 1); }

}  // namespace lab
