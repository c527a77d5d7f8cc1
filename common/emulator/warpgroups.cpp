#include "common/emulator/warpgroups.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "common/emulator/block.hpp"
#include "common/emulator/spare.hpp"
#include "common/emulator/switch.hpp"
#include "common/emulator/unwritten.hpp"
#include "common/mma_layout.hpp"

namespace lab::cpu {
namespace {

constexpr int TILE = 8;  // columns of D in one mma_tile

// Bits of a NaN: what D holds while a product may still write it.
constexpr unsigned char IN_FLIGHT = 0xFF;

Spare<std::vector<RegisterWatch>> spare_watches;  // of a warp each

}  // namespace

Warpgroups::~Warpgroups() {
  for (WarpProducts& warp : warps_)
    if (!warp.watch.empty()) spare_watches.give(std::move(warp.watch));
}

std::string spelt(std::uint64_t descriptor) {
  const wgmma_layout::Matrix m(descriptor);
  return joined("descriptor 0x", std::hex, descriptor, " (address 0x", m.address, std::dec, ", leading ", m.leading,
                ", stride ", m.stride, ", base offset ", m.base_offset, ", swizzle ", m.swizzle, ")");
}

void Warpgroups::reset(std::uint64_t seed) {
  dice_ = seed | 1;
  for (WarpProducts& warp : warps_) {
    warp.open.clear();
    warp.executed = 0, warp.committed = 0;
    warp.fenced = false;
    for (const auto& accumulator : warp.accumulators) accumulator->products = 0;
  }
  groups_.fill({});
  free_.clear();
  for (const auto& product : products_) free_.push_back(product.get());
  in_flight_ = 0, watched_ = 0;
}

const std::byte* Warpgroups::window() const {
  return block_.shared().base() + SharedMemory::DYNAMIC - SharedMemory::WINDOW_START;
}

const WgmmaCall& Warpgroups::call_of(int warp, int lane) const {
  return *static_cast<const WgmmaCall*>(block_.warp(warp).payload[lane]);
}

std::string Warpgroups::waits_for(int warp) const {
  std::string text;
  const int first = warp / WARPS * WARPS;
  int missing = 0;
  for (int w = first; w < first + WARPS; ++w)
    if (!(groups_[warp / WARPS].arrived >> (w - first) & 1)) text += (missing++ ? "," : "") + std::to_string(w);
  return (missing == 1 ? "warp " : "warps ") + text + " of the warpgroup";
}

// --- issue ----------------------------------------------------------------------------------------------------

void Warpgroups::arrive() {
  const int warp = block_.self().warp, first = warp / WARPS * WARPS;
  const WgmmaCall& own = call_of(warp, block_.self().lane);
  const auto refuse = [&](const auto&... what) {
    block_.fail(Finding::Kind::collective, own.pc, "wgmma.mma_async: ", what...);
  };
  const auto differs = [&](const WgmmaCall& other) -> std::string {
    if (other.n != own.n) return joined("N = ", other.n, " and ", own.n);
    if (other.a_mn_major != own.a_mn_major) return "A with m innermost and with k innermost";
    if (other.b_mn_major != own.b_mn_major) return "B with n innermost and with k innermost";
    if (other.accumulate != own.accumulate) return "scale-D 0 and 1";
    if (!other.a_registers != !own.a_registers) return "A from registers and from shared memory";
    if (other.a_descriptor != own.a_descriptor)
      return "A by " + spelt(other.a_descriptor) + " and by " + spelt(own.a_descriptor);
    if (other.b_descriptor != own.b_descriptor)
      return "B by " + spelt(other.b_descriptor) + " and by " + spelt(own.b_descriptor);
    return "";
  };
  for (int lane = 0; lane < LANES; ++lane)
    if (const std::string what = differs(call_of(warp, lane)); !what.empty())
      refuse("lanes ", lane, " and ", block_.self().lane, " of a warp ask for different products: ", what);
  Group& group = groups_[warp / WARPS];
  for (int w = first; w < first + WARPS; ++w) {
    if (!(group.arrived >> (w - first) & 1)) continue;
    if (const std::string what = differs(call_of(w, 0)); !what.empty())
      refuse("warp ", w, " and warp ", warp, " of a warpgroup ask for different products: ", what);
    const auto committed = [&](int of) { return warps_[of].committed; };
    if (committed(w) != committed(warp))
      refuse("warp ", w, " has committed ", committed(w), " groups and warp ", warp, ", of the same warpgroup, ",
             committed(warp));
  }
  group.arrived |= 1u << (warp - first);
  if (group.arrived != (1u << WARPS) - 1) return;
  issue(first);
  group.arrived = 0;
  ++group.issued;
  block_.progressed();
  block_.wake_all(Wait::At::products, warp / WARPS);
}

void Warpgroups::issue(int first_warp) {
  if (free_.empty()) {
    products_.push_back(std::make_unique<Product>());
    free_.push_back(products_.back().get());
  }
  Product& product = *free_.back();
  free_.pop_back();
  product.call = call_of(first_warp, 0);
  product.warps_left = WARPS;
  if (!product.call.a_registers)
    find_chunks(wgmma_layout::Matrix(product.call.a_descriptor), product.call.a_mn_major, wgmma_layout::M,
                product.a_chunks);
  product.b.find(wgmma_layout::Matrix(product.call.b_descriptor), product.call.b_mn_major, product.call.n);
  check_addresses(product);
  if (block_.checking()) tell_checker(product, first_warp);
  if (block_.counting()) count(product.call, first_warp);
  for (int i = 0; i < WARPS; ++i) join(product, first_warp + i);
}

// B is read once for all four warps; A, from shared memory, by each its 16 rows.
void Warpgroups::count(const WgmmaCall& call, int first_warp) {
  constexpr std::uint64_t K = 16, ROWS = 16, WAVEFRONT = 128;
  Tally tally;
  for (int i = 0; i < WARPS; ++i) {
    tally.instructions = 1, tally.lanes = LANES, tally.multiplies = ROWS * K * std::uint64_t(call.n);
    tally.bytes = sizeof(half) * K * ((i == 0 ? std::uint64_t(call.n) : 0) + (call.a_registers ? 0 : ROWS));
    tally.wavefronts = tally.least = tally.unavoidable = tally.bytes / WAVEFRONT;
    block_.counting()->instruction(Counted::wgmma, first_warp + i, call.pc, tally);
  }
}

// A product may read its operands from here on, so this is the time to find out that it cannot.
void Warpgroups::check_addresses(const Product& product) {
  const std::size_t begin = SharedMemory::WINDOW_START, end = block_.shared().window_end();
  const auto check = [&](const char* side, std::uint64_t descriptor, const auto& chunks) {
    for (const std::uint32_t address : chunks)
      if (address < begin || address + CHUNK > end)
        block_.fail(Finding::Kind::out_of_bounds, product.call.pc, "wgmma.mma_async: ", side, ", by ",
                    spelt(descriptor), ", reads shared address 0x", std::hex, address,
                    "; the block's shared memory is 0x", begin, " to 0x", end);
  };
  if (!product.call.a_registers) check("A", product.call.a_descriptor, product.a_chunks);
  check("B", product.call.b_descriptor, product.b.chunks());
}

// A and B are read on behalf of all four warps. (PTX ISA, "Matrix-Multiply-Accumulate Operation using wgmma": the
// warpgroup performs the product. It says which warp has which rows of D, and not which warp reads which rows of A.)
void Warpgroups::tell_checker(Product& product, int first_warp) {
  const ThreadId thread{std::uint16_t(first_warp * LANES), std::uint8_t(first_warp), 0};
  const auto read = [&](std::vector<std::uint32_t> chunks) {
    std::sort(chunks.begin(), chunks.end());
    chunks.erase(std::unique(chunks.begin(), chunks.end()), chunks.end());
    for (std::size_t i = 0, next; i < chunks.size(); i = next) {
      for (next = i + 1; next < chunks.size() && chunks[next] == chunks[next - 1] + CHUNK;) ++next;
      product.reading = block_.shadow().async_read_issued(block_.shared().offset_of_window(chunks[i]),
                                                          (next - i) * CHUNK, thread, product.call.pc, WARPS);
    }
  };
  if (!product.call.a_registers) read(product.a_chunks);
  read(product.b.chunks());
}

void Warpgroups::join(Product& product, int warp) {
  WarpProducts& own = warps_[warp];
  const WgmmaCall& call = product.call;
  Part& part = product.parts[warp % WARPS];
  part = {.of = &product, .group = own.committed};
  for (int lane = 0; lane < LANES; ++lane) {
    part.d_lanes[lane] = call_of(warp, lane).d, part.a[lane] = call_of(warp, lane).a_registers;
    if (!call.a_registers || !block_.checking()) continue;
    std::memcpy(part.a_issued[lane].data(), part.a[lane], sizeof part.a_issued[lane]);
    check_written(block_, warp, lane, "A", part.a[lane], 4, call.pc);
  }
  if (block_.checking()) check_registers(call, warp);
  part.d = &accumulator_of(warp, call);
  own.open.push_back(&part);
  block_.tell_of({std::uint16_t(warp * LANES), std::uint8_t(warp), 0}, ExecEvent::Kind::wgmma_issue,
                 block_.shared().offset_of_window(wgmma_layout::Matrix(call.b_descriptor).address), std::size_t(call.n),
                 call.pc);
  if (block_.checking()) watch_registers(part, warp, true);
  ++in_flight_;
  if (block_.products() == Copies::at_issue) execute_all(warp);
  if (may_happen()) block_.interrupt();
}

// D's registers, moved to where products work on them; they stay there until none is left to be executed.
Warpgroups::Accumulator& Warpgroups::accumulator_of(int warp, const WgmmaCall& call) {
  WarpProducts& own = warps_[warp];
  float* const begin = call_of(warp, 0).d;
  const auto overlapping = [&](const auto& known) {
    return known->products > 0 && known->d[0] < begin + call.n / 2 && begin < known->d[0] + known->n / 2;
  };
  for (const auto& known : own.accumulators)
    if (known->products > 0 && known->d[0] == begin && known->n == call.n) {
      ++known->products;
      return *known;
    }
  if (std::any_of(own.accumulators.begin(), own.accumulators.end(), overlapping)) execute_all(warp);
  auto unused = std::find_if(own.accumulators.begin(), own.accumulators.end(),
                             [](const auto& known) { return known->products == 0; });
  if (unused == own.accumulators.end()) unused = own.accumulators.insert(unused, std::make_unique<Accumulator>());
  Accumulator& to = **unused;
  to.products = 1, to.n = call.n;
  for (int lane = 0; lane < LANES; ++lane) {
    float* const from = to.d[lane] = call_of(warp, lane).d;
    if (call.accumulate && block_.checking()) check_written(block_, warp, lane, "D", from, call.n / 2, call.pc);
    const mma_layout::Place at = mma_layout::c(lane, 0);
    for (int tile = 0; call.accumulate && tile < call.n / TILE; ++tile) {
      std::memcpy(&to.tile[tile][at.row][at.column], from + 4 * tile, 2 * sizeof(float));
      std::memcpy(&to.tile[tile][at.row + 8][at.column], from + 4 * tile + 2, 2 * sizeof(float));
    }
    if (block_.products() != Copies::at_issue) std::memset(from, IN_FLIGHT, sizeof(float) * std::size_t(call.n / 2));
  }
  return to;
}

// --- the rules of the registers, for the checker ----------------------------------------------------------------

void Warpgroups::start_watching(int warp) {
  if (watches(warp)) return;
  watched_ |= 1u << warp;
  WarpProducts& own = warps_[warp];
  if (own.watch.empty()) own.watch = spare_watches.take();
  own.watch.resize(LANES);
  for (int lane = 0; lane < LANES; ++lane) {
    const Fiber& fiber = block_.fiber(warp * LANES + lane);
    own.watch[lane].reset(fiber.stack, fiber.stack_bytes);
  }
}

// A product must come after a fence that comes after every access to its registers, other than by products of its
// shape.
void Warpgroups::check_registers(const WgmmaCall& call, int warp) {
  WarpProducts& own = warps_[warp];
  const auto missing = [&](const RawAccess& first, int lane, const std::string& where, const char* what) {
    block_.report(Finding::Kind::fence_missing, first, {call.pc, warp, lane, true}, what, where);
  };
  start_watching(warp);
  if (!own.fenced) return missing({}, 0, "", "no wgmma_fence before the warp's first product");
  for (int lane = 0; lane < LANES; ++lane) {
    const RegisterWatch& watch = own.watch[lane];
    const WgmmaCall& of_lane = call_of(warp, lane);
    if (const std::uintptr_t pc = watch.touched(of_lane.d, std::size_t(call.n / 2)))
      return missing({pc, warp, lane, false}, lane, "D", "no wgmma_fence between this access to D and the product");
    if (!call.a_registers) continue;
    if (const std::uintptr_t pc = watch.touched(of_lane.a_registers, 4))
      return missing({pc, warp, lane, true}, lane, "A", "no wgmma_fence between this access to A and the product");
  }
  const float* const begin = call_of(warp, 0).d;
  for (const Part* other : own.open) {
    const WgmmaCall& its = other->of->call;
    const float* const from = other->d->d[0];
    const bool overlap = from < begin + call.n / 2 && begin < from + its.n / 2;
    if (overlap && (from != begin || its.n != call.n) && !other->fenced)
      return missing({its.pc, warp, 0, true}, 0, "D",
                     "no wgmma_fence between two products of different shape on the same registers");
  }
}

void Warpgroups::watch_registers(const Part& part, int warp, bool issued) {
  const auto change = issued ? &RegisterWatch::issued : &RegisterWatch::done;
  for (int lane = 0; lane < LANES; ++lane) {
    RegisterWatch& watch = warps_[warp].watch[lane];
    (watch.*change)(part.d_lanes[lane], std::size_t(part.of->call.n / 2), true);
    if (part.of->call.a_registers) (watch.*change)(part.a[lane], 4, false);
  }
}

void Warpgroups::touched(const void* address, std::size_t bytes, bool write, std::uintptr_t pc) {
  const Fiber& fiber = block_.self();
  WarpProducts& own = warps_[fiber.warp];
  const RegisterWatch::Hit hit = own.watch[fiber.lane].access(address, bytes, pc);
  if (hit != RegisterWatch::Hit::none) [[unlikely]]
    touched_in_flight(hit, address, bytes, write, pc);
}

void Warpgroups::touched_in_flight(RegisterWatch::Hit hit, const void* address, std::size_t bytes, bool write,
                                   std::uintptr_t pc) {
  const Fiber& fiber = block_.self();
  WarpProducts& own = warps_[fiber.warp];
  const bool is_d = hit == RegisterWatch::Hit::d;
  const auto* const at = static_cast<const std::byte*>(address);
  for (Part* const part : own.open) {
    const void* const registers = is_d ? static_cast<const void*>(part->d_lanes[fiber.lane]) : part->a[fiber.lane];
    const auto* const begin = static_cast<const std::byte*>(registers);
    const WgmmaCall& call = part->of->call;
    if (!begin || at + bytes <= begin || at >= begin + (is_d ? call.n * 2 : 16)) continue;
    if (write && !is_d) part->a_told = true;
    block_.report(
        write ? Finding::Kind::changed_before_wait : Finding::Kind::read_before_wait,
        {call.pc, fiber.warp, fiber.lane, is_d}, {pc, fiber.warp, fiber.lane, write},
        [&] {
          return joined("a wgmma that no thread has waited for may still ", is_d ? "write" : "read", " this register",
                        part->passed_over ? ": the wait came before its group was committed" : "");
        },
        joined(is_d ? "D[" : "A[", std::max<std::ptrdiff_t>(at - begin, 0) / 4, "]"));
    return;
  }
}

// No instrumented access need have changed A: a library function is not watched, and its frame may lie where an array
// was whose scope has ended.
void Warpgroups::check_a_unchanged(const Part& part, int warp) {
  const WgmmaCall& call = part.of->call;
  if (!call.a_registers || part.a_told) return;
  for (int lane = 0; lane < LANES; ++lane)
    for (int e = 0; e < 4; ++e) {
      if (part.a[lane][e] == part.a_issued[lane][e]) continue;
      block_.report(
          Finding::Kind::changed_before_wait, {}, {call.pc, warp, lane},
          "this register of the product does not hold what it held at the issue: code that is not watched has "
          "written to its place before the wait",
          joined("A[", e, "]"));
      return;
    }
}

// --- execution ------------------------------------------------------------------------------------------------

void Warpgroups::execute_next(int warp) {
  WarpProducts& own = warps_[warp];
  const Part& part = *own.open[own.executed++];
  Product& product = *part.of;
  const int i = warp % WARPS;
  --in_flight_;
  std::uint16_t bits[16][16];
  if (product.call.a_registers) {
    for (int lane = 0; lane < LANES; ++lane)
      for (int e = 0; e < mma_layout::A_ELEMENTS; e += 2) {
        const mma_layout::Place at = mma_layout::a(lane, e);
        std::memcpy(&bits[at.row][at.column], &part.a[lane][e / 2], 4);
      }
  } else if (product.call.a_mn_major) {
    for (std::size_t k = 0; k < wgmma_layout::K; ++k)
      for (std::size_t row = 0; row < 16; ++row)
        std::memcpy(&bits[row][k], window() + product.a_chunks[8 * k + 2 * i + row / 8] + row % 8 * sizeof(half), 2);
  } else {
    for (int row = 0; row < 16; ++row)
      for (int half = 0; half < 2; ++half)
        std::memcpy(&bits[row][CHUNK_HALVES * half],
                    window() + product.a_chunks[2 * (16 * i + std::size_t(row)) + std::size_t(half)], CHUNK);
  }
  MmaA a;
  a.set(bits);
  product.b.read(window());
  Accumulator& d = *part.d;
  if (!product.call.accumulate) std::memset(d.tile, 0, sizeof d.tile[0] * std::size_t(d.n / TILE));
  for (int tile = 0; tile < d.n / TILE; ++tile)
    if (product.call.bf16)
      mma_tile_bf16(bits, product.b.tile(tile), d.tile[tile]);
    else
      mma_tile(a, product.b.tile(tile), d.tile[tile]);
  if (--d.products > 0) return;
  for (int lane = 0; lane < LANES; ++lane) {
    float* const to = d.d[lane];
    const mma_layout::Place at = mma_layout::c(lane, 0);
    for (int tile = 0; tile < d.n / TILE; ++tile) {
      std::memcpy(to + 4 * tile, &d.tile[tile][at.row][at.column], 2 * sizeof(float));
      std::memcpy(to + 4 * tile + 2, &d.tile[tile][at.row + 8][at.column], 2 * sizeof(float));
    }
  }
}

void Warpgroups::execute_all(int warp) {
  while (warps_[warp].executed < warps_[warp].open.size()) execute_next(warp);
}

bool Warpgroups::may_happen() const { return in_flight_ > 0 && block_.products() == Copies::random; }

void Warpgroups::maybe_happen() {
  if (!may_happen()) return;
  for (int warp = 0; warp < block_.warp_count() && in_flight_ > 0; ++warp)
    while (warps_[warp].executed < warps_[warp].open.size() && cpu::dice(dice_, 8)) execute_next(warp);
}

// --- fence, commit, wait ----------------------------------------------------------------------------------------

void Warpgroups::fence() {
  const int warp = block_.self().warp;
  WarpProducts& own = warps_[warp];
  own.fenced = true;
  if (!block_.checking()) return;
  start_watching(warp);
  for (RegisterWatch& lane : own.watch) lane.fence();
  for (Part* part : own.open) part->fenced = true;
}

void Warpgroups::commit() {
  ++warps_[block_.self().warp].committed;
  block_.tell(ExecEvent::Kind::wgmma_commit, 0, 0, 0);
}

void Warpgroups::wait(std::uint32_t groups_left) {
  const int warp = block_.self().warp;
  block_.tell(ExecEvent::Kind::wgmma_wait, 0, groups_left, 0);
  WarpProducts& own = warps_[warp];
  const std::uint32_t until = own.committed > groups_left ? own.committed - groups_left : 0;
  std::size_t covered = 0;
  while (covered < own.open.size() && own.open[covered]->group < until) ++covered;
  for (std::size_t p = covered; p < own.open.size(); ++p)
    own.open[p]->passed_over = own.open[p]->group == own.committed;
  if (covered == 0) return;
  while (own.executed < covered) execute_next(warp);
  if (block_.checking()) block_.shadow().async_read_done(own.open[covered - 1]->of->reading, warp);
  for (std::size_t p = 0; p < covered && block_.checking(); ++p) {
    check_a_unchanged(*own.open[p], warp);
    watch_registers(*own.open[p], warp, false);
  }
  own.executed -= covered;
  let_go(own, covered);
}

// Of the warp's first `count` products it needs nothing more.
void Warpgroups::let_go(WarpProducts& own, std::size_t count) {
  const auto end = own.open.begin() + std::ptrdiff_t(count);
  for (auto part = own.open.begin(); part != end; ++part)
    if (--(*part)->of->warps_left == 0) free_.push_back((*part)->of);
  own.open.erase(own.open.begin(), end);
}

// Products without a wait are lost: their registers are gone.
void Warpgroups::warp_left(int warp) {
  WarpProducts& own = warps_[warp];
  in_flight_ -= int(own.open.size() - own.executed);
  for (const Part* part : own.open)
    block_.report(Finding::Kind::in_flight, {}, {part->of->call.pc, warp, 0, true}, [&] {
      return joined("the warp returns without having waited for this product",
                    part->group == own.committed ? ", whose group was never committed" : "");
    });
  // Said above, so the checker need not say it of each byte.
  if (block_.checking() && !own.open.empty()) block_.shadow().async_read_done(own.open.back()->of->reading, warp);
  own.executed = 0;
  let_go(own, own.open.size());
}

}  // namespace lab::cpu
