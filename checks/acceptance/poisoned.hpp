// A launch of the linked stage: its tensors in device memory with canaries around them, the output, the workspace and
// shared memory poisoned, and all that the launch did beside computing. Every check that runs a stage's kernel runs it here, but for
// two that launch many calls at once on a stream of their own: the referee (checks/evolve) and the benchmark.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "checks/acceptance/device_tensors.hpp"
#include "checks/acceptance/fault.hpp"
#include "common/backend.hpp"
#include "common/stage.hpp"
#include "reference/attention.hpp"
#include "reference/inputs.hpp"

namespace lab {

struct Launching {
  ExecOptions options;
  double seconds = 0;      // that a GPU may take; 0 stands for hang_seconds(shape)
  bool turned = false;     // -q and -scale: the same answer
  fp16 poison = FP16_NAN;  // of the output: two equal bytes
};

// Adds a fault where the kernel changed an input or wrote outside of it.
void check_input(const char* name, const DeviceTensor& tensor, const std::vector<fp16>& original,
                 std::vector<Fault>& strays);

class Poisoned {
 public:
  // The inputs must outlive it. A checked run sees every byte past a buffer's end, so it wants no canaries there.
  explicit Poisoned(const Inputs& inputs, bool canaries = true)
      : inputs_(inputs),
        q_(inputs.q, canaries),
        k_(inputs.k, canaries),
        v_(inputs.v, canaries),
        out_(inputs.q.size(), canaries),
        canaries_(canaries) {}

  // The kernel gets `shape`. If that has more heads than the tensors, the heads before the last have addresses and no
  // memory: an offset that wraps around at 32 bits faults.
  Ran launch(const Shape& shape, float scale, const Launching& launching = {});
  // On test_stream(), with a workspace for this shape.
  AttentionArgs args(const Shape& shape, float scale);
  void poison(fp16 with = FP16_NAN);  // the output and the workspace
  std::vector<fp16> output() const { return out_.download(); }

 private:
  struct TurnedSigns {
    explicit TurnedSigns(std::vector<fp16> x) : values(std::move(x)), on_device((turn(), values)) {}
    void turn() {
      for (fp16& x : values) x.bits ^= 0x8000;
    }
    std::vector<fp16> values;
    DeviceTensor on_device;
  };

  const Inputs& inputs_;
  DeviceTensor q_, k_, v_, out_;
  bool canaries_;
  std::optional<DeviceTensor> workspace_;  // of the last shape
  std::optional<TurnedSigns> turned_q_;
};

}  // namespace lab
