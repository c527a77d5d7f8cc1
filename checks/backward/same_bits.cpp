#include "checks/backward/same_bits.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "checks/acceptance/report.hpp"
#include "checks/acceptance/whole_file.hpp"
#include "checks/backward/trial.hpp"
#include "checks/runner/commands.hpp"
#include "common/conf.hpp"
#include "reference/attention.hpp"

namespace lab {
namespace {

// Several tiles of queries and of keys, ragged ones among them.
constexpr Shape ORDER_SHAPES[] = {{1, 1, 300, 64, false}, {1, 2, 129, 64, true}, {1, 1, 130, 128, true}};

}  // namespace

bool claims_same_bits() {
  const std::string path = std::string("stages/") + backward_stage().name + "/stage.conf";
  const std::string claim = parse_conf(read_whole(path), path)["same_bits"];
  if (claim != "yes" && claim != "no") throw BadInput(path + ": same_bits=" + claim + ": must be yes or no");
  return claim == "yes";
}

SameBits count_outputs(const Shape& shape, std::size_t launches) {
  const BackwardInputs in = make_backward_inputs(Family::unit, shape, 1);
  SameBits result{shape};
  std::vector<BackwardTrial> trials;
  for (std::size_t i = 0; i < launches; ++i) {
    ExecOptions options;
    options.block_order = i, options.schedule = i % 2 ? Schedule::round_robin : Schedule::ascending;
    trials.push_back(run_backward(shape, float(default_scale(shape.D)), in, options));
    if (!trials.back().ok()) throw std::runtime_error(trials.back().error());
  }
  result.launches = launches;
  const auto different = [&](auto same) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < launches; ++i)
      count += std::none_of(trials.begin(), trials.begin() + std::ptrdiff_t(i),
                            [&](const BackwardTrial& before) { return same(before, trials[i]); });
    return count;
  };
  using T = const BackwardTrial&;
  result.outputs = different([](T a, T b) { return a.same_bits(b); });
  result.dq = different([](T a, T b) { return a.dq == b.dq; });
  result.dk = different([](T a, T b) { return a.dk == b.dk; });
  result.dv = different([](T a, T b) { return a.dv == b.dv; });
  for (const BackwardTrial& t : trials)
    for (const auto gradient : {&BackwardTrial::dq, &BackwardTrial::dk, &BackwardTrial::dv})
      for (std::size_t i = 0; i < (t.*gradient).size(); ++i)
        result.spread =
            std::max(result.spread, double(std::abs(to_float((t.*gradient)[i]) - to_float((trials[0].*gradient)[i]))));
  return result;
}

bool holds_its_claim(std::size_t launches) {
  const bool claim = claims_same_bits();
  bool same = true;
  for (const Shape& shape : ORDER_SHAPES) {
    const SameBits seen = count_outputs(shape, launches);
    same &= seen.same();
    std::printf("%-22s %zu %s: %zu different output%s (dq %zu, dk %zu, dv %zu)", text(shape).c_str(), seen.launches,
                can_schedule() ? "orders of blocks" : "launches", seen.outputs, seen.outputs == 1 ? "" : "s", seen.dq,
                seen.dk, seen.dv);
    if (!seen.same()) std::printf(", an element differs by up to %.2g", seen.spread);
    std::printf("\n");
  }
  const char* says = claim ? "yes" : "no";
  // A GPU may run blocks in one order by chance.
  const bool hidden = !claim && same && !can_schedule();
  std::printf("stage.conf says same_bits=\"%s\": %s\n", says,
              same == claim ? "held"
              : hidden      ? "no difference on this GPU"
                            : "RED, it is not so");
  std::fflush(stdout);
  return same == claim || hidden;
}

// lab same-bits [orders=N]
int same_bits_command(std::span<char*> args) {
  constexpr std::string_view keys[] = {"orders"};
  const std::uint64_t orders = KeyValues(args, keys).whole("orders", 1000);
  if (orders == 1) throw BadInput("orders=1: one order has nothing to differ from");
  return holds_its_claim(orders ? orders : SAME_BITS_LAUNCHES) ? 0 : 1;
}

}  // namespace lab
