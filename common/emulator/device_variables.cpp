#include "common/emulator/device_variables.hpp"

#include <link.h>
#include <unistd.h>

#include <cstdio>

namespace lab::cpu {

std::vector<Segment> writable_segments() {
  std::vector<Segment> segments;
  const auto add_object = [](dl_phdr_info* object, std::size_t, void* to) {
    for (int i = 0; i < object->dlpi_phnum; ++i) {
      const auto& header = object->dlpi_phdr[i];
      if (header.p_type != PT_LOAD || !(header.p_flags & PF_W)) continue;
      const std::uintptr_t begin = object->dlpi_addr + header.p_vaddr;
      const std::string file = *object->dlpi_name ? object->dlpi_name : "/proc/" + std::to_string(getpid()) + "/exe";
      static_cast<std::vector<Segment>*>(to)->push_back({begin, begin + header.p_memsz, object->dlpi_addr, file});
    }
    return 0;
  };
  dl_iterate_phdr(add_object, &segments);
  return segments;
}

// From the symbols of the file that the variable was loaded from.
Variable variable_at(const Segment& segment, const void* address) {
  const std::uintptr_t place = std::uintptr_t(address) - segment.bias;
  std::FILE* const symbols = popen(("nm -CS --defined-only '" + segment.file + "' 2> /dev/null").c_str(), "r");
  if (!symbols) return {};
  Variable found;
  unsigned long long begin, bytes;
  char name[1000];
  for (char line[1200]; std::fgets(line, sizeof line, symbols);)  // "0000000000004060 0000000000000004 B lab::counter"
    if (std::sscanf(line, "%llx %llx %*[BbDdRrVvu] %999[^\n]", &begin, &bytes, name) == 3 && place - begin < bytes) {
      found = {name, place - begin, std::size_t(bytes)};
      // "lab::(anonymous namespace)::counter": the last word is what stands in the source.
      if (const auto colon = found.name.rfind("::"); colon != std::string::npos) found.name.erase(0, colon + 2);
    }
  pclose(symbols);
  return found;
}

}  // namespace lab::cpu
