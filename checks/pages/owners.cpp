// lab owners: which block of a backward stage writes which tile of dQ, dK and dV, and which tiles of rows or keys it walks
// over. Each block is run alone, and its writes are what it changes; a tile of K or dO that is NaN shows up in what its
// readers write. The figures of the backward stages are drawn from it.
#include <algorithm>
#include <cstdio>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "checks/acceptance/device_tensors.hpp"
#include "checks/acceptance/report.hpp"
#include "checks/backward/trial.hpp"
#include "checks/bench/bench_samples.hpp"
#include "checks/commands.hpp"
#include "common/backend.hpp"
#include "reference/attention.hpp"

namespace lab {
namespace {

// Everything that block `block` alone, of each launch, leaves behind.
struct Written {
  std::vector<fp16> dq, dk, dv;
  std::vector<fp16> sums;  // the workspace behind L and delta, as halves: fp32 sums of dQ, if the stage has any
};

Written run_alone(const Shape& shape, const BackwardInputs& in, std::uint32_t block) {
  ExecOptions options;
  options.workers = 1, options.blocks = {block};
  set_exec_options(options);
  const DeviceTensor q(in.q), k(in.k), v(in.v), dout(in.dout);
  const DeviceTensor dq(shape.elements()), dk(shape.elements()), dv(shape.elements());
  const DeviceTensor workspace(backward_stage().workspace(shape) * (sizeof(float) / sizeof(half)));
  const cudaError_t error = backward_stage().launch({q.data(), k.data(), v.data(), dout.data(), dq.data(), dk.data(),
                                                     dv.data(), reinterpret_cast<float*>(workspace.data()), shape,
                                                     float(default_scale(shape.D)), nullptr});
  take_exec_report();
  set_exec_options({});
  if (error != cudaSuccess) throw std::runtime_error("owners: a block alone does not run");
  const std::size_t statistics = 2 * shape.rows() * (sizeof(float) / sizeof(half));
  std::vector<fp16> sums = workspace.download();
  sums.erase(sums.begin(), sums.begin() + std::ptrdiff_t(statistics));
  return {dq.download(), dk.download(), dv.download(), std::move(sums)};
}

// Tiles that hold an element other than `untouched`.
std::vector<int> touched(std::span<const fp16> tensor, std::size_t elements_per_tile, fp16 untouched) {
  std::vector<int> tiles;
  for (std::size_t first = 0; first < tensor.size(); first += elements_per_tile) {
    const auto tile = tensor.subspan(first, std::min(elements_per_tile, tensor.size() - first));
    if (std::ranges::any_of(tile, [&](fp16 x) { return x != untouched; }))
      tiles.push_back(int(first / elements_per_tile));
  }
  return tiles;
}

std::vector<int> nan_tiles(std::span<const fp16> tensor, std::size_t elements_per_tile) {
  std::vector<int> tiles;
  for (std::size_t first = 0; first < tensor.size(); first += elements_per_tile)
    if (to_float(tensor[first]) != to_float(tensor[first])) tiles.push_back(int(first / elements_per_tile));
  return tiles;
}

}  // namespace

int owners_command(std::span<char*> args) {
  constexpr std::string_view KEYS[] = {"shape"};
  const Shape shape = one_shape(KeyValues(args, KEYS).require("shape"));
  if (!can_schedule()) throw BadInput("owners runs on the CPU");
  if (shape.B * shape.H != 1) throw BadInput("owners: one batch and one head");
  const BackwardStageInfo& stage = backward_stage();
  if (stage.tile_m != stage.tile_n) throw BadInput("owners: a stage whose tiles have as many rows as keys");
  const std::size_t in_tile = std::size_t(stage.tile_m) * std::size_t(shape.D);
  const int tiles = (shape.S + stage.tile_m - 1) / stage.tile_m;  // of rows, and of keys
  const BackwardInputs in = make_backward_inputs(Family::unit, shape, 1);

  std::printf("schema: owners-1\nstage: %s\nshape: %s\nrows per tile: %d\nkeys per tile: %d\n", stage.name,
              text(shape).c_str(), stage.tile_m, stage.tile_n);
  std::printf("\ngradient\tblock\tdoes\ttile\n");
  const auto list = [](const char* gradient, int block, const char* does, const std::vector<int>& which) {
    for (const int tile : which) std::printf("%s\t%d\t%s\t%d\n", gradient, block, does, tile);
  };
  for (int block = 0; block < tiles; ++block) {
    const Written w = run_alone(shape, in, std::uint32_t(block));
    if (w.sums.empty())
      list("dq", block, "stores", touched(w.dq, in_tile, FP16_NAN));
    else
      list("dq", block, "adds", touched(w.sums, in_tile * (sizeof(float) / sizeof(half)), fp16{0}));
    list("dk", block, "stores", touched(w.dk, in_tile, FP16_NAN));
    list("dv", block, "stores", touched(w.dv, in_tile, FP16_NAN));
  }
  const auto spoilt = [&](std::vector<fp16> BackwardInputs::*tensor, int tile) {
    BackwardInputs with_nan = in;
    for (std::size_t i = 0; i < in_tile; ++i)
      if (const std::size_t at = std::size_t(tile) * in_tile + i; at < shape.elements())
        (with_nan.*tensor)[at] = FP16_NAN;
    return run_backward(shape, float(default_scale(shape.D)), with_nan);
  };
  for (int tile = 0; tile < tiles; ++tile)
    for (const int block : nan_tiles(spoilt(&BackwardInputs::dout, tile).dv, in_tile))
      list("dv", block, "walks over rows", {tile});
  const bool dq_has_owner = stage.workspace(shape) == 2 * shape.rows();
  for (int tile = 0; dq_has_owner && tile < tiles; ++tile)
    for (const int block :
         nan_tiles(spoilt(static_cast<std::vector<fp16> BackwardInputs::*>(&Inputs::k), tile).dq, in_tile))
      list("dq", block, "walks over keys", {tile});
  return 0;
}

}  // namespace lab
