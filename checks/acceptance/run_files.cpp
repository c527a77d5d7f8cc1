#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "checks/acceptance/cases.hpp"
#include "checks/acceptance/format.hpp"
#include "checks/acceptance/launch.hpp"
#include "checks/bugs/hang.hpp"
#include "checks/runner/commands.hpp"
#include "common/backend.hpp"
#include "reference/npy.hpp"

namespace lab {
namespace {

// The shape of a tensor that a stage can be given.
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

}  // namespace

// run q=Q.npy k=K.npy v=V.npy [do=DO.npy] out=O.npy, or dq= dk= dv= [causal=0|1] [scale=x]
int run_command(std::span<char*> args) {
  const Subject& subject = lab::subject();
  std::vector<std::string> in(subject.inputs.begin(), subject.inputs.end()),
      out(subject.outputs.begin(), subject.outputs.end());
  if (subject.backward) in[3] = "do";
  std::vector<std::string_view> keys(in.begin(), in.end());
  keys.insert(keys.end(), out.begin(), out.end()), keys.insert(keys.end(), {"causal", "scale"});
  const KeyValues words(args, keys);
  // Everything is read and found usable before anything runs.
  std::vector<std::string> paths, results, targets;  // as they were given; where they will go, links followed
  std::vector<NpyTensor> tensors;
  for (const std::string& key : in) paths.push_back(words.require(key));
  for (const std::string& key : out) results.push_back(words.require(key));
  for (const std::string& path : paths) tensors.push_back(read_npy(path));
  Shape shape = shape_of(paths[0], tensors[0]);
  for (std::size_t i = 1; i < paths.size(); ++i)
    if (const auto& [B, H, S, D] = tensors[i].shape; tensors[i].shape != tensors[0].shape)
      throw BadInput(format("shapes disagree: q is %s, but %s is (%d,%d,%d,%d)", text(shape).c_str(), paths[i].c_str(),
                            B, H, S, D));
  for (const std::string& result : results) {
    const std::string target = std::filesystem::weakly_canonical(result);
    if (std::filesystem::exists(target) && !std::filesystem::is_regular_file(target))
      throw BadInput(result + ": cannot be written: it exists and is not a regular file");
    if (std::ranges::find(targets, target) != targets.end())
      throw BadInput(result + ": two gradients cannot be in one file");
    targets.push_back(target);
  }
  shape.causal = words.flag("causal");
  for (std::size_t i = 0; i < in.size(); ++i)
    if (const auto lost = std::ranges::count_if(tensors[i].values, [](fp16 x) { return (x.bits & 0x7C00) == 0x7C00; }))
      std::printf("note: %s holds %td NaN and infinities; they go through as attention takes them\n", in[i].c_str(),
                  lost);
  const float scale = float(words.number("scale").value_or(1.0f / std::sqrt(float(shape.D))));

  const Inputs inputs{tensors[0].values, tensors[1].values, tensors[2].values,
                      subject.backward ? tensors[3].values : std::vector<fp16>{}};
  Tensors on_device(subject, inputs);
  const auto begin = std::chrono::steady_clock::now();
  const Ran ran = on_device.launch(shape, scale);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const std::vector<Fault> faults = faults_of(ran);
  for (const Fault& fault : faults) std::fprintf(stderr, "lab: %s: %s\n", stage_name(), fault.what.c_str());
  if (ran.still_runs()) std::fprintf(stderr, "lab: %s still runs after %.1f s\n", stage_name(), seconds);
  std::string files;
  for (std::size_t i = 0; i < results.size(); ++i) files += (i ? ", " : "") + results[i];
  if (!faults.empty() || ran.still_runs()) {
    std::fprintf(stderr, "lab: %s written\n", subject.backward ? "no gradient is" : (files + " is not").c_str());
    if (ran.still_runs()) std::_Exit(HUNG);  // a destructor would wait for the kernel
    return 1;
  }
  for (std::size_t i = 0; i < results.size(); ++i) write_npy(targets[i], tensors[0].shape, ran.outputs[i]);
  const std::string_view bug = planted_bug();
  std::printf("%s: %s, scale %g, %s (%s)%s%s, %.3f s, wrote %s\n", stage_name(), text(shape).c_str(), scale,
              backend_name(), device_name().c_str(), bug.empty() ? "" : ", planted bug ", bug.data(), seconds,
              files.c_str());
  return 0;
}

}  // namespace lab
