#include "checks/acceptance/same_bits.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <string_view>

#include "checks/acceptance/backward_bound.hpp"
#include "checks/acceptance/cases.hpp"
#include "checks/acceptance/format.hpp"
#include "checks/acceptance/launch.hpp"
#include "checks/runner/commands.hpp"
#include "reference/attention.hpp"

namespace lab {
namespace {

// Several tiles of queries and of keys, ragged ones among them.
constexpr Shape ORDER_SHAPES[] = {{1, 1, 300, 64, false}, {1, 2, 129, 64, true}, {1, 1, 130, 128, true}};

}  // namespace

SameBits count_outputs(const Subject& subject, const Shape& shape) {
  constexpr std::size_t launches = 6;
  const Inputs in = make_backward_inputs(Family::unit, shape, 1);
  Tensors tensors(subject, in);
  std::vector<std::vector<std::vector<fp16>>> all;  // by launch and output
  for (std::size_t i = 0; i < launches; ++i) {
    Launching how;
    how.options.block_order = i, how.options.schedule = i % 2 ? Schedule::round_robin : Schedule::ascending;
    how.options.workers = 1;
    const Ran ran = tensors.launch(shape, float(default_scale(shape.D)), how);
    if (!ran.ok()) throw std::runtime_error(ran.error());
    all.push_back(ran.outputs);
  }
  const auto different = [&](auto part) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < launches; ++i)
      count += std::none_of(all.begin(), all.begin() + std::ptrdiff_t(i),
                            [&](const auto& before) { return part(before) == part(all[i]); });
    return count;
  };
  SameBits result{shape, launches, different([](const auto& outputs) { return outputs; }), {}};
  for (std::size_t o = 0; o < all[0].size(); ++o) {
    result.each.push_back(different([o](const auto& outputs) { return outputs[o]; }));
    for (const auto& outputs : all)
      for (std::size_t i = 0; i < outputs[o].size(); ++i)
        result.spread = std::max(result.spread, double(std::abs(to_float(outputs[o][i]) - to_float(all[0][o][i]))));
  }
  return result;
}

OrderOfBlocks order_of_blocks(const Subject& subject) {
  bool same = true;
  OrderOfBlocks seen;
  for (const Shape& shape : ORDER_SHAPES) {
    const SameBits s = count_outputs(subject, shape);
    same &= s.outputs == 1;
    std::string each;
    for (std::size_t i = 0; i < s.each.size(); ++i)
      each += format("%s%s %zu", each.empty() ? "" : ", ", subject.outputs[i], s.each[i]);
    seen.lines +=
        format("\n%-22s %zu %s: %zu different output%s (%s)", text(shape).c_str(), s.launches,
               can_schedule() ? "orders of blocks" : "launches", s.outputs, s.outputs == 1 ? "" : "s", each.c_str());
    if (s.outputs > 1) seen.lines += format(", an element differs by up to %.2g", s.spread);
  }
  // A GPU may run blocks in one order by chance.
  const bool hidden = !subject.same_bits && same && !can_schedule();
  const std::string claim = format("stage.conf says same_bits=\"%s\": ", subject.same_bits ? "yes" : "no");
  const bool held = same == subject.same_bits || hidden;
  seen.lines += "\n" + claim + (hidden ? "no difference on this GPU" : held ? "held" : "RED, it is not so");
  if (!held) seen.red = {claim + "it is not so"};
  return seen;
}

int same_bits_command(std::span<char*> args) {
  KeyValues(args, {});
  const auto [lines, red] = order_of_blocks(subject());
  std::printf("%s\n", lines.substr(1).c_str());
  return red.empty() ? 0 : 1;
}

}  // namespace lab
