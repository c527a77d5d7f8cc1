// The blocks of a launch that have begun and not ended, each on an OS thread of its own. As many run at once as the
// launch has workers. One that spins on a word (spin.cpp) gives its turn to the first in the queue
// that can go on, or to a block that has not begun: on a GPU with room for the whole grid all would be there.
#pragma once
#include <functional>
#include <list>
#include <mutex>
#include <semaphore>

namespace lab::cpu {

class Residents {
 public:
  enum class Outcome { ready, deadlock, another_failed };

  // A launch begins, with `at_once` OS threads. start() begins one more, which takes the next block; false: all have begun.
  void begin(int at_once, std::function<bool()> start);
  // By a running thread: others may run until ready(), which other threads call, too. With no `ready` all that can go on
  // do so first; of several that wait so, the last is the first to return.
  Outcome wait(std::function<bool()> ready);
  // A thread has no block left.
  void leave();
  // A block has failed: those that wait for it give up.
  void fail();

 private:
  struct Waiting {
    std::function<bool()> ready;
    std::binary_semaphore called{0};  // its own: the others sleep on
    Outcome outcome = Outcome::ready;
  };
  void call_next();  // while there is a turn to give
  void call(Waiting* waiting, Outcome outcome);
  void call_all(Outcome outcome);

  std::mutex lock_;
  std::list<Waiting*> queue_;
  std::function<bool()> start_;
  int at_once_ = 1, running_ = 0;
  bool failed_ = false;
};

Residents& residents();

}  // namespace lab::cpu
