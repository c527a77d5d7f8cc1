#include "common/emulator/device_variables.hpp"

#include <cxxabi.h>
#include <elf.h>
#include <link.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <list>
#include <mutex>
#include <vector>

#include "common/emulator/zero_pages.hpp"

namespace lab::cpu {
namespace {

struct Segment {
  std::uintptr_t begin, end;
  std::uintptr_t bias;  // from the addresses in the file
  std::string file;
  std::vector<GlobalCell, ZeroPages<GlobalCell>> cells;
};

std::mutex segments_lock;
std::list<Segment> segments;  // of everything loaded so far; a place never moves
constinit thread_local Segment* last_segment = nullptr;

int add_object(dl_phdr_info* object, std::size_t, void*) {
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& header = object->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || !(header.p_flags & PF_W)) continue;
    const std::uintptr_t begin = object->dlpi_addr + header.p_vaddr, end = begin + header.p_memsz;
    bool known = false;
    for (const Segment& segment : segments) known |= segment.begin == begin && segment.end == end;
    if (known) continue;
    const bool program = !*object->dlpi_name;
    segments.push_back({begin / GLOBAL_WORD * GLOBAL_WORD,
                        end,
                        object->dlpi_addr,
                        program ? "/proc/self/exe" : object->dlpi_name,
                        {}});
  }
  return 0;
}

Segment* segment_of(std::uintptr_t address) {
  if (last_segment && address - last_segment->begin < last_segment->end - last_segment->begin) return last_segment;
  const std::lock_guard guard(segments_lock);
  for (Segment& segment : segments)
    if (address >= segment.begin && address < segment.end) {
      if (segment.cells.empty()) segment.cells.resize((segment.end - segment.begin) / GLOBAL_WORD + 1);
      return last_segment = &segment;
    }
  return nullptr;
}

template <class T>
T read_at(const std::string& file, std::size_t offset) {
  T value{};
  if (offset + sizeof value <= file.size()) std::memcpy(&value, file.data() + offset, sizeof value);
  return value;
}

}  // namespace

void find_variables() {
  const std::lock_guard guard(segments_lock);
  dl_iterate_phdr(add_object, nullptr);
}

GlobalCell* variable_cell(const void* address, std::size_t bytes) {
  const auto place = std::uintptr_t(address);
  Segment* const segment = segment_of(place);
  return segment && place + bytes <= segment->end ? &segment->cells[(place - segment->begin) / GLOBAL_WORD] : nullptr;
}

// From the symbols of the file that the variable was loaded from.
Variable variable_at(const void* address) {
  const Segment* const segment = segment_of(std::uintptr_t(address));
  if (!segment) return {};
  std::ifstream stream(segment->file, std::ios::binary);
  const std::string file(std::istreambuf_iterator<char>(stream), {});
  const std::uintptr_t place = std::uintptr_t(address) - segment->bias;
  const auto header = read_at<ElfW(Ehdr)>(file, 0);
  const auto section = [&](std::size_t i) {
    return read_at<ElfW(Shdr)>(file, header.e_shoff + i * header.e_shentsize);
  };
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    const auto symbols = section(i);
    if (symbols.sh_type != SHT_SYMTAB) continue;
    for (std::size_t s = 0; s < symbols.sh_size / sizeof(ElfW(Sym)); ++s) {
      const auto symbol = read_at<ElfW(Sym)>(file, symbols.sh_offset + s * sizeof(ElfW(Sym)));
      if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || place - symbol.st_value >= symbol.st_size) continue;
      const char* const name = file.c_str() + section(symbols.sh_link).sh_offset + symbol.st_name;
      // A plain name is not to be read as the code of a type.
      char* const spelt =
          name[0] == '_' && name[1] == 'Z' ? abi::__cxa_demangle(name, nullptr, nullptr, nullptr) : nullptr;
      std::string text = spelt ? spelt : name;
      std::free(spelt);
      // "lab::(anonymous namespace)::counter": the last word is what stands in the source.
      if (const auto colon = text.rfind("::"); colon != text.npos) text = text.substr(colon + 2);
      return {text, reinterpret_cast<const void*>(symbol.st_value + segment->bias), symbol.st_size};
    }
  }
  return {};
}

}  // namespace lab::cpu
