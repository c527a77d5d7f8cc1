#include "checks/acceptance/poisoned.hpp"

#include <cstdint>

#include "checks/acceptance/format.hpp"
#include "common/gpu_access.hpp"

namespace lab {
namespace {

const half* shifted(const half* tensor, std::size_t elements) {  // no object lies there: not for pointer arithmetic
  return reinterpret_cast<const half*>(reinterpret_cast<std::uintptr_t>(tensor) - elements * sizeof(half));
}

}  // namespace

void check_input(const char* name, const DeviceTensor& tensor, const std::vector<fp16>& original,
                 std::vector<Fault>& strays) {
  std::string damage;
  const bool same = tensor.holds(original, damage);
  if (!damage.empty())
    strays.push_back({Tells::stray_write, format("wrote outside its input %s, %s", name, damage.c_str())});
  if (!same) strays.push_back({Tells::changed_input, format("changed its input %s", name)});
}

AttentionArgs Poisoned::args(const Shape& shape, float scale) {
  const std::size_t halves = (stage().plan(shape).workspace + sizeof(half) - 1) / sizeof(half);
  if (halves == 0)
    workspace_.reset();
  else if (!workspace_ || workspace_->size() != halves)
    workspace_.emplace(halves, canaries_);
  const std::size_t before = shape.elements() - out_.size();
  return {shifted(q_.data(), before),
          shifted(k_.data(), before),
          shifted(v_.data(), before),
          const_cast<half*>(shifted(out_.data(), before)),
          shape,
          scale,
          test_stream(),
          workspace_ ? workspace_->data() : nullptr};
}

void Poisoned::poison(fp16 with) {
  out_.poison(with);
  if (workspace_) workspace_->poison();
}

Ran Poisoned::launch(const Shape& shape, float scale, const Launching& how) {
  set_exec_options(how.options);
  ExclusiveGpu exclusive;
  AttentionArgs args = this->args(shape, scale);
  poison(how.poison);
  cudaGetLastError();
  take_exec_report();
  poison_shared_memory();
  if (how.turned) {
    if (!turned_q_) turned_q_.emplace(inputs_.q);
    args.q = shifted(turned_q_->on_device.data(), shape.elements() - out_.size()), args.scale = -scale;
  }
  Ran ran;
  ran.returned = stage().launch(args);
  ran.last = cudaGetLastError();
  ran.finished = exclusive.synchronize(how.seconds > 0 ? how.seconds : hang_seconds(shape));
  if (ran.still_runs()) return ran;
  ran.report = take_exec_report();
  set_exec_options({});
  if (ran.finished != cudaSuccess && !can_schedule()) {  // a GPU's context is lost, and the output with it
    ran.out.assign(out_.size(), FP16_NAN);
    return ran;
  }
  std::string damage;
  ran.out = out_.download(damage);
  if (!ran.ok()) return ran;
  if (!damage.empty()) ran.strays.push_back({Tells::stray_write, "wrote outside the output, " + damage});
  if (const std::string elsewhere = launched_elsewhere(ran.report, args.stream); !elsewhere.empty())
    ran.strays.push_back({Tells::failure, elsewhere});
  if (workspace_) {
    workspace_->download(damage);
    if (!damage.empty()) ran.strays.push_back({Tells::stray_write, "wrote outside the workspace, " + damage});
  }
  check_input("q", how.turned ? turned_q_->on_device : q_, how.turned ? turned_q_->values : inputs_.q, ran.strays);
  check_input("k", k_, inputs_.k, ran.strays);
  check_input("v", v_, inputs_.v, ran.strays);
  return ran;
}

}  // namespace lab
