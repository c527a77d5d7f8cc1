// Work for all cores, its results in order.
#pragma once
#include <algorithm>
#include <atomic>
#include <future>
#include <thread>
#include <type_traits>
#include <vector>

namespace lab::desk {

inline std::size_t cores() { return std::max(1u, std::thread::hardware_concurrency()); }

// Calls make(item) of each item, at most `most` at a time and the first ones first, and take(result) of each result, in
// the order of the items and as soon as those before it are taken. An exception of make comes out where its result
// would be taken, after all other items are done. `make` must not touch what another call of it does.
template <class Item, class Make, class Take>
void side_by_side(std::size_t most, const std::vector<Item>& items, Make make, Take take) {
  using Result = std::invoke_result_t<Make, const Item&>;
  std::vector<std::promise<Result>> results(items.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < items.size(); i = next++) try {
        results[i].set_value(make(items[i]));
      } catch (...) {
        results[i].set_exception(std::current_exception());
      }
  };
  std::vector<std::jthread> workers;  // joined at the end, also where take throws
  for (std::size_t i = 0; i < std::min(most, items.size()); ++i) workers.emplace_back(work);
  for (auto& result : results) take(result.get_future().get());
}
// As many at a time as there are cores.
template <class Item, class Make, class Take>
void side_by_side(const std::vector<Item>& items, Make make, Take take) {
  side_by_side(cores(), items, make, take);
}

}  // namespace lab::desk
