#include "common/emulator/memory.hpp"

#include <cuda_runtime.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "common/emulator/block.hpp"
#include "common/emulator/device_variables.hpp"
#include "common/emulator/zero_pages.hpp"
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, bytes)
#define ASAN_UNPOISON_MEMORY_REGION(address, bytes)
#endif

// The ends of the section that the front end gives __constant__ variables; null where there are none.
extern "C" [[gnu::weak]] const char __start_lab_constant[], __stop_lab_constant[];

namespace lab::cpu {
namespace {

constexpr std::size_t RESERVED = GLOBAL_RESERVED, LARGEST = std::size_t(64) << 30;  // of a buffer: what the device has
constexpr std::size_t PAGE = 4096;

std::size_t pages(std::size_t bytes) { return (bytes + PAGE - 1) / PAGE * PAGE; }

// Of cudaMalloc, or a segment of variables.
struct Buffer {
  std::size_t bytes = 0;
  std::optional<Segment> segment = {};
  std::vector<GlobalCell, ZeroPages<GlobalCell>> cells = {};  // made when a checked kernel first looks
  std::map<std::uintptr_t, std::uintptr_t> written = {};      // by the host: where a stretch begins, and its end
};

struct Heap {
  std::byte* base = nullptr;
  std::mutex lock;
  std::map<std::uintptr_t, Buffer> buffers;  // by address
  std::atomic<std::uint64_t> version{0};     // changes when a buffer comes or goes
  Heap() {
    void* memory = mmap(nullptr, RESERVED, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory != MAP_FAILED) global_base = base = static_cast<std::byte*>(memory);
  }
  std::size_t fresh = PAGE;  // addresses from here on have never been handed out
  // Where `bytes` fit between untouchable pages; 0 if nowhere. Always new addresses: a kernel that keeps an earlier call's
  // pointers, or a tensor map of them, is not to find the next call's data there.
  std::size_t room_for(std::size_t bytes) {
    const std::size_t size = pages(bytes) + PAGE;
    return bytes <= LARGEST && fresh + size <= RESERVED ? std::exchange(fresh, fresh + size) : 0;
  }
  // The last buffer that begins there or before; end() if none does.
  std::map<std::uintptr_t, Buffer>::iterator last_from(const void* address) {
    const auto after = buffers.upper_bound(std::uintptr_t(address));
    return after == buffers.begin() ? buffers.end() : std::prev(after);
  }
};

Heap& heap() {
  static Heap* heap = new Heap;  // never destroyed: a late cudaFree must still find it
  return *heap;
}

// The buffer, and the segment, that each thread looked at last: kernels walk one buffer for a long time.
struct LastHit {
  std::uint64_t version = ~0ull;
  std::uintptr_t begin = 0, end = 0;
  GlobalCell* cells = nullptr;
};
constinit thread_local LastHit last_hits[2];

}  // namespace

constinit std::byte* global_base = nullptr;

namespace {

// The launch may overlap the one before it, and its thread has not waited for that.
void check_dependency(Block& block, const GlobalAccess& access) {
  const bool write = access.touch != Touch::read;
  block.report(
      Finding::Kind::before_dependency, {}, Shadow::access(block.thread_id(), access.pc, write),
      [&] {
        return joined("the launch before may still ", write ? "read" : "write", " it: ",
                      block.any_dependency_met() ? "nothing orders the thread after a grid_dependency_wait"
                                                 : "no thread of the block has passed grid_dependency_wait");
      },
      [&] { return name_of_global(access.address, access.bytes); });
}

// The cells of the buffer that all the bytes lie in, and where in it they begin; null if there is none.
GlobalCell* cells_at(const void* address, std::size_t bytes, std::size_t& offset) {
  Heap& h = heap();
  LastHit& hit = last_hits[is_global(address)];
  const auto begin = std::uintptr_t(address);
  const auto is_hit = [&] {
    return hit.version == h.version.load(std::memory_order_relaxed) && begin >= hit.begin && begin + bytes <= hit.end;
  };
  if (!is_hit()) {
    const std::lock_guard guard(h.lock);
    const auto found = h.last_from(address);
    if (found == h.buffers.end() || begin + bytes > found->first + found->second.bytes) return nullptr;
    Buffer& buffer = found->second;
    if (buffer.cells.empty()) buffer.cells.resize((buffer.bytes + GLOBAL_WORD - 1) / GLOBAL_WORD);
    hit = {h.version.load(), found->first, found->first + buffer.bytes, buffer.cells.data()};
  }
  offset = begin - hit.begin;
  return hit.cells;
}

}  // namespace

void find_variables() {
  Heap& h = heap();
  const std::lock_guard guard(h.lock);
  for (const Segment& segment : writable_segments()) {
    const std::uintptr_t begin = segment.begin / GLOBAL_WORD * GLOBAL_WORD;
    h.buffers.try_emplace(begin, Buffer{segment.end - begin, segment});
  }
}

bool check_global(const GlobalAccess& access) {
  Block& block = *this_block();
  const RuntimeCall call(block, access.pc);
  const bool write = access.touch != Touch::read, global = is_global(access.address);
  const auto misplaced = [&](auto what, auto where) {
    block.report(Finding::Kind::out_of_bounds, {}, Shadow::access(block.thread_id(), access.pc, write), what, where);
  };
  if (global && block.dependency_open()) [[unlikely]]
    check_dependency(block, access);
  if (const auto* const place = static_cast<const char*>(access.address);
      write && place >= __start_lab_constant && place < __stop_lab_constant)
    misplaced("a kernel only reads what is __constant__; the host writes it",
              [&] { return name_of_global(access.address, access.bytes); });
  std::size_t offset = 0;
  GlobalCell* const cells = cells_at(access.address, access.bytes, offset);
  if (cells) watch_global(block, cells, offset, access);
  if (!cells && global) misplaced([&] { return describe_global(access.address); }, "global memory");
  return cells;
}

bool atomic_by(const void* address, std::uint32_t block, bool others) {
  std::size_t offset = 0;
  const GlobalCell* const cells = cells_at(address, 1, offset);
  return cells && atomic_by(cells[offset / GLOBAL_WORD], block, others);
}

std::uint8_t written_by_host(const std::byte* address) {
  if (!is_global(address)) return 15;
  Heap& h = heap();
  const std::lock_guard guard(h.lock);
  const auto buffer = h.last_from(address);
  std::uint8_t bytes = 0;
  for (std::size_t i = 0; i < GLOBAL_WORD && buffer != h.buffers.end(); ++i) {
    const auto after = buffer->second.written.upper_bound(std::uintptr_t(address + i));
    if (after != buffer->second.written.begin() && std::prev(after)->second > std::uintptr_t(address + i))
      bytes |= 1u << i;
  }
  return bytes;
}

// --- words ----------------------------------------------------------------------------------------------------

namespace {

std::vector<const void*> arguments;  // of the launch under way; null for what is no pointer

// In which buffer of cudaMalloc, or variable, an address lies, or behind which it comes.
Variable named(const void* address) {
  Heap& h = heap();
  const std::lock_guard guard(h.lock);
  const auto buffer = h.last_from(address);
  if (!is_global(address))
    return buffer == h.buffers.end() || !buffer->second.segment ? Variable{}
                                                                : variable_at(*buffer->second.segment, address);
  if (buffer == h.buffers.end() || buffer->second.segment) return {"a buffer"};
  const auto argument =
      std::ranges::find_if(arguments, [&](const void* each) { return is_global(each) && h.last_from(each) == buffer; });
  return {argument == arguments.end() ? "a buffer" : joined("argument ", argument - arguments.begin() + 1),
          std::uintptr_t(address) - buffer->first, buffer->second.bytes};
}

}  // namespace

void name_arguments(const std::vector<const void*>& of_launch) { arguments = of_launch; }

std::string name_of_global(const void* address, std::size_t bytes) {
  const Variable at = named(address);
  if (!at.bytes || at.bytes == bytes) return at.name;
  return joined(at.offset % bytes ? "byte " : "element ", at.offset % bytes ? at.offset : at.offset / bytes, " of ",
                at.name, " (", at.bytes, " B, elements of ", bytes, " B)");
}

std::string describe_global(const void* address) {
  if (!is_global(address)) return "not an address of shared or global memory";
  const Variable at = named(address);
  if (!at.bytes) return "before every buffer";
  const std::string whole = joined(at.name, at.name == "a buffer" ? " of " : ", a buffer of ", at.bytes, " B");
  if (at.offset < at.bytes) return joined("byte ", at.offset, " of ", whole);
  return joined(at.offset - at.bytes, " B past the end of ", whole);
}

}  // namespace lab::cpu

using lab::cpu::heap;

void lab::plain::written(const void* to, std::size_t bytes) {
  if (!exec_options().unwritten || !bytes || !cpu::is_global(to)) return;
  auto& h = heap();
  const auto begin = std::uintptr_t(to);
  const std::lock_guard guard(h.lock);
  const auto buffer = h.last_from(to);
  if (buffer == h.buffers.end()) return;
  auto& stretches = buffer->second.written;
  auto [at, is_new] = stretches.try_emplace(begin, begin + bytes);
  at->second = std::max(at->second, begin + bytes);
  if (at != stretches.begin() && std::prev(at)->second >= begin)
    std::prev(at)->second = std::max(std::prev(at)->second, at->second), at = std::prev(stretches.erase(at));
  for (auto next = std::next(at); next != stretches.end() && next->first <= at->second; next = stretches.erase(next))
    at->second = std::max(at->second, next->second);
}

cudaError_t cudaMalloc(void** pointer, std::size_t bytes) {
  auto& h = heap();
  *pointer = nullptr;
  if (!h.base) return cudaErrorMemoryAllocation;
  if (bytes == 0) return cudaSuccess;
  const std::lock_guard guard(h.lock);
  const std::size_t offset = h.room_for(bytes);
  if (!offset) return cudaErrorMemoryAllocation;
  if (mprotect(h.base + offset, lab::cpu::pages(bytes), PROT_READ | PROT_WRITE) != 0) return cudaErrorMemoryAllocation;
  // The rest of the last page can be touched, but not under AddressSanitizer.
  ASAN_UNPOISON_MEMORY_REGION(h.base + offset, bytes);
  ASAN_POISON_MEMORY_REGION(h.base + offset + bytes, lab::cpu::pages(bytes) - bytes);
  h.buffers[std::uintptr_t(h.base + offset)] = {bytes};
  ++h.version;
  *pointer = h.base + offset;
  return cudaSuccess;
}

cudaError_t cudaFree(void* pointer) {
  if (!pointer) return cudaSuccess;
  auto& h = heap();
  const std::lock_guard guard(h.lock);
  const auto found = h.buffers.find(std::uintptr_t(pointer));
  if (found == h.buffers.end() || found->second.segment) return cudaErrorInvalidValue;
  // Gives the pages back and makes the addresses fault again.
  ASAN_POISON_MEMORY_REGION(pointer, lab::cpu::pages(found->second.bytes));
  mmap(pointer, lab::cpu::pages(found->second.bytes), PROT_NONE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  h.buffers.erase(found);
  ++h.version;
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  std::memmove(to, from, bytes);
  lab::plain::written(to, bytes);
  return cudaSuccess;
}

cudaError_t cudaMemset(void* to, int byte, std::size_t bytes) {
  std::memset(to, byte, bytes);
  lab::plain::written(to, bytes);
  return cudaSuccess;
}

// --- streams have a name and nothing else: a launch has ended when it returns --------------------------------------
struct CUstream_st {};
cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  *stream = new CUstream_st;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete stream;
  return cudaSuccess;
}

// --- events: host time, since a launch on the CPU has ended when it returns ----------------------------------
struct CUevent_st {
  std::chrono::steady_clock::time_point at;
};
cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = new CUevent_st;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  event->at = std::chrono::steady_clock::now();
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t stop) {
  *milliseconds = std::chrono::duration<float, std::milli>(stop->at - start->at).count();
  return cudaSuccess;
}
