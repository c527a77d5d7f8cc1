#include "common/emulator/warpgroups.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <sstream>

#include "common/emulator/block.hpp"
#include "common/emulator/switch.hpp"
#include "common/emulator/unwritten.hpp"
#include "common/mma_layout.hpp"

namespace lab::cpu {
namespace {

constexpr int TILE = 8;  // columns of D in one mma_tile

// Bits of a NaN: what D holds while a product may still write it.
constexpr unsigned char IN_FLIGHT = 0xFF;

std::string place_of(int warp) { return "warp " + std::to_string(warp); }

}  // namespace

std::string spelt(std::uint64_t descriptor) {
  const wgmma_layout::Matrix m(descriptor);
  std::ostringstream text;
  text << "descriptor 0x" << std::hex << descriptor << " (address 0x" << m.address << std::dec << ", leading "
       << m.leading << ", stride " << m.stride << ", base offset " << m.base_offset << ", swizzle " << m.swizzle << ")";
  return text.str();
}

void Warpgroups::reset(std::uint64_t seed) {
  dice_ = seed | 1;
  for (WarpProducts& warp : warps_) {
    warp.open.clear();
    warp.executed = 0, warp.committed = 0, warp.parked = 0;
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
    if (!(groups_[std::size_t(warp / WARPS)].arrived >> (w - first) & 1))
      text += (missing++ ? "," : "") + std::to_string(w);
  return (missing == 1 ? "warp " : "warps ") + text + " of the warpgroup";
}

// --- issue ----------------------------------------------------------------------------------------------------

void Warpgroups::arrive() {
  const int warp = block_.self().warp, first = warp / WARPS * WARPS;
  const WgmmaCall& own = call_of(warp, block_.self().lane);
  const auto refuse = [&](const std::string& what) {
    block_.fail(cudaErrorLaunchFailure, Finding::Kind::collective, "wgmma.mma_async: " + what, own.pc);
  };
  const auto differs = [&](const WgmmaCall& other) -> std::string {
    if (other.n != own.n) return "N = " + std::to_string(other.n) + " and " + std::to_string(own.n);
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
      refuse("lanes " + std::to_string(lane) + " and " + std::to_string(block_.self().lane) +
             " of a warp ask for different products: " + what);
  Group& group = groups_[std::size_t(warp / WARPS)];
  for (int w = first; w < first + WARPS; ++w) {
    if (!(group.arrived >> (w - first) & 1)) continue;
    if (const std::string what = differs(call_of(w, 0)); !what.empty())
      refuse(place_of(w) + " and " + place_of(warp) + " of a warpgroup ask for different products: " + what);
    if (warps_[std::size_t(w)].committed != warps_[std::size_t(warp)].committed)
      refuse(place_of(w) + " has committed " + std::to_string(warps_[std::size_t(w)].committed) + " groups and " +
             place_of(warp) + ", of the same warpgroup, " + std::to_string(warps_[std::size_t(warp)].committed));
  }
  group.arrived |= 1u << (warp - first);
  if (group.arrived != (1u << WARPS) - 1) return;
  issue(first);
  group.arrived = 0;
  ++group.issued;
  block_.progressed();
  for (int w = first; w < first + WARPS; ++w)
    if (w != warp) block_.wake_lanes(w, std::exchange(warps_[std::size_t(w)].parked, 0));
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
      if (address < begin || address + CHUNK > end) {
        std::ostringstream text;
        text << "wgmma.mma_async: " << side << ", by " << spelt(descriptor) << ", reads shared address 0x" << std::hex
             << address << "; the block's shared memory is 0x" << begin << " to 0x" << end;
        block_.fail(cudaErrorIllegalAddress, Finding::Kind::out_of_bounds, text.str(), product.call.pc);
      }
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
  WarpProducts& own = warps_[std::size_t(warp)];
  const std::size_t i = std::size_t(warp % WARPS);
  product.group[i] = own.committed;
  for (int lane = 0; lane < LANES; ++lane) product.d_lanes[i][std::size_t(lane)] = call_of(warp, lane).d;
  if (product.call.a_registers)
    for (int lane = 0; lane < LANES; ++lane) product.a[i][std::size_t(lane)] = call_of(warp, lane).a_registers;
  product.a_told[i] = false;
  if (product.call.a_registers && block_.checking())
    for (std::size_t lane = 0; lane < LANES; ++lane)
      std::memcpy(product.a_issued[i][lane].data(), product.a[i][lane], sizeof product.a_issued[i][lane]),
          check_written(block_, warp, int(lane), "A", product.a[i][lane], 4, product.call.pc);
  if (block_.checking()) check_registers(product, warp);
  product.fenced[i] = product.passed_over[i] = false;
  product.d[i] = &accumulator_of(warp, product.call);
  own.open.push_back(&product);
  block_.tell_of({std::uint16_t(warp * LANES), std::uint8_t(warp), 0}, ExecEvent::Kind::wgmma_issue,
                 block_.shared().offset_of_window(wgmma_layout::Matrix(product.call.b_descriptor).address),
                 std::size_t(product.call.n), product.call.pc);
  if (block_.checking()) watch_registers(product, warp, true);
  ++in_flight_;
  if (block_.products() == Copies::at_issue) execute_all(warp);
  if (may_happen()) block_.interrupt();
}

// D's registers, moved to where products work on them; they stay there until none is left to be executed.
Warpgroups::Accumulator& Warpgroups::accumulator_of(int warp, const WgmmaCall& call) {
  WarpProducts& own = warps_[std::size_t(warp)];
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
    float* const from = to.d[std::size_t(lane)] = call_of(warp, lane).d;
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
  WarpProducts& own = warps_[std::size_t(warp)];
  own.watch.resize(LANES);
  for (int lane = 0; lane < LANES; ++lane) {
    const Fiber& fiber = block_.fiber(warp * LANES + lane);
    own.watch[std::size_t(lane)].reset(fiber.stack, fiber.stack_bytes);
  }
}

// A product must come after a fence that comes after every access to its registers, other than by products of its
// shape.
void Warpgroups::check_registers(const Product& product, int warp) {
  WarpProducts& own = warps_[std::size_t(warp)];
  const WgmmaCall& call = product.call;
  const auto missing = [&](const RawAccess& first, int lane, const std::string& where, const char* what) {
    block_.report(
        Finding::Kind::fence_missing, first, {call.pc, warp, lane, true}, [&] { return what; }, where);
  };
  start_watching(warp);
  if (!own.fenced) return missing({}, 0, "", "no wgmma_fence before the warp's first product");
  for (int lane = 0; lane < LANES; ++lane) {
    const RegisterWatch& watch = own.watch[std::size_t(lane)];
    const WgmmaCall& of_lane = call_of(warp, lane);
    if (const std::uintptr_t pc = watch.touched(of_lane.d, std::size_t(call.n / 2)))
      return missing({pc, warp, lane, false}, lane, "D", "no wgmma_fence between this access to D and the product");
    if (!call.a_registers) continue;
    if (const std::uintptr_t pc = watch.touched(of_lane.a_registers, 4))
      return missing({pc, warp, lane, true}, lane, "A", "no wgmma_fence between this access to A and the product");
  }
  const float* const begin = call_of(warp, 0).d;
  for (const Product* other : own.open) {
    const float* const its = other->d[std::size_t(warp % WARPS)]->d[0];
    const bool overlap = its < begin + call.n / 2 && begin < its + other->call.n / 2;
    if (overlap && (its != begin || other->call.n != call.n) && !other->fenced[std::size_t(warp % WARPS)])
      return missing({other->call.pc, warp, 0, true}, 0, "D",
                     "no wgmma_fence between two products of different shape on the same registers");
  }
}

void Warpgroups::watch_registers(const Product& product, int warp, bool issued) {
  const std::size_t i = std::size_t(warp % WARPS);
  for (std::size_t lane = 0; lane < LANES; ++lane) {
    RegisterWatch& watch = warps_[std::size_t(warp)].watch[lane];
    const auto change = issued ? &RegisterWatch::issued : &RegisterWatch::done;
    (watch.*change)(product.d_lanes[i][lane], std::size_t(product.call.n / 2), true);
    if (product.call.a_registers) (watch.*change)(product.a[i][lane], 4, false);
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
  const std::size_t i = fiber.warp % WARPS;
  const auto* const at = static_cast<const std::byte*>(address);
  for (Product* const product : own.open) {
    const void* const registers = is_d ? static_cast<const void*>(product->d_lanes[i][fiber.lane])
                                       : static_cast<const void*>(product->a[i][fiber.lane]);
    const auto* const begin = static_cast<const std::byte*>(registers);
    const std::size_t size = is_d ? std::size_t(product->call.n) * 2 : 16;
    if (!begin || at + bytes <= begin || at >= begin + size) continue;
    if (write && !is_d) product->a_told[i] = true;
    const std::size_t element = std::size_t(std::max<std::ptrdiff_t>(at - begin, 0)) / 4;
    block_.report(
        write ? Finding::Kind::changed_before_wait : Finding::Kind::read_before_wait,
        {product->call.pc, fiber.warp, fiber.lane, is_d}, {pc, fiber.warp, fiber.lane, write},
        [&] {
          return std::string("a wgmma that no thread has waited for may still ") + (is_d ? "write" : "read") +
                 " this register" + (product->passed_over[i] ? ": the wait came before its group was committed" : "");
        },
        (is_d ? "D[" : "A[") + std::to_string(element) + "]");
    return;
  }
}

// No instrumented access need have changed A: a library function is not watched, and its frame may lie where an array
// was whose scope has ended.
void Warpgroups::check_a_unchanged(const Product& product, int warp) {
  const std::size_t i = std::size_t(warp % WARPS);
  if (!product.call.a_registers || product.a_told[i]) return;
  for (std::size_t lane = 0; lane < LANES; ++lane)
    for (std::size_t e = 0; e < product.a_issued[i][lane].size(); ++e) {
      if (product.a[i][lane][e] == product.a_issued[i][lane][e]) continue;
      block_.report(
          Finding::Kind::changed_before_wait, {}, {product.call.pc, warp, int(lane)},
          [] {
            return "this register of the product does not hold what it held at the issue: code that is not watched "
                   "has written to its place before the wait";
          },
          "A[" + std::to_string(e) + "]");
      return;
    }
}

// --- execution ------------------------------------------------------------------------------------------------

void Warpgroups::execute_next(int warp) {
  WarpProducts& own = warps_[std::size_t(warp)];
  Product& product = *own.open[own.executed++];
  const std::size_t i = std::size_t(warp % WARPS);
  --in_flight_;
  std::uint16_t bits[16][16];
  if (product.call.a_registers) {
    for (int lane = 0; lane < LANES; ++lane)
      for (int e = 0; e < mma_layout::A_ELEMENTS; e += 2) {
        const mma_layout::Place at = mma_layout::a(lane, e);
        std::memcpy(&bits[at.row][at.column], &product.a[i][std::size_t(lane)][e / 2], 4);
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
  Accumulator& d = *product.d[i];
  if (!product.call.accumulate) std::memset(d.tile, 0, sizeof d.tile[0] * std::size_t(d.n / TILE));
  for (int tile = 0; tile < d.n / TILE; ++tile)
    if (product.call.bf16)
      mma_tile_bf16(bits, product.b.tile(tile), d.tile[tile]);
    else
      mma_tile(a, product.b.tile(tile), d.tile[tile]);
  if (--d.products > 0) return;
  for (int lane = 0; lane < LANES; ++lane) {
    float* const to = d.d[std::size_t(lane)];
    const mma_layout::Place at = mma_layout::c(lane, 0);
    for (int tile = 0; tile < d.n / TILE; ++tile) {
      std::memcpy(to + 4 * tile, &d.tile[tile][at.row][at.column], 2 * sizeof(float));
      std::memcpy(to + 4 * tile + 2, &d.tile[tile][at.row + 8][at.column], 2 * sizeof(float));
    }
  }
}

void Warpgroups::execute_all(int warp) {
  while (warps_[std::size_t(warp)].executed < warps_[std::size_t(warp)].open.size()) execute_next(warp);
}

bool Warpgroups::may_happen() const { return in_flight_ > 0 && block_.products() == Copies::random; }

void Warpgroups::maybe_happen() {
  if (!may_happen()) return;
  for (int warp = 0; warp < block_.warp_count() && in_flight_ > 0; ++warp)
    while (warps_[std::size_t(warp)].executed < warps_[std::size_t(warp)].open.size() && cpu::dice(dice_, 8))
      execute_next(warp);
}

// --- fence, commit, wait ----------------------------------------------------------------------------------------

void Warpgroups::fence() {
  const int warp = block_.self().warp;
  WarpProducts& own = warps_[std::size_t(warp)];
  own.fenced = true;
  if (!block_.checking()) return;
  start_watching(warp);
  for (RegisterWatch& lane : own.watch) lane.fence();
  for (Product* product : own.open) product->fenced[std::size_t(warp % WARPS)] = true;
}

void Warpgroups::commit() {
  ++warps_[block_.self().warp].committed;
  block_.tell(ExecEvent::Kind::wgmma_commit, 0, 0, 0);
}

void Warpgroups::wait(std::uint32_t groups_left) {
  const int warp = block_.self().warp;
  block_.tell(ExecEvent::Kind::wgmma_wait, 0, groups_left, 0);
  WarpProducts& own = warps_[std::size_t(warp)];
  const std::uint32_t until = own.committed > groups_left ? own.committed - groups_left : 0;
  const std::size_t i = std::size_t(warp % WARPS);
  std::size_t covered = 0;
  while (covered < own.open.size() && own.open[covered]->group[i] < until) ++covered;
  for (std::size_t p = covered; p < own.open.size(); ++p)
    own.open[p]->passed_over[i] = own.open[p]->group[i] == own.committed;
  if (covered == 0) return;
  while (own.executed < covered) execute_next(warp);
  if (block_.checking()) block_.shadow().async_read_done(own.open[covered - 1]->reading, warp);
  for (std::size_t p = 0; p < covered && block_.checking(); ++p) {
    check_a_unchanged(*own.open[p], warp);
    watch_registers(*own.open[p], warp, false);
  }
  for (std::size_t p = 0; p < covered; ++p)
    if (--own.open[p]->warps_left == 0) free_.push_back(own.open[p]);
  own.open.erase(own.open.begin(), own.open.begin() + std::ptrdiff_t(covered));
  own.executed -= covered;
}

// Products without a wait are lost: their registers are gone.
void Warpgroups::warp_left(int warp) {
  WarpProducts& own = warps_[std::size_t(warp)];
  in_flight_ -= int(own.open.size() - own.executed);
  for (const Product* product : own.open)
    block_.report(Finding::Kind::in_flight, {}, {product->call.pc, warp, 0, true}, [&] {
      return std::string("the warp returns without having waited for this product") +
             (product->group[std::size_t(warp % WARPS)] == own.committed ? ", whose group was never committed" : "");
    });
  // Said above, so the checker need not say it of each byte.
  if (block_.checking() && !own.open.empty()) block_.shadow().async_read_done(own.open.back()->reading, warp);
  for (Product* product : own.open)
    if (--product->warps_left == 0) free_.push_back(product);
  own.open.clear();
  own.executed = 0;
}

}  // namespace lab::cpu
