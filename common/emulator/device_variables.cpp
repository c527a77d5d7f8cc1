#include "common/emulator/device_variables.hpp"

#include <link.h>
#include <unistd.h>

#include <cstdio>
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
                        program ? "/proc/" + std::to_string(getpid()) + "/exe" : object->dlpi_name,
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
  const std::uintptr_t place = std::uintptr_t(address) - segment->bias;
  std::FILE* const symbols = popen(("nm -CS --defined-only '" + segment->file + "' 2> /dev/null").c_str(), "r");
  if (!symbols) return {};
  Variable found;
  unsigned long long begin, bytes;
  char name[1000];
  for (char line[1200]; std::fgets(line, sizeof line, symbols);)  // "0000000000004060 0000000000000004 B lab::counter"
    if (std::sscanf(line, "%llx %llx %*[BbDdRrVvu] %999[^\n]", &begin, &bytes, name) == 3 && place - begin < bytes) {
      found = {name, reinterpret_cast<const void*>(begin + segment->bias), std::size_t(bytes)};
      // "lab::(anonymous namespace)::counter": the last word is what stands in the source.
      if (const auto colon = found.name.rfind("::"); colon != std::string::npos) found.name.erase(0, colon + 2);
    }
  pclose(symbols);
  return found;
}

}  // namespace lab::cpu
