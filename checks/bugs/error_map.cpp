// lab error-map: what the bug planted in this build does to the output, element by element, as text for a figure.
// Inputs are chosen so that the bug's shape can be seen; the CPU backend gives the same text everywhere it was tried.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>

#include "checks/commands.hpp"
#include "checks/acceptance/device_tensors.hpp"
#include "checks/bugs/fingerprint.hpp"
#include "checks/acceptance/report.hpp"
#include "checks/acceptance/tolerance.hpp"
#include "reference/attention.hpp"

namespace lab {
namespace {

// N(0,1); or a probe that lays the attention weights open: Q and V are (multiples of) the identity, so that
// out[r][n] = softmax_n(K[n][r]) shows the scores themselves, and K[n][c] is a wave of (c - n) mod 64, smooth enough
// for the eye. Every row and column of it holds the same numbers, so that the row sums are right whichever way K is
// turned.
enum class MapInputs { unit, probe };

struct MapOf {
  const char* bug;
  Shape shape;
  int first_row, rows;
  MapInputs inputs;
  Fragments fragments = Fragments::measured;
};
constexpr MapOf MAPS[] = {
    {"head_dim_64", {1, 1, 128, 128, false}, 0, 128, MapInputs::unit},
    {"warp7_nan", {1, 1, 128, 64, false}, 0, 128, MapInputs::unit},
    {"accum_tail", {1, 1, 128, 64, false}, 0, 128, MapInputs::unit},
    {"double_scale", {1, 1, 128, 64, false}, 0, 128, MapInputs::unit},
    {"reduce_32x", {1, 1, 128, 64, false}, 0, 128, MapInputs::unit},
    {"qk_not_transposed", {1, 1, 64, 64, false}, 0, 64, MapInputs::probe},
    {"ldm", {1, 1, 64, 64, false}, 0, 64, MapInputs::probe},
    {"skip_tail", {1, 1, 500, 64, false}, 436, 64, MapInputs::unit},
    {"fragment_layout", {1, 1, 64, 64, false}, 0, 64, MapInputs::probe, Fragments::other},
};

Inputs make(const MapOf& map) {
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

double largest_norm(const std::vector<fp16>& tensor, int D) {
  double largest = 0;
  for (std::size_t row = 0; row < tensor.size(); row += std::size_t(D)) {
    double squares = 0;
    for (int c = 0; c < D; ++c) squares += double(to_float(tensor[row + c])) * to_float(tensor[row + c]);
    largest = std::max(largest, squares);
  }
  return std::sqrt(largest);
}

// Ten characters a decade from 1e-5; '.' is within the harness's bound, '!' NaN, '~' never written.
constexpr fp16 UNWRITTEN{0x7D55};
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
  if (!args.empty()) throw BadInput("error-map takes no arguments: it maps the bug of this build");
  const std::string_view bug = planted_bug();
  const auto found = std::ranges::find(MAPS, bug, [](const MapOf& m) { return std::string_view(m.bug); });
  if (found == std::end(MAPS)) {
    std::string names;
    for (const MapOf& m : MAPS) names += std::string(" ") + m.bug;
    throw BadInput((bug.empty() ? "this build has no bug" : "no map of '" + std::string(bug) + "'") +
                   "; there are maps of" + names);
  }
  if (!can_schedule()) throw BadInput("error-map runs on the CPU backend, which gives the same map everywhere");

  const Inputs in = make(*found);
  const Shape& shape = found->shape;
  const double scale = default_scale(shape.D);
  ExecOptions options;
  options.fragments = found->fragments;
  set_exec_options(options);
  const DeviceTensor q(in.q), k(in.k), v(in.v);
  DeviceTensor out(shape.elements());
  // Not FP16_NAN, which a kernel may also compute from NaN in shared memory: a signalling NaN, which none computes.
  check_cuda(cudaMemcpy(out.data(), std::vector(shape.elements(), UNWRITTEN).data(), shape.elements() * sizeof(half),
                        cudaMemcpyHostToDevice),
             "cudaMemcpy");
  poison_shared_memory();
  check_cuda(stage().launch({q.data(), k.data(), v.data(), out.data(), shape, float(scale), nullptr}), "the launch");
  check_cuda(cudaDeviceSynchronize(), "the kernel");
  set_exec_options({});
  const std::vector<fp16> got = out.download();
  const std::vector<double> ref = attention(shape, scale, in.q, in.k, in.v);
  const RowError bound = row_error(shape.D, shape.S, scale * largest_norm(in.q, shape.D) * largest_norm(in.k, shape.D),
                                   stage().plan(shape).half_p);
  double max_v = 0;
  for (const fp16 x : in.v) max_v = std::max(max_v, std::abs(double(to_float(x))));

  std::printf("schema: error-map-1\nbug: %s\nstage: %s\nshape: %s\nrows: %d..%d\ninputs: %s\nfragments: %s\n\n",
              found->bug, stage().name, text(shape).c_str(), found->first_row, found->first_row + found->rows - 1,
              found->inputs == MapInputs::unit ? "unit, seed 1" : "probe",
              found->fragments == Fragments::other ? "other" : "measured");
  for (int row = found->first_row; row < found->first_row + found->rows; ++row) {
    std::string line;
    for (int c = 0; c < shape.D; ++c) {
      const std::size_t i = std::size_t(row) * shape.D + c;
      line += level(got[i], ref[i], allowed_error(bound, std::abs(ref[i]), max_v, max_v));
    }
    std::printf("%s\n", line.c_str());
  }
  return 0;
}

}  // namespace lab
