#include "checks/bench/bench_samples.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>

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

// --- reading the samples ---------------------------------------------------------------------------------------

void read_line(BenchRun& run, const std::string& line) {
  const auto bad = [&](const char* why) { return BadInput(std::string("samples: ") + why + " in '" + line + "'"); };
  const auto words = split(line, '\t');
  const auto want = [&](std::size_t count) {
    if (words.size() != count) throw bad("wrong number of fields");
  };
  const auto values = [&](const std::string& text) {
    std::vector<double> out;
    for (const std::string& word : split(text, ' ')) {
      const auto value = number_in<double>(word);
      if (!value || !(*value > 0) || !std::isfinite(*value)) throw bad("not a positive number");
      out.push_back(*value);
    }
    return out;
  };
  const auto round = [&](const std::string& text) {
    const auto value = number_in<int>(text);
    if (!value || *value < 1) throw bad("not a round");
    return *value;
  };
  const auto case_at = [&](std::size_t i) -> BenchCase& {
    if (!shape_of(words[i + 1])) throw bad("not a shape");
    return run.at(words[i], words[i + 1]);
  };
  if (words[0] == "meta") {
    want(3);
    auto& into = words[1].starts_with("kernel ") ? run.kernels : run.meta;
    const std::string key = words[1].starts_with("kernel ") ? words[1].substr(7) : words[1];
    if (std::ranges::find(into, key, &std::pair<std::string, std::string>::first) == into.end())
      into.emplace_back(key, words[2]);
  } else if (words[0] == "case") {  // case PROGRAM SHAPE STATUS DETAIL
    want(5);
    BenchCase& c = case_at(1);
    if (words[3] != "ok" && words[3] != "skipped" && words[3] != "failed") throw bad("not a status");
    if (c.status != "failed" && words[3] != "ok") c.status = words[3], c.detail = words[4];
  } else if (words[0] == "fact") {  // fact PROGRAM SHAPE NAME NUMBER
    want(5);
    const auto value = number_in<double>(words[4]);
    if (!value || !std::isfinite(*value)) throw bad("not a number");
    case_at(1).facts[words[3]] = words[4];
  } else if (words[0] == "sample") {  // sample PROGRAM SHAPE FIGURE ROUND VALUES
    want(6);
    if (std::ranges::find(FIGURES, words[3]) == std::end(FIGURES)) throw bad("not a figure");
    auto& into = case_at(1).figures[words[3]].rounds[round(words[4])];
    for (const double v : values(words[5])) into.push_back(v);
  } else if (words[0] == "seen") {  // seen PROGRAM SHAPE SM_MHZ WATTS
    want(5);
    BenchCase& c = case_at(1);
    c.sm_mhz.push_back(values(words[3])[0]);
    c.watts.push_back(values(words[4])[0]);
  } else if (words[0] == "ceiling") {  // ceiling NAME ROUND VALUES
    want(4);
    auto& into = run.ceilings[words[1]].rounds[round(words[2])];
    for (const double v : values(words[3])) into.push_back(v);
  } else {
    throw bad("unknown record");
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

BenchCase& BenchRun::at(const std::string& program, const std::string& shape) {
  for (BenchCase& c : cases)
    if (c.program == program && c.shape == shape) return c;
  cases.push_back({});
  cases.back().program = program, cases.back().shape = shape;
  return cases.back();
}

const BenchCase* BenchRun::find(const std::string& program, const std::string& shape) const {
  for (const BenchCase& c : cases)
    if (c.program == program && c.shape == shape) return &c;
  return nullptr;
}

BenchRun read_samples(const std::vector<std::string>& files) {
  BenchRun run;
  for (const std::string& file : files)
    for (const std::string& line : split(file, '\n'))
      if (!line.empty()) read_line(run, line);
  return run;
}

Spread spread(std::vector<double> values) {
  std::ranges::sort(values);
  return {percentile(values, 0.5), percentile(values, 0.1), percentile(values, 0.9), values.size()};
}
Spread spread(const Figure& figure) {
  std::vector<double> all;
  for (const auto& [round, values] : figure.rounds) all.insert(all.end(), values.begin(), values.end());
  return spread(all);
}

bool is_peer(const std::string& program) {
  return program.starts_with("torch_") || program == "fa3" || program == "fa4";
}

double flop(const Shape& s) { return 4.0 * double(s.rows()) * s.S * s.D * (s.causal ? 0.5 : 1); }

std::optional<double> graph_time(const BenchCase* c) {
  if (!c || c->status != "ok" || !c->figures.contains("graph")) return std::nullopt;
  return spread(c->figures.at("graph")).median;
}

Spread paired(const BenchCase& one, const BenchCase& other) {
  std::vector<double> ratios;
  const auto& others = other.figures.at("graph").rounds;
  for (const auto& [round, times] : one.figures.at("graph").rounds)
    if (const auto same = others.find(round); same != others.end())
      for (std::size_t i = 0; i < std::min(times.size(), same->second.size()); ++i)
        ratios.push_back(times[i] / same->second[i]);
  return spread(ratios);
}

Ratios ratios(const BenchRun& run, const BenchCase& c) {
  Ratios r;
  const double us = *graph_time(&c);
  const Shape shape = *shape_of(c.shape);
  r.tflops = flop(shape) / us * 1e-6;
  if (run.ceilings.contains("matrix_fp16_tflops"))
    r.of_matrix = r.tflops / spread(run.ceilings.at("matrix_fp16_tflops")).median;
  const BenchCase* best = nullptr;
  for (const BenchCase& other : run.cases) {
    if (other.shape != c.shape) continue;
    const auto time = graph_time(&other);
    if (is_peer(other.program) && other.program != "torch_default" && time &&
        (!best || *time < *graph_time(best)))  // default is one of them
      best = &other, r.pytorch = other.program;
  }
  if (best)
    if (const Spread pairs = paired(c, *best); pairs.samples > 0) r.vs_pytorch = pairs;
  if (is_peer(c.program)) return r;
  std::string previous;
  for (const BenchCase& other : run.cases) {
    if (is_peer(other.program)) continue;
    if (other.program == c.program) break;
    previous = other.program;
  }
  if (const auto time = graph_time(run.find(previous, c.shape))) r.vs_previous = *time / us, r.previous = previous;
  return r;
}

std::vector<std::string> shapes_of(const BenchRun& run) {
  std::vector<std::string> shapes;
  for (const BenchCase& c : run.cases)
    if (std::ranges::find(shapes, c.shape) == shapes.end()) shapes.push_back(c.shape);
  return shapes;
}

std::string sweep_table(const BenchRun& run) {
  constexpr double LEVEL = 1 / 0.98;  // one round does not tell 2 % apart
  std::string out =
      format("%-20s %-20s %10s  %-14s %10s %8s\n", "shape", "fastest stage", "us", "fastest peer", "us", "peer x");
  int ahead = 0, compared = 0;
  for (const std::string& shape : shapes_of(run)) {
    const BenchCase *stage = nullptr, *peer = nullptr;
    for (const BenchCase& c : run.cases) {
      const BenchCase*& best = is_peer(c.program) ? peer : stage;
      if (c.shape == shape && graph_time(&c) && (!best || *graph_time(&c) < *graph_time(best))) best = &c;
    }
    if (!stage || !peer) continue;
    const double mine = *graph_time(stage), theirs = *graph_time(peer);
    out += format("%-20s %-20s %10.2f  %-14s %10.2f %8.2f\n", shape.c_str(), stage->program.c_str(), mine,
                  peer->program.c_str(), theirs, mine / theirs);
    ++compared, ahead += mine <= theirs * LEVEL;
  }
  return out + format("a stage is ahead or level (0.98) on %d of %d shapes\n", ahead, compared);
}

std::string bench_table(const BenchRun& run) {
  std::string out = format("%-18s %-20s %11s %19s %11s %9s %8s %9s  %s\n", "program", "shape", "graph us", "p10 .. p90",
                           "one call", "TFLOP/s", "matrix", "faster x", "best peer x, p10 .. p90");
  for (const std::string& shape : shapes_of(run))
    for (const BenchCase& c : run.cases) {
      if (c.shape != shape) continue;
      if (!graph_time(&c)) {
        out += format("%-18s %-20s %s: %s\n", c.program.c_str(), shape.c_str(), c.status.c_str(), c.detail.c_str());
        continue;
      }
      const Spread s = spread(c.figures.at("graph"));
      const Ratios r = ratios(run, c);
      const auto times = [](const std::optional<double>& v) { return v ? format("%.2f", *v) : std::string("-"); };
      const std::string peer = r.vs_pytorch ? format("%.3f, %.3f .. %.3f%s", r.vs_pytorch->median, r.vs_pytorch->p10,
                                                     r.vs_pytorch->p90, r.vs_pytorch->p90 < 1 ? " ahead" : "")
                                            : "-";
      const std::string matrix = r.of_matrix ? format("%.1f%%", 100 * *r.of_matrix) : "-";
      const std::string call = c.figures.contains("call") ? format("%.2f", spread(c.figures.at("call")).median) : "-";
      out += format("%-18s %-20s %11.2f %19s %11s %9.2f %8s %9s  %s\n", c.program.c_str(), shape.c_str(), s.median,
                    format("%.2f .. %.2f", s.p10, s.p90).c_str(), call.c_str(), r.tflops, matrix.c_str(),
                    times(r.vs_previous).c_str(), peer.c_str());
    }
  return out;
}

}  // namespace lab
