#include "checks/acceptance/run_files.hpp"

#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <string_view>
#include <vector>

#include "checks/acceptance/poisoned.hpp"
#include "checks/acceptance/report.hpp"
#include "checks/bugs/hang.hpp"
#include "checks/commands.hpp"
#include "common/backend.hpp"
#include "common/stage.hpp"
#include "reference/npy.hpp"

namespace lab {
namespace fs = std::filesystem;

Shape shape_of(const std::string& path, const NpyTensor& tensor) {
  const Shape shape{tensor.shape[0], tensor.shape[1], tensor.shape[2], tensor.shape[3]};
  if (shape.D != 64 && shape.D != 128)
    throw BadInput(path + ": its shape is " + text(shape) + "; the stages take head dimensions D of 64 and 128");
  // The kernels index within a head with int; CUDA's grids end at 65535 in y and z, which hold heads and
  // batch.
  if (std::int64_t(shape.S) * shape.D > std::numeric_limits<int>::max() || shape.H > 65535 || shape.B > 65535)
    throw BadInput(path + ": its shape " + text(shape) +
                   " is beyond a CUDA grid: B and H end at 65535, S*D at 2^31 - 1");
  return shape;
}

// Finding out that the result can't go there must not take the time of a run.
std::string writable_target(const std::string& out) {
  std::error_code ignored;
  fs::path target = fs::weakly_canonical(out, ignored);
  if (target.empty()) target = out;
  if (fs::exists(target, ignored) && !fs::is_regular_file(target, ignored))
    throw BadInput(out + ": cannot be written: it exists and is not a regular file");
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  if (!fs::is_directory(folder, ignored)) throw BadInput(out + ": cannot be written: no directory " + folder.string());
  if (access(folder.c_str(), W_OK) != 0)
    throw BadInput(out + ": cannot be written: no right to write in " + folder.string());
  return target.string();
}

// NaN and infinities are legal: attention has an answer for them, and the kernel's is written as it comes.
void tell_non_finite(std::initializer_list<std::pair<const char*, const NpyTensor*>> inputs) {
  for (const auto& [name, tensor] : inputs) {
    std::size_t nans = 0, infinities = 0;
    for (const fp16 x : tensor->values) {
      const unsigned magnitude = x.bits & 0x7FFFu;
      nans += magnitude > 0x7C00u;
      infinities += magnitude == 0x7C00u;
    }
    if (nans + infinities > 0)
      std::printf(
          "note: %s holds %zu NaN and %zu Inf; they are passed through as attention does (a NaN reaches "
          "every "
          "row that sees it)\n",
          name, nans, infinities);
  }
}

int run_files(const RunFiles& files) {
  const NpyTensor q = read_npy(files.q), k = read_npy(files.k), v = read_npy(files.v);
  Shape shape = shape_of(files.q, q);
  for (const auto& [path, tensor] : {std::pair(&files.k, &k), std::pair(&files.v, &v)})
    if (tensor->shape != q.shape)
      throw BadInput(format("shapes disagree: q is %s, but %s is (%d,%d,%d,%d)", text(shape).c_str(), path->c_str(),
                            tensor->shape[0], tensor->shape[1], tensor->shape[2], tensor->shape[3]));
  const std::string out_path = writable_target(files.out);
  shape.causal = files.causal;
  tell_non_finite({{"q", &q}, {"k", &k}, {"v", &v}});

  const float scale = files.scale.value_or(1.0f / std::sqrt(float(shape.D)));
  const Inputs inputs{q.values, k.values, v.values};
  Poisoned tensors(inputs);
  const auto begin = std::chrono::steady_clock::now();
  const Ran ran = tensors.launch(shape, scale);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  const std::vector<Fault> faults = faults_of(ran);
  for (const Fault& fault : faults) std::fprintf(stderr, "lab: %s: %s\n", stage().name, fault.what.c_str());
  if (ran.still_runs()) std::fprintf(stderr, "lab: %s still runs after %.1f s\n", stage().name, seconds.count());
  if (!faults.empty() || ran.still_runs()) {
    std::fprintf(stderr, "lab: %s is not written\n", files.out.c_str());
    if (ran.still_runs()) std::_Exit(HUNG);  // a destructor would wait for the kernel
    return 1;
  }
  write_npy(out_path, q.shape, ran.out);
  const std::string_view bug = planted_bug();
  std::printf("%s: %s, scale %g, %s (%s)%s%s, %.3f s, wrote %s\n", stage().name, text(shape).c_str(), scale,
              backend_name(), device_name().c_str(), bug.empty() ? "" : ", planted bug ", bug.data(), seconds.count(),
              files.out.c_str());
  return 0;
}

// lab run q=Q.npy k=K.npy v=V.npy out=O.npy [causal=0|1] [scale=x]
int run_command(std::span<char*> args) {
  constexpr std::string_view keys[] = {"q", "k", "v", "out", "causal", "scale"};
  const KeyValues values(args, keys);
  RunFiles files{values.require("q"),   values.require("k"),   values.require("v"),
                 values.require("out"), values.flag("causal"), {}};
  files.scale = values.number("scale");
  return run_files(files);
}

}  // namespace lab
