// Where a kernel's NaN came from: the operations that had no result, such as -infinity minus -infinity, in the order in
// which they happened. On an x86 CPU; elsewhere nothing is seen.
#pragma once
#include <string>

namespace lab {

// While one lives, launches of one worker, and of blocks of one dimension, are watched. At most one lives.
class NoResultWatch {
 public:
  NoResultWatch();
  ~NoResultWatch();
  NoResultWatch(const NoResultWatch&) = delete;
  NoResultWatch& operator=(const NoResultWatch&) = delete;
  // "the first NaN: 0 / 0, by warp 2 lane 0 at FILE:LINE: TEXT", a line for each place in the kernel, three at most; of one warp alone,
  // if it is not negative. "" if there is none.
  static std::string text(int warp);
};

}  // namespace lab
