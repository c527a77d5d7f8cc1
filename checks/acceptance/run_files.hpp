// `lab run`: attention, or its gradients, of tensors from files, with the linked stage.
#pragma once
#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "checks/key_values.hpp"
#include "common/shape.hpp"
#include "reference/npy.hpp"

namespace lab {

// The files of a call, read and found usable before anything runs. Throws BadInput for files and shapes that can't be
// used.
class FilesRun {
 public:
  // `in` and `out` are keys of the words, beside causal= and scale=. A note is printed for each input with NaN or
  // infinities: they are legal, and what comes out is written as it comes.
  FilesRun(std::span<char*> args, const std::vector<std::string>& in, const std::vector<std::string>& out);
  const std::vector<fp16>& input(std::size_t i) const { return inputs_[i].values; }
  const std::string& result(std::size_t i) const { return results_[i]; }
  const Shape& shape() const { return shape_; }
  float scale() const { return scale_; }
  // After a good launch: writes the results whole, says so, and returns the exit status.
  int write(const std::vector<std::vector<fp16>>& results) const;
  void start() { begin_ = std::chrono::steady_clock::now(); }  // of what write() says the time of
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }

 private:
  std::vector<std::string> results_, targets_;  // as they were given; where they will go, links followed
  std::vector<NpyTensor> inputs_;
  Shape shape_;
  float scale_ = 0;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace lab
