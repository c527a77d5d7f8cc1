// Order that a kernel makes by hand: a thread writes data, passes a fence and then raises a flag by an atomic or a volatile
// store (release); another thread finds the flag raised, by an atomic or a volatile load, and passes a fence before it
// touches the data (acquire). (CUDA C++ Programming Guide, "Memory Fence Functions"; PTX ISA, "Release and Acquire Patterns".)
//
//   - A fence covers what its thread has done and has seen of others. What the fences of a block cover, any of its threads
//     that has seen it may release.
//   - A load acquires at the next fence of its thread, or at the next barrier that the thread takes part in.
//   - An atomic passes on what the atomics before it at the same word released; a volatile store does not.
//   - __threadfence_block() and atomics with _block order threads of one block alone.
// A thread that has passed no fence yet releases nothing by a volatile store, which is a plain store then.
#pragma once
#include <cuda_runtime.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lab::cpu {

class Shadow;
struct ThreadId;

// Of one block.
class HandOrder {
 public:
  explicit HandOrder(Shadow& shadow) : shadow_(shadow) {}
  void reset(std::uint32_t block, int threads);
  void fence(const ThreadId& thread, Scope scope);
  // A word has a number that says who has released what there, 0 at first. `continues`: an atomic, which passes on what
  // was there. False if the thread releases nothing.
  bool release(const ThreadId& thread, std::uint32_t& word, bool continues, Scope scope);
  void learns(const ThreadId& thread);  // from a barrier: it sees more than it did
  // A load of the word at `address`, to be an acquire with the next fence.
  bool has_loaded(const ThreadId& thread, const void* address) const;  // lately
  void load(const ThreadId& thread, const void* address, std::uint32_t& word);
  // A barrier of these lanes: it completes their loads as a fence does.
  void settle(int warp, std::uint32_t lanes);
  void block_barrier();  // all threads know what any has acquired
  // Whether `thread` is ordered after what thread `linear` of block `block` did with this stamp.
  bool ordered(const ThreadId& thread, std::uint32_t block, int linear, std::uint32_t stamp) const;
  // The end of a sentence where only a fence is missing to order it with the access to `address`; else "".
  std::string missing_fence(const void* address, std::uint32_t block, int linear, std::uint32_t stamp) const;
  std::uint32_t& shared_word(std::size_t offset);  // the number of a word in shared memory

 private:
  struct Load {
    const void* address = nullptr;
    std::uint32_t* word = nullptr;
    std::uint32_t released = 0;  // the word's number then
    bool settled = false;
  };
  struct Loads {  // a thread's last ones
    Load last[8];
    unsigned next = 0;
  };
  struct Acquired {
    int thread;  // -1: every thread knows it
    std::uint32_t stamp, released;
    Scope scope;
  };
  struct Fenced {  // a thread's fences, and what they let it release
    std::uint32_t fences = 0, learnt = 0;
    std::array<std::uint32_t, 4> version{};  // of what changes that
    std::uint32_t what = 0;
  };
  void settle(const ThreadId& thread, Scope scope);
  void acquire(const ThreadId& thread, std::uint32_t released, Scope scope);
  bool knows(const ThreadId& thread, const Acquired& acquired) const;

  Shadow& shadow_;
  std::uint32_t block_ = 0;
  int threads_ = 0;
  std::vector<std::uint32_t> covered_[2];  // by fences of each Scope, of each thread; empty before the first fence
  std::vector<Fenced> fenced_;
  std::uint32_t fences_ = 0;  // of all threads
  std::vector<Loads> loads_;
  std::vector<Acquired> acquired_;
  std::map<std::size_t, std::uint32_t> shared_words_;
};

void forget_releases();  // a launch begins

}  // namespace lab::cpu
