#include "common/emulator/cluster.hpp"

#include <algorithm>

#include "common/emulator/switch.hpp"

namespace lab::cpu {

Cluster::Cluster(const ExecOptions& options, int size) : options_(options) {
  for (int rank = 0; rank < size; ++rank) {
    blocks_.push_back(std::make_unique<Block>(options));
    shadows_.push_back(&blocks_.back()->shadow());
  }
}

// --- scheduling -------------------------------------------------------------------------------------------------

bool Cluster::interleaves() const {
  return size() > 1 && (options_.schedule == Schedule::round_robin || options_.schedule == Schedule::random);
}

bool Cluster::lets_another_go_on() {
  constexpr int TURN = 32;  // calls
  if (options_.schedule == Schedule::random) return dice(random_, 16);
  if (++calls_ < TURN) return false;
  calls_ = 0;
  return true;
}

Block* Cluster::next() {
  std::uint32_t able = 0;
  for (int rank = 0; rank < size(); ++rank)
    if (!block(rank).over() && block(rank).can_go_on()) able |= 1u << rank;
  if (!able) return nullptr;
  switch (options_.schedule) {
    case Schedule::ascending:
    case Schedule::leaders:
      turn_ = __builtin_ctz(able);
      break;
    case Schedule::descending:
      turn_ = 31 - __builtin_clz(able);
      break;
    case Schedule::round_robin: {
      const std::uint32_t later = able & ~((2u << turn_) - 1u);
      turn_ = __builtin_ctz(later ? later : able);
      break;
    }
    case Schedule::random:
      turn_ = set_bit_from(able, unsigned(next_random(random_) >> 32));
      break;
  }
  return &block(turn_);
}

cudaError_t Cluster::run(const LaunchConfig& config, const std::function<void()>& thread,
                         const std::vector<std::uint32_t>& linear) {
  message_.clear();
  turn_ = size() - 1, calls_ = 0;
  arrived_ = 0, phase_ = 0;
  given_.clear(), completed_.clear();
  random_ = (options_.seed * 0xA24BAED4963EE407ull) ^ ((linear[0] + 1ull) * 0x9FB21C651E98DF25ull);
  if (!random_) random_ = 1;
  for (int rank = 0; rank < size(); ++rank) block(rank).prepare(config, thread, linear[rank]);
  for (int rank = 0; rank < size(); ++rank) block(rank).join_cluster(*this, rank);
  if (options_.check)
    for (int rank = 0; rank < size(); ++rank) shadows_[rank]->join_cluster(shadows_, rank);
  while (live() > 0) {
    Block* runs = next();
    if (!runs) {
      bool answered = false;
      for (const auto& block : blocks_)
        if (!block->over() && block->answer_polls()) answered = true;
      if (answered) continue;
      runs = std::ranges::find_if(blocks_, [](const auto& block) { return !block->over(); })->get();
      runs->doom();
    }
    runs->step();
    if (runs->failed() || runs->gave_up()) break;
  }
  for (const auto& block : blocks_)
    if (const cudaError_t error = block->failed() || live() == 0 ? block->finish() : cudaSuccess;
        error != cudaSuccess) {
      message_ = block->message(), hang_ = block->hang();
      return error;
    }
  return cudaSuccess;
}

std::string Cluster::standing(Hang& hang) const {
  std::string text;
  for (std::size_t rank = 0; rank < blocks_.size(); ++rank)
    text += joined(" Block ", rank, " of the cluster:",
                   blocks_[rank]->over() ? " all its threads have returned." : blocks_[rank]->standing(hang));
  return text;
}

int Cluster::live() const {
  int threads = 0;
  for (const auto& block : blocks_) threads += block->live();
  return threads;
}

// --- the cluster's barrier ----------------------------------------------------------------------------------------

// .aligned: all lanes of a warp that have not returned make the call together.
static void meet_warp(Block& block, const Collective& kind, std::uintptr_t pc) {
  block.meet(
      kind, ~block.own_warp().exited, [](Block&, Warp&, std::uint32_t) {}, pc);
}

void Cluster::arrive(Block& block, bool release, std::uintptr_t pc) {
  meet_warp(block, collective::cluster_arrive, pc);
  Fiber& fiber = block.self();
  if (fiber.cluster_arrivals != fiber.cluster_waits)
    block.fail(Finding::Kind::cluster, pc,
               "barrier.cluster.arrive by a thread that has arrived and not waited (barrier.cluster.wait) yet");
  block.tell(ExecEvent::Kind::cluster_arrive, 0, 0, pc);
  block.progressed();
  if (block.checking()) {
    const ThreadId thread = block.thread_id();
    if (release)
      block.shadow().release_outside(thread, given_);
    else
      block.shadow().say_started(thread, block.mbarriers().fenced_by(thread), given_);
  }
  ++fiber.cluster_arrivals;
  if (++arrived_ == live()) complete();
}

void Cluster::complete() {
  arrived_ = 0;
  ++phase_;
  std::swap(given_, completed_);
  given_.clear();
  each_block([](Block& block) {
    block.progressed();
    block.wake_all(Wait::At::cluster_barrier);
  });
}

void Cluster::wait(Block& block, std::uintptr_t pc) {
  meet_warp(block, collective::cluster_wait, pc);
  Fiber& fiber = block.self();
  if (fiber.cluster_arrivals == fiber.cluster_waits)
    block.fail(Finding::Kind::cluster, pc,
               "barrier.cluster.wait by a thread that has not arrived (barrier.cluster.arrive)");
  if (phase_ == fiber.cluster_waits) block.park(pc, Wait::At::cluster_barrier);
  ++fiber.cluster_waits;
  block.tell(ExecEvent::Kind::cluster_pass, 0, 0, pc);
  if (block.checking()) block.shadow().acquire(block.thread_id(), completed_);
}

void Cluster::thread_left(const Fiber& fiber) {
  if (fiber.cluster_arrivals > phase_) --arrived_;  // in the phase under way: it is counted with those that left
  if (arrived_ > 0 && arrived_ == live()) complete();
}

// --- which blocks -------------------------------------------------------------------------------------------------

std::vector<std::uint32_t> blocks_of_cluster(const LaunchConfig& config, std::uint32_t cluster) {
  const dim3 g = config.grid, c = config.cluster;
  const std::uint32_t across = g.x / c.x, down = g.y / c.y;
  const std::uint32_t x = cluster % across * c.x, y = cluster / across % down * c.y,
                      z = cluster / (across * down) * c.z;
  std::vector<std::uint32_t> blocks;
  for (std::uint32_t k = 0; k < c.z; ++k)
    for (std::uint32_t j = 0; j < c.y; ++j)
      for (std::uint32_t i = 0; i < c.x; ++i) blocks.push_back(x + i + g.x * (y + j + g.y * (z + k)));
  return blocks;
}

std::uint32_t cluster_of_block(const LaunchConfig& config, std::uint32_t linear) {
  const dim3 g = config.grid, c = config.cluster;
  const std::uint32_t x = linear % g.x / c.x, y = linear / g.x % g.y / c.y, z = linear / (g.x * g.y) / c.z;
  return x + g.x / c.x * (y + g.y / c.y * z);
}

}  // namespace lab::cpu
