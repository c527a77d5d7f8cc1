// A launch of the stage at hand, of either pass: its tensors in device memory with canaries around them; outputs, workspace and
// shared memory poisoned; and all that the launch did beside computing. Every check that runs a stage's kernel uses its tensors;
// those that launch many calls at once (overlap.cpp, the validator of checks/search) make the launches themselves.
#pragma once
#include <cuda_runtime.h>

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "checks/acceptance/device_tensors.hpp"
#include "checks/acceptance/subject.hpp"
#include "common/backend.hpp"
#include "reference/inputs.hpp"

namespace lab {

// How much a fault says about its cause: a report gives the most telling one first.
enum class Evidence { failure, finding, stray_write, changed_input, race, numbers };
struct Fault {
  Evidence evidence{};
  std::string what;
  bool again = false;  // what a different fault of the launch has said
};

// All that can be observed of a launch.
struct Ran {
  Shape shape;
  float scale = 0;
  cudaError_t launched{}, last{}, finished{};  // from the call, from cudaGetLastError() after it, from the kernels
  std::string message;                         // of a refused launch or a failed kernel
  std::vector<Finding> findings;               // with ExecOptions::check
  ExecReport report;                           // less its findings
  std::vector<std::vector<fp16>> outputs;      // as far as they got
  std::vector<Fault> strays;                   // of a launch that is ok: writes outside the outputs and into inputs
  bool ok() const { return launched == cudaSuccess && last == cudaSuccess && finished == cudaSuccess; }
  // A GPU is busy with it: only the end of this process frees the GPU, and no destructor may run before.
  bool still_runs() const { return finished == cudaErrorNotReady; }
  // Why the kernel does not take the shape: it launches nothing and returns cudaErrorNotSupported. "" where it takes it.
  std::string not_taken() const;
  const char* error_name() const;
  std::string error() const;  // "kernel failed: NAME: message"; "" if ok()
};
// Everything that can be said without knowing the right answer. `blocks`: how many were to run, 0 if unknown.
std::vector<Fault> faults_of(const Ran& ran, std::size_t blocks = 0);

// A GPU's launch did not end: nothing more can be run, and only the end of this process frees the GPU.
struct StillRuns : std::runtime_error {
  explicit StillRuns(const std::string& what) : std::runtime_error(what) {}
};

struct Launching {
  ExecOptions options;
  double seconds = 0;            // that a GPU may take; 0 stands for Subject::seconds(shape)
  bool clear_workspace = false;  // to zeros: blocks that do not run leave out what others wait for
};

class Tensors {
 public:
  // The inputs must outlive it. A checked run sees every byte past a buffer's end, so it wants no canaries there.
  Tensors(const Subject& subject, const Inputs& inputs, bool canaries = true);

  // The kernel gets `shape`. If that has more heads than the tensors, the heads before the last have addresses and no
  // memory: an offset that wraps around at 32 bits faults.
  Ran launch(const Shape& shape, float scale, const Launching& launching = {});
  // On test_stream(), with a workspace for this shape.
  Call call(const Shape& shape, float scale);
  void poison_outputs();
  void poison();  // the workspace, too
  // Adds the outputs, and says what was written outside of them and into inputs.
  std::vector<Fault> fetch(std::vector<std::vector<fp16>>& outputs) const;

 private:
  const Subject& subject_;
  std::vector<const std::vector<fp16>*> originals_;
  std::vector<DeviceTensor> inputs_, outputs_;
  bool canaries_;
  std::optional<DeviceTensor> workspace_;  // of the last shape
};

// A call whose launches are recorded, and not made; it has no outputs.
Ran dry_run(const Subject& subject, const Shape& shape, float scale = 1, int multiprocessors = 0);
// The kernels that it launches; empty where the backend does not see them.
std::vector<Launched> launches_of(const Subject& subject, const Shape& shape, int multiprocessors = 0);
// A line for each scale that is not positive and finite, and that the stage does not refuse with a line of its own.
std::vector<std::string> scales_not_refused(const Subject& subject);

}  // namespace lab
