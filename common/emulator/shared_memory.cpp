#include "common/emulator/shared_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "common/emulator/spare.hpp"
#include "common/joined.hpp"

namespace lab::cpu {
namespace {

std::string inside(const CarvedArray& array, std::size_t offset) {
  const std::size_t element = (offset - array.offset) / array.element;
  std::string indices;
  const auto index = [&](std::size_t i) { indices = joined("[", i, "]", indices); };
  if (array.rank > 2) {
    std::size_t rest = element;
    for (int i = array.rank - 1; i > 0; rest /= std::size_t(array.extents[i--]))
      index(rest % std::size_t(array.extents[i]));
    index(rest);
  } else if (array.rank || array.bytes != array.element || element) {  // a variable that is no array has none
    if (array.pitch > 1) index(element % array.pitch);
    index(element / array.pitch);
  }
  return array.name + indices;
}

Spare<std::byte*> spare_arenas;

std::size_t gap_after(std::size_t element, int pitch) {
  return (std::max<std::size_t>(16 * element * pitch, 512) + 127) / 128 * 128;
}

}  // namespace

SharedMemory::SharedMemory() : arena_(spare_arenas.take()) {
  if (arena_) return;
  void* memory = mmap(nullptr, ARENA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  arena_ = static_cast<std::byte*>(memory);
}

SharedMemory::~SharedMemory() { spare_arenas.give(arena_); }

void SharedMemory::reset(std::size_t dynamic_bytes, bool gaps) {
  request_ = dynamic_bytes, gaps_ = gaps;
  next_ = DYNAMIC + request_ + (gaps_ && request_ ? 512 : 0);
  static_used_ = 0;
  arrays_.clear();
  const std::size_t end = std::min(ARENA, DYNAMIC + request_ + GUARD + (gaps ? GAP_SPACE : 0));
  std::memset(arena_, POISON, std::max(end, dirty_end_));
  dirty_end_ = end;
}

void* SharedMemory::place_variable(const void* declaration, CarvedArray array, std::size_t align) {
  for (const CarvedArray& placed : arrays_)
    if (placed.declaration == declaration) return arena_ + placed.offset;
  const std::size_t gap = gaps_ ? gap_after(array.element, array.pitch) : 0;
  next_ = DYNAMIC + (next_ - DYNAMIC + align - 1) / align * align;
  const std::size_t room = WINDOW - WINDOW_START;
  if (next_ - DYNAMIC + array.bytes > room) return nullptr;
  array.offset = next_, array.declaration = declaration;
  arrays_.push_back(array);
  static_used_ += array.bytes;
  next_ += array.bytes + std::min(gap, (room - (next_ - DYNAMIC + array.bytes)) / 8);
  return arena_ + arrays_.back().offset;
}

void SharedMemory::name_member(const void* at, CarvedArray array) {
  array.offset = offset(at);
  for (const CarvedArray& known : arrays_)
    if (known.offset == array.offset && known.bytes == array.bytes && known.name == array.name) return;
  const std::size_t end = DYNAMIC + request_;
  array.granted = array.offset >= end ? 0 : std::min(array.bytes, end - array.offset);
  arrays_.push_back(array);
}

const CarvedArray* SharedMemory::array_at(std::size_t offset) const {
  const CarvedArray* found = nullptr;  // of a struct its member, which is the smaller one
  for (const CarvedArray& array : arrays_)
    if (offset >= array.offset && offset < array.offset + array.bytes && (!found || array.bytes < found->bytes))
      found = &array;
  return found;
}

void* SharedMemory::place_request(const char* name, std::size_t element) {
  static constexpr char REQUEST = 0;
  for (const CarvedArray& array : arrays_)
    if (array.declaration == &REQUEST) return arena_ + DYNAMIC;
  arrays_.push_back({name, element, int(request_ / element), 1, DYNAMIC, request_, request_, &REQUEST});
  return arena_ + DYNAMIC;
}

std::string SharedMemory::describe(std::size_t offset) const {
  if (const CarvedArray* const array = array_at(offset)) {
    const std::string place = inside(*array, offset);
    if (offset < array->offset + array->granted) return place;
    return joined(place, ", past the request of ", request_, " B");
  }
  const CarvedArray* before = nullptr;
  for (const CarvedArray& array : arrays_)
    if (array.offset <= offset && (!before || array.offset >= before->offset)) before = &array;
  if (before && offset < before->offset + before->bytes + gap_after(before->element, before->pitch))
    return joined(inside(*before, offset), ", past the end of ", before->name, " (", before->rows, " rows)");
  if (offset >= DYNAMIC) return joined("byte ", offset - DYNAMIC, " of a request of ", request_, " B");
  return joined(DYNAMIC - offset, " B before the block's shared memory");
}

std::string SharedMemory::broken_guard() const {
  const auto changed = [&](std::size_t from, std::size_t to) {
    const std::byte poison{POISON};
    // Each byte is like the one before it.
    if (arena_[from] == poison && !std::memcmp(arena_ + from, arena_ + from + 1, to - from - 1)) return std::string();
    const auto* first = std::find_if(arena_ + from, arena_ + to, [=](std::byte b) { return b != poison; });
    const auto bytes =
        std::count_if(first, static_cast<const std::byte*>(arena_ + to), [=](std::byte b) { return b != poison; });
    return joined(bytes, " B written outside the request, first at ", describe(std::size_t(first - arena_)));
  };
  std::string text = changed(0, GUARD);
  if (text.empty()) text = changed(next_, std::min(ARENA, next_ + GUARD));
  return text;
}

}  // namespace lab::cpu
