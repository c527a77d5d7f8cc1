#include "checks/acceptance/comparison.hpp"
#include "checks/acceptance/expected.hpp"
#include "checks/acceptance/format.hpp"
#include "checks/acceptance/overlap.hpp"
#include "checks/acceptance/poisoned.hpp"
#include "checks/acceptance/report.hpp"
#include "common/gpu_access.hpp"

namespace lab {
namespace {

// Rows that the oracle takes: all of a small problem, of a large one a few of the first head and of the last.
std::vector<RowBlock> rows_of(const Shape& shape) {
  const int heads = shape.B * shape.H;
  std::vector<RowBlock> rows;
  if (shape.S <= 512 && heads <= 8)
    for (int head = 0; head < heads; ++head) rows.push_back({head, 0, shape.S});
  else
    for (const int head : {0, heads / 2, heads - 1})
      for (const int part : {0, 1, 2, 3}) rows.push_back({head, (shape.S - 4) * part / 3, 4});
  return rows;
}

class Attention : public Overlapping {
 public:
  Attention(const Shape& shape, std::uint64_t seed)
      : shape_(shape),
        scale_(float(default_scale(shape.D))),
        inputs_(make_inputs(Family::unit, shape, seed)),
        rows_(rows_of(shape)),
        right_(expected(shape, scale_, inputs_, rows_, stage().plan(shape).half_p)),
        tensors_(inputs_) {
    tensors_.args(shape_, scale_);  // makes the workspace
  }
  cudaError_t launch(cudaStream_t stream) override {
    AttentionArgs args = tensors_.args(shape_, scale_);
    args.stream = stream;
    return stage().launch(args);
  }
  void poison() override { tensors_.poison(); }
  std::string wrong() override {
    const std::vector<fp16> out = tensors_.output();
    if (first_.empty()) first_ = out;
    Comparison seen;
    compare(shape_, rows_, out, right_, seen);
    std::string what;
    if (!seen.good())
      what = lines_of(seen).front();
    else if (const Differing d = differing(shape_, rows_, out, first_); out != first_)
      what = format("other bits than at first, in %zu of %zu elements looked at", d.differing, d.compared);
    return what.empty() ? "" : text(shape_) + ": " + what;
  }
  double seconds() const override { return hang_seconds(shape_); }

 private:
  Shape shape_;
  float scale_;
  Inputs inputs_;
  std::vector<RowBlock> rows_;
  Expected right_;
  Poisoned tensors_;
  std::vector<fp16> first_;  // of the first launch: the same inputs give the same bits
};

}  // namespace

std::unique_ptr<Overlapping> overlapping_attention(const Shape& shape, std::uint64_t seed) {
  return std::make_unique<Attention>(shape, seed);
}

}  // namespace lab
