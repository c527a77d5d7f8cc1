// Kernels in plain CUDA: launches, shared variables, and the device functions that need the block.
#include <cctype>
#include <cstring>
#include <mutex>
#include <set>
#include <string_view>

#include "common/cpu/cuda_intrinsics.h"
#include "common/cpu/plain_launch.h"
#include "common/emulator/block.hpp"
#include "common/emulator/cluster.hpp"
#include "common/emulator/memory.hpp"
#include "common/emulator/residents.hpp"

namespace lab::plain {

using cpu::Block;
using cpu::SharedMemory;

cudaError_t Launch::start(const cpu::LaunchConfig& config, const std::function<void()>& thread) {
  if (Block* const block = cpu::this_block(); block && block->running())
    block->fail(cudaErrorNotSupported, Finding::Kind::fault,
                "a launch in a kernel is not read: launch it from the host", cpu::caller(__builtin_return_address(0)));
  return cpu::launch(config, thread);
}

namespace {

Block& inside(const char* what) {
  if (Block* const block = cpu::this_block(); block && block->running()) return *block;
  std::fprintf(stderr, "%s is used outside a kernel\n", what);
  std::abort();
}

cpu::CarvedArray carved(const char* name, const ArrayType& type) {
  int elements = 1;
  for (int i = 0; i < type.rank; ++i) elements *= type.extents[i];
  const int pitch = type.rank > 1 ? type.extents[type.rank - 1] : 1;
  cpu::CarvedArray array{name, type.element, elements / pitch, pitch, 0, type.bytes, type.bytes};
  array.extents = type.extents, array.rank = type.rank;
  return array;
}

// An array that is new may be touched from now on.
template <class Place>
void* placed(Block& block, Place place) {
  SharedMemory& shared = block.shared();
  const std::size_t known = shared.arrays().size();
  void* const at = place(shared);
  if (block.checking() && shared.arrays().size() > known)
    block.shadow().allow(shared.offset(at), shared.arrays().back().granted);
  return at;
}

}  // namespace

void* place_shared(const void* declaration, const char* name, const ArrayType& type, std::size_t align) {
  Block& block = inside(name);
  void* const place = placed(
      block, [&](SharedMemory& shared) { return shared.place_variable(declaration, carved(name, type), align); });
  if (const std::size_t used = block.shared().static_bytes(); !place || used > SharedMemory::STATIC_LIMIT)
    block.fail(cudaErrorInvalidConfiguration, Finding::Kind::out_of_bounds,
               joined("with ", name, " the kernel has ", used,
                      " B of __shared__ variables; ptxas builds none with more than 49152 B"),
               0);
  return place;
}

void* place_dynamic(const char* name, std::size_t element) {
  return placed(inside(name), [&](SharedMemory& shared) { return shared.place_request(name, element); });
}

void tell_member(const void* at, const char* name, const ArrayType& type) {
  SharedMemory& shared = inside(name).shared();
  if (shared.contains(at)) shared.name_member(at, carved(name, type));
}

const char* instance(const char* kernel, const char* function) {
  static std::mutex mutex;
  static std::set<std::string> kept;
  std::string text;
  const std::string with = std::strstr(function, "[with ") ? std::strstr(function, "[with ") + 6 : "";
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (const char* c = kernel; *c;) {
    std::string word;
    while (is_word(*c)) word += *c++;
    if (word.empty()) {  // no blank after a comma: "attention<64,2>"
      if (*c != ' ' || text.empty() || text.back() != ',') text += *c;
      ++c;
      continue;
    }
    const auto at = (" " + with).find(" " + word + " = ");
    const auto end = at == std::string::npos ? at : with.find_first_of(";]", at);
    text += end == std::string::npos ? word : with.substr(at + word.size() + 3, end - at - word.size() - 3);
  }
  constexpr std::string_view NAMELESS = "{anonymous}::";  // of a kernel that is itself a template's argument
  for (std::size_t at; (at = text.find(NAMELESS)) != text.npos;) text.erase(at, NAMELESS.size());
  const std::scoped_lock lock(mutex);
  return kept.insert(text).first->c_str();
}

std::uint32_t shared_address(const void* pointer) {
  Block* const block = cpu::this_block();
  if (!block || !block->shared().contains(pointer)) return std::uint32_t(std::uintptr_t(pointer));
  return std::uint32_t(block->shared().window_address(pointer));
}

void* shared_pointer(std::uint32_t address) {
  SharedMemory& shared = inside("a shared address").shared();
  if (address < SharedMemory::WINDOW_START || address >= SharedMemory::WINDOW) return nullptr;
  return shared.base() + shared.offset_of_window(address);
}

void* shared_of_rank(void* mine, unsigned rank) {
  Block& block = inside("map_shared_rank");
  if (!block.shared().contains(mine)) return nullptr;
  return block.cluster().block(int(rank)).shared().base() + block.shared().offset(mine);
}

// Two barriers: all have voted, and all have read. Of the three sums one is this vote's, one may already be the next
// one's, and the third is cleared.
int block_votes(bool yes) {
  Block& block = inside("__syncthreads_count");
  auto& [sums, calls] = block.votes();
  auto& call = calls[block.self().linear];
  const int vote = call;
  call = std::uint8_t((call + 1) % 3);
  sums[vote] += yes;
  cpu::block_barrier();
  const int sum = sums[vote];
  sums[(vote + 2) % 3] = 0;
  cpu::block_barrier();
  return sum;
}

bool any_number_of_blocks() { return exec_options().multiprocessors == 0; }

void at_site(int site) {
  if (Block* const block = cpu::this_block(); block && block->running()) block->at_site(site);
}

void returns() { inside("return").self().returned = true; }

// Under a schedule that changes, blocks that waited for it go on at once.
void released() {
  Block* const block = cpu::this_block();
  if (!block || !block->running()) return;
  if (const Schedule now = block->schedule(); now == Schedule::round_robin || now == Schedule::random)
    cpu::residents().wait(nullptr);
}

// The compiler says it of instrumented code.
void looked(const void* word, std::size_t bytes) {
  Block* const block = cpu::this_block();
  if (block && block->running() && !cpu::instrumented)
    block->polled(word, bytes, cpu::caller(__builtin_return_address(0)));
}

unsigned active_lanes() { return inside("__activemask").active_lanes(cpu::caller(__builtin_return_address(0))); }

long long ticks() {
  static thread_local long long clock = 0;
  return ++clock;
}

}  // namespace lab::plain
