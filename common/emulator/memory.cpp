#include "common/emulator/memory.hpp"

#include <cuda_runtime.h>
#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
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

struct Buffer {
  std::size_t bytes = 0;
  std::vector<GlobalCell, ZeroPages<GlobalCell>> cells = {};  // made when a checked kernel first looks
  std::map<std::size_t, std::size_t> written = {};            // by the host: where a stretch begins, and its end
};

struct Heap {
  std::byte* base = nullptr;
  std::mutex lock;
  std::map<std::size_t, Buffer> buffers;  // by offset
  std::atomic<std::uint64_t> version{0};  // changes when a buffer comes or goes
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
  std::map<std::size_t, Buffer>::iterator last_from(std::size_t offset) {
    const auto after = buffers.upper_bound(offset);
    return after == buffers.begin() ? buffers.end() : std::prev(after);
  }
};

Heap& heap() {
  static Heap* heap = new Heap;  // never destroyed: a late cudaFree must still find it
  return *heap;
}

// The buffer that each thread looked at last: kernels walk one buffer for a long time.
struct LastHit {
  std::uint64_t version = ~0ull;
  std::size_t begin = 0, end = 0;
  GlobalCell* cells = nullptr;
};
constinit thread_local LastHit last_hit;

}  // namespace

constinit std::byte* global_base = nullptr;

namespace {

// The launch may overlap the one before it, and its thread has not waited for that.
void check_dependency(Block& block, const GlobalAccess& access) {
  const bool write = access.touch != Touch::read;
  block.report(
      Finding::Kind::before_dependency, {}, Shadow::access(block.thread_id(), access.pc, write),
      [&] {
        return std::string("the launch before may still ") + (write ? "read" : "write") + " it: " +
               (block.any_dependency_met() ? "nothing orders the thread after a grid_dependency_wait"
                                           : "no thread of the block has passed grid_dependency_wait");
      },
      [&] { return name_of_global(access.address, access.bytes); });
}

// The cells of the buffer that all the bytes lie in, and where in it they begin; null if there is none.
GlobalCell* cells_at(std::size_t begin, std::size_t bytes, std::size_t& offset) {
  Heap& h = heap();
  LastHit& hit = last_hit;
  const auto is_hit = [&] {
    return hit.version == h.version.load(std::memory_order_relaxed) && begin >= hit.begin && begin + bytes <= hit.end;
  };
  if (!is_hit()) {
    const std::lock_guard guard(h.lock);
    const auto found = h.last_from(begin);
    if (found == h.buffers.end() || begin + bytes > found->first + found->second.bytes) return nullptr;
    Buffer& buffer = found->second;
    if (buffer.cells.empty()) buffer.cells.resize((buffer.bytes + GLOBAL_WORD - 1) / GLOBAL_WORD);
    hit = {h.version.load(), found->first, found->first + buffer.bytes, buffer.cells.data()};
  }
  offset = begin - hit.begin;
  return hit.cells;
}

std::size_t heap_offset(const void* address) {
  return std::size_t(static_cast<const std::byte*>(address) - global_base);
}

}  // namespace

bool check_global(const GlobalAccess& access) {
  Block& block = *this_block();
  const RuntimeCall call(block, access.pc);
  if (block.dependency_open()) [[unlikely]]
    check_dependency(block, access);
  std::size_t offset = 0;
  if (GlobalCell* const cells = cells_at(heap_offset(access.address), access.bytes, offset)) {
    watch_global(block, cells, offset, access);
    return true;
  }
  block.report(
      Finding::Kind::out_of_bounds, {}, Shadow::access(block.thread_id(), access.pc, access.touch != Touch::read),
      [&] { return describe_global(access.address); }, "global memory");
  return false;
}

bool check_variable(const GlobalAccess& access) {
  GlobalCell* const cell = variable_cell(access.address, access.bytes);
  const auto* const place = static_cast<const char*>(access.address);
  if (access.touch != Touch::read && place >= __start_lab_constant && place < __stop_lab_constant)
    this_block()->report(
        Finding::Kind::out_of_bounds, {}, Shadow::access(this_block()->thread_id(), access.pc, true),
        [] { return "a kernel only reads what is __constant__; the host writes it"; },
        [&] { return name_of_global(access.address, access.bytes); });
  if (cell) watch_global(*this_block(), cell, std::uintptr_t(access.address) % GLOBAL_WORD, access);
  return cell;
}

bool atomic_by(const void* address, std::uint32_t block, bool others) {
  std::size_t offset = 0;
  const GlobalCell* cell = nullptr;
  if (!is_global(address))
    cell = variable_cell(address, GLOBAL_WORD);
  else if (const GlobalCell* const cells = cells_at(heap_offset(address), 1, offset))
    cell = cells + offset / GLOBAL_WORD;
  return cell && atomic_by(*cell, block, others);
}

std::uint8_t written_by_host(const std::byte* address) {
  if (!is_global(address)) return 15;
  Heap& h = heap();
  const std::size_t offset = heap_offset(address);
  const std::lock_guard guard(h.lock);
  const auto buffer = h.last_from(offset);
  std::uint8_t bytes = 0;
  for (std::size_t i = 0; i < GLOBAL_WORD && buffer != h.buffers.end(); ++i) {
    const auto after = buffer->second.written.upper_bound(offset + i);
    if (after != buffer->second.written.begin() && std::prev(after)->second > offset + i) bytes |= 1u << i;
  }
  return bytes;
}

// --- words ----------------------------------------------------------------------------------------------------

namespace {

std::vector<const void*> arguments;  // of the launch under way; null for what is no pointer

struct NamedPlace {
  std::string name;
  std::size_t offset = 0, bytes = 0;  // of the address, and of the whole; 0 B: unknown
};

NamedPlace named(const void* address) {
  if (!is_global(address)) {
    const Variable variable = variable_at(address);
    const auto offset = std::size_t(static_cast<const char*>(address) - static_cast<const char*>(variable.address));
    return {variable.name.empty() ? "a variable" : variable.name, variable.address ? offset : 0, variable.bytes};
  }
  Heap& h = heap();
  const std::size_t offset = heap_offset(address);
  const std::lock_guard guard(h.lock);
  const auto buffer = h.last_from(offset);
  if (buffer == h.buffers.end()) return {"a buffer"};
  NamedPlace found{"a buffer", offset - buffer->first, buffer->second.bytes};
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (is_global(arguments[i]) && h.last_from(heap_offset(arguments[i])) == buffer) {
      found.name = "argument " + std::to_string(i + 1);
      break;
    }
  return found;
}

}  // namespace

void name_arguments(const std::vector<const void*>& of_launch) { arguments = of_launch; }

std::string name_of_global(const void* address, std::size_t bytes) {
  const NamedPlace at = named(address);
  if (!at.bytes || at.bytes == bytes) return at.name;
  return (at.offset % bytes ? "byte " + std::to_string(at.offset) : "element " + std::to_string(at.offset / bytes)) +
         " of " + at.name + " (" + std::to_string(at.bytes) + " B, elements of " + std::to_string(bytes) + " B)";
}

std::string describe_global(const void* address) {
  if (!is_global(address)) return "not an address of shared or global memory";
  const NamedPlace at = named(address);
  if (!at.bytes) return "before every buffer";
  const std::string whole = at.name == "a buffer" ? "a buffer of " + std::to_string(at.bytes) + " B"
                                                  : at.name + ", a buffer of " + std::to_string(at.bytes) + " B";
  if (at.offset < at.bytes) return "byte " + std::to_string(at.offset) + " of " + whole;
  return std::to_string(at.offset - at.bytes) + " B past the end of " + whole;
}

}  // namespace lab::cpu

using lab::cpu::heap;

void lab::plain::written(const void* to, std::size_t bytes) {
  if (!exec_options().unwritten || !bytes || !cpu::is_global(to)) return;
  auto& h = heap();
  const std::size_t begin = cpu::heap_offset(to);
  const std::lock_guard guard(h.lock);
  const auto buffer = h.last_from(begin);
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
  h.buffers[offset] = {bytes};
  ++h.version;
  *pointer = h.base + offset;
  return cudaSuccess;
}

cudaError_t cudaFree(void* pointer) {
  if (!pointer) return cudaSuccess;
  auto& h = heap();
  const std::lock_guard guard(h.lock);
  const auto found = h.buffers.find(std::size_t(static_cast<std::byte*>(pointer) - h.base));
  if (found == h.buffers.end()) return cudaErrorInvalidValue;
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
