#include "common/emulator/overlap.hpp"

#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>

#include "common/overlap.hpp"

namespace lab {
namespace {

class Turns {
 public:
  Turns(std::size_t calls, std::uint64_t seed) : runs_(calls, true), random_(seed) {}
  void wait_for(std::size_t call) {
    std::unique_lock guard(lock_);
    changed_.wait(guard, [&] { return turn_ == call; });
  }
  void hand_on(std::size_t call) {
    choose();
    wait_for(call);
  }
  void leave(std::size_t call) {
    runs_[call] = false;
    choose();
  }

 private:
  void choose() {  // by the one whose turn it is
    std::vector<std::size_t> running;
    for (std::size_t i = 0; i < runs_.size(); ++i)
      if (runs_[i]) running.push_back(i);
    if (running.empty()) return;
    const std::lock_guard guard(lock_);
    turn_ = running[random_() % running.size()];
    changed_.notify_all();
  }

  std::vector<bool> runs_;
  std::mt19937_64 random_;
  std::mutex lock_;
  std::condition_variable changed_;
  std::size_t turn_ = 0;
};

Turns* turns = nullptr;
thread_local int own_call = -1;

}  // namespace

int cpu::overlapping_call() { return own_call; }
void cpu::join_overlapping_call(int call) { own_call = call; }
void cpu::before_block() {
  if (own_call >= 0) turns->hand_on(std::size_t(own_call));
}

cudaError_t start_overlapping(const std::vector<StreamCall>& calls, Overlap, std::uint64_t seed,
                              const std::function<void()>& ready) {
  ready();
  Turns all(calls.size(), seed);
  turns = &all;
  std::vector<cudaError_t> errors(calls.size(), cudaSuccess);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < calls.size(); ++i)
    threads.emplace_back([&, i] {
      cpu::join_overlapping_call(int(i));
      all.wait_for(i);
      cudaStream_t stream = nullptr;
      errors[i] = cudaStreamCreate(&stream);
      if (errors[i] == cudaSuccess) errors[i] = calls[i](stream);
      cudaStreamDestroy(stream);
      all.leave(i);
    });
  for (std::thread& thread : threads) thread.join();
  turns = nullptr;
  for (const cudaError_t error : errors)
    if (error != cudaSuccess) return error;
  return cudaSuccess;
}

}  // namespace lab
