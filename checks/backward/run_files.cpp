// lab run of a backward stage: gradients of tensors from files.
#include "checks/acceptance/run_files.hpp"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>

#include "checks/acceptance/report.hpp"
#include "checks/backward/trial.hpp"
#include "checks/commands.hpp"

namespace lab {

// lab run q= k= v= do= dq= dk= dv= [causal=0|1] [scale=x]
int backward_run_command(std::span<char*> args) {
  constexpr std::string_view keys[] = {"q", "k", "v", "do", "dq", "dk", "dv", "causal", "scale"};
  const KeyValues values(args, keys);
  const std::string paths[] = {values.require("q"), values.require("k"), values.require("v"), values.require("do")};
  const std::string results[] = {values.require("dq"), values.require("dk"), values.require("dv")};
  const NpyTensor q = read_npy(paths[0]), k = read_npy(paths[1]), v = read_npy(paths[2]), dout = read_npy(paths[3]);
  Shape shape = shape_of(paths[0], q);
  const NpyTensor* const tensors[] = {&q, &k, &v, &dout};
  for (std::size_t i = 1; i < std::size(tensors); ++i)
    if (const auto& [B, H, S, D] = tensors[i]->shape; tensors[i]->shape != q.shape)
      throw BadInput(format("shapes disagree: q is %s, but %s is (%d,%d,%d,%d)", text(shape).c_str(), paths[i].c_str(),
                            B, H, S, D));
  std::string targets[3];
  for (int i = 0; i < 3; ++i) {
    targets[i] = writable_target(results[i]);
    for (int before = 0; before < i; ++before)
      if (targets[before] == targets[i]) throw BadInput(results[i] + ": two gradients cannot be in one file");
  }
  shape.causal = values.flag("causal");
  tell_non_finite({{"q", &q}, {"k", &k}, {"v", &v}, {"do", &dout}});
  const float scale = values.number("scale").value_or(1.0f / std::sqrt(float(shape.D)));

  const auto begin = std::chrono::steady_clock::now();
  const BackwardTrial t = run_backward(shape, scale, {{q.values, k.values, v.values}, dout.values});
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  if (!t.ok() || !t.stray.empty()) {
    std::fprintf(stderr, "lab: %s: %s; no gradient is written\n", backward_stage().name,
                 t.ok() ? t.stray.front().c_str() : t.error().c_str());
    return 1;
  }
  write_npy(targets[0], q.shape, t.dq), write_npy(targets[1], q.shape, t.dk), write_npy(targets[2], q.shape, t.dv);
  const std::string_view bug = planted_bug();
  std::printf("%s: %s, scale %g, %s (%s)%s%s, %.3f s, wrote %s, %s, %s\n", backward_stage().name, text(shape).c_str(),
              scale, backend_name(), device_name().c_str(), bug.empty() ? "" : ", planted bug ", bug.data(),
              seconds.count(), results[0].c_str(), results[1].c_str(), results[2].c_str());
  return 0;
}

}  // namespace lab
