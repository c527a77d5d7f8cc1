// lab error-map: what the bug planted in this build does to the output, element by element, as text for a figure.
// Inputs are chosen so that the bug's shape can be seen; the CPU backend gives the same text everywhere it was tried.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <stdexcept>

#include "checks/acceptance/expected.hpp"
#include "checks/acceptance/report.hpp"
#include "checks/bench/bench_samples.hpp"
#include "checks/bugs/fingerprint.hpp"
#include "checks/commands.hpp"
#include "common/wmma_layout.hpp"
#include "reference/attention.hpp"
#include "reference/wrong_answers.hpp"

namespace lab {
namespace {

// N(0,1); or a probe that lays the attention weights open: Q and V are (multiples of) the identity, so that
// out[r][n] = softmax_n(K[n][r]) shows the scores themselves, and K[n][c] is a wave of (c - n) mod 64, smooth enough
// for the eye. Every row and column of it holds the same numbers, so that the row sums are right whichever way K is
// turned.
enum class MapInputs { unit, probe };

struct Request {
  Shape shape{1, 1, 128, 64, false};
  int first_row = 0, last_row = 127;
  MapInputs inputs = MapInputs::unit;
  Fragments fragments = Fragments::measured;
  bool predicted = false;  // map or list the prediction as well
  int sample = 0;          // list every sample-th element of these rows; 0: none
};

// The bug's predicted output, where the figures show it beside the observed one. A fingerprint holds the kernel to
// the same functions.
using Predict = std::vector<double> (*)(const Shape&, double scale, const Inputs&, const LaunchPlan&);
struct Prediction {
  const char* bug;
  Predict predict;
};
constexpr Prediction PREDICTIONS[] = {
    {"head_dim_64", [](const Shape& s, double scale, const Inputs& in,
                       const LaunchPlan&) { return wrong::head_dim_64(s, scale, in.q, in.k, in.v); }},
    {"double_scale", [](const Shape& s, double scale, const Inputs& in,
                        const LaunchPlan&) { return wrong::double_scale(s, scale, in.q, in.k, in.v); }},
    {"reduce_32x", [](const Shape& s, double scale, const Inputs& in,
                      const LaunchPlan&) { return wrong::reduce_32x(s, scale, in.q, in.k, in.v); }},
    {"qk_not_transposed",
     [](const Shape& s, double scale, const Inputs& in, const LaunchPlan& plan) {
       return wrong::qk_not_transposed(s, scale, in.q, in.k, in.v, plan.tile_n);
     }},
    {"ldm", [](const Shape& s, double scale, const Inputs& in,
               const LaunchPlan&) { return wrong::ldm(s, scale, in.q, in.k, in.v); }},
    {"fragment_layout",  // with the other legal accumulator layout: with the measured one the bug changes nothing
     [](const Shape& s, double scale, const Inputs& in, const LaunchPlan& plan) {
       wrong::BlockMap map{};
       for (int r = 0; r < 16; ++r)
         for (int k = 0; k < 16; ++k) {
           const int source = wmma_layout::A_ROW_USED[r][k];
           map[std::size_t(16 * r + k)] = short(wmma_layout::acc_held_other(source / 16, source % 16 % 8));
         }
       return wrong::fragment_layout(s, scale, in.q, in.k, in.v, map, plan.tile_m, plan.tile_n);
     }},
};

Request read_request(std::span<char*> args) {
  constexpr std::string_view KEYS[] = {"shape", "rows", "inputs", "fragments", "predicted", "sample"};
  const KeyValues words(args, KEYS);
  Request r;
  if (const auto text = words.get("shape")) {
    const std::vector<Shape> shapes = bench_shapes(*text);
    if (shapes.size() != 1 || shapes[0].B != 1 || shapes[0].H != 1)
      throw BadInput("shape=" + *text + ": a map is of one head, such as 1,1,128,64");
    r.shape = shapes[0];
  }
  r.last_row = r.shape.S - 1;
  if (const auto rows = words.get("rows")) {
    const std::size_t dots = rows->find("..");
    if (dots == rows->npos) throw BadInput("rows=" + *rows + ": must be FIRST..LAST");
    r.first_row = whole_number("rows", rows->substr(0, dots), 0, r.shape.S - 1);
    r.last_row = whole_number("rows", rows->substr(dots + 2), r.first_row, r.shape.S - 1);
  }
  const auto either = [&](const char* key, const char* usual, const char* other) {
    const std::string word = words.get(key).value_or(usual);
    if (word != usual && word != other)
      throw BadInput(std::string(key) + "=" + word + ": must be " + usual + " or " + other);
    return word == other;
  };
  if (either("inputs", "unit", "probe")) {
    if (r.shape.S % r.shape.D) throw BadInput("inputs=probe wants S to be a multiple of D");
    r.inputs = MapInputs::probe;
  }
  if (either("fragments", "measured", "other")) r.fragments = Fragments::other;
  r.predicted = words.flag("predicted");
  if (const auto sample = words.get("sample")) r.sample = whole_number("sample", *sample, 1, 1 << 20);
  return r;
}

Inputs make(const Request& map) {
  Inputs in = make_inputs(Family::unit, map.shape, 1);
  if (map.inputs == MapInputs::unit) return in;
  const int D = map.shape.D;
  const auto wave = [](int d) {
    return to_fp16(float(1.5 * std::cos(2 * std::numbers::pi * d / 64 + std::numbers::pi / 4)));
  };
  for (int n = 0; n < map.shape.S; ++n)
    for (int c = 0; c < D; ++c) {
      const std::size_t i = std::size_t(n) * D + c;
      in.q[i] = to_fp16(n % D == c ? float(std::sqrt(D)) : 0.0f);  // times 1/sqrt(D): the scores are K itself
      in.k[i] = wave(((c - n) % 64 + 64) % 64);
      in.v[i] = to_fp16(n % D == c ? 1.0f : 0.0f);
    }
  return in;
}

// Ten characters a decade from 1e-5; '.' is within the harness's bound, '!' NaN, '~' never written.
// The poison is a signalling NaN, which no kernel computes: FP16_NAN may come of NaN in shared memory.
constexpr fp16 UNWRITTEN{0x7D7D};
constexpr char LEVELS[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
char level(fp16 got, double ref, double allowed) {
  if (got == UNWRITTEN) return '~';
  const double diff = std::abs(double(to_float(got)) - ref);
  if (std::isnan(diff)) return '!';
  if (diff <= allowed) return '.';
  return LEVELS[std::clamp(int(std::lround(10 * std::log10(diff / 1e-5))), 0, int(sizeof LEVELS) - 2)];
}

}  // namespace

int error_map_command(std::span<char*> args) {
  const Request request = read_request(args);
  const std::string_view bug = planted_bug();
  const auto prediction =
      std::ranges::find(PREDICTIONS, bug, [](const Prediction& p) { return std::string_view(p.bug); });
  if (request.predicted && prediction == std::end(PREDICTIONS)) {
    std::string names;
    for (const Prediction& p : PREDICTIONS) names += std::string(" ") + p.bug;
    throw BadInput("predicted=1: no prediction of '" + std::string(bug) + "' is known here; there are those of" +
                   names);
  }
  if (!can_schedule()) throw BadInput("error-map runs on the CPU backend, which gives the same map everywhere");

  const Shape& shape = request.shape;
  const double scale = default_scale(shape.D);
  ExecOptions options;
  options.fragments = request.fragments;
  const Trial t = run_trial(shape, make(request), float(scale), options, Family::unit, 1, 0, UNWRITTEN);
  if (!t.ok()) throw std::runtime_error("the launch fails: " + t.message);
  const std::vector<fp16>& got = t.out;
  const std::vector<double> ref = attention(shape, scale, t.in.q, t.in.k, t.in.v);
  const Expected right = loosely(ref, shape, scale, t.in, t.plan.half_p);
  std::vector<double> predicted;
  if (request.predicted) predicted = prediction->predict(shape, scale, t.in, t.plan);

  std::printf("schema: error-map-2\nbug: %s\nstage: %s\nshape: %s\nrows: %d..%d\ninputs: %s\nfragments: %s\n",
              bug.empty() ? "none" : planted_bug(), stage_name(), text(shape).c_str(), request.first_row,
              request.last_row, request.inputs == MapInputs::unit ? "unit, seed 1" : "probe",
              request.fragments == Fragments::other ? "other" : "measured");
  const auto print_map = [&](const char* title, auto value_at) {
    std::printf("\n%s\n", title);
    for (int row = request.first_row; row <= request.last_row; ++row) {
      std::string line;
      for (int c = 0; c < shape.D; ++c) {
        const std::size_t i = std::size_t(row) * shape.D + c;
        line += level(value_at(i), ref[i], right.allowed[i]);
      }
      std::printf("%s\n", line.c_str());
    }
  };
  print_map("seen", [&](std::size_t i) { return got[i]; });
  if (request.predicted && !request.sample)
    print_map("predicted", [&](std::size_t i) { return to_fp16(float(predicted[i])); });
  if (!request.sample) return 0;

  std::printf("\nsample: row column reference %sseen\n", request.predicted ? "predicted " : "");
  const std::size_t end = std::size_t(request.last_row + 1) * shape.D;
  for (std::size_t i = std::size_t(request.first_row) * shape.D; i < end; i += std::size_t(request.sample)) {
    if (got[i] == UNWRITTEN) continue;
    std::printf("%zu %zu %.4g", i / shape.D, i % shape.D, ref[i]);
    if (request.predicted) std::printf(" %.4g", predicted[i]);
    std::printf(" %.4g\n", double(to_float(got[i])));
  }
  return 0;
}

}  // namespace lab
