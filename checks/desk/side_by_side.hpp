// Work for all cores, its results in order.
#pragma once
#include <algorithm>
#include <future>
#include <semaphore>
#include <thread>
#include <type_traits>
#include <vector>

namespace lab::desk {

// Calls make(item) of each item, as many at a time as there are cores, and take(result) of each result, in the order of
// the items and as soon as those before it are taken. An exception of make comes out where its result would be taken,
// after all that has begun is over. `make` must not touch what another call of it does.
template <class Item, class Make, class Take>
void side_by_side(const std::vector<Item>& items, Make make, Take take) {
  std::counting_semaphore<> cores(std::max(1, int(std::thread::hardware_concurrency())));
  std::vector<std::future<std::invoke_result_t<Make, const Item&>>> results;
  for (const Item& item : items)
    results.push_back(std::async(std::launch::async, [&cores, &make, &item] {
      struct Core {
        std::counting_semaphore<>& of;
        explicit Core(std::counting_semaphore<>& s) : of(s) { of.acquire(); }
        ~Core() { of.release(); }
      } const core(cores);
      return make(item);
    }));
  for (auto& result : results) take(result.get());
}

}  // namespace lab::desk
