#include "checks/runner/library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string_view>

#include "common/backend.hpp"
#include "common/build_info.hpp"
#include "common/conf.hpp"
#include "common/number.hpp"
#include "common/target.hpp"
#include "reference/bad_input.hpp"
#ifndef LAB_GPU
#include "common/emulator/addr2line.hpp"
#endif

namespace lab {
namespace {

namespace fs = std::filesystem;

struct Library {
  void* handle = nullptr;
  std::string path, stage = "unit tests", bug;
  std::size_t base = 0;
  bool instrumented = false;
  StageConf conf{SM_89.name, "", SM_89.smem_per_block};
  std::map<std::string, std::string> says;  // stage.conf
} library;

// A key that nothing reads would change nothing, and say nothing.
constexpr std::string_view KEYS =
    " idea pass from road was target needs registers smem half_p tiles tile same_bits together learned ";

// The stage.conf that make has laid beside the variants; a drill has none.
StageConf conf_of(const fs::path& path) {
  std::ifstream file(path);
  if (!file) return library.conf;
  auto conf = parse_conf({std::istreambuf_iterator<char>(file), {}}, path.string());
  for (const auto& [key, value] : conf)
    if (KEYS.find(" " + key + " ") == KEYS.npos && !key.starts_with("learned_v"))
      throw BadInput(path.string() + ": '" + key + "' is no key; there are" +
                     std::string(KEYS.substr(0, KEYS.size() - 1)));
  library.says = conf;
  const Target* const target = find_target(conf["target"]);
  if (!target) throw BadInput(path.string() + ": target='" + conf["target"] + "' must be sm_89 or sm_90a");
  const auto smem = number_in<std::size_t>(conf["smem"], 0, target->smem_per_block);
  if (!smem)
    throw BadInput(path.string() + ": smem='" + conf["smem"] + "' must be a number of bytes, at most the " +
                   std::to_string(target->smem_per_block) + " of " + target->name);
  return {target->name, conf["needs"], *smem};
}

void* opened(const std::string& path, int where = RTLD_LOCAL) {
  if (void* const handle = dlopen(fs::absolute(path).c_str(), RTLD_NOW | where)) return handle;
  throw BadInput(dlerror());
}

}  // namespace

Pass load_kernel(const std::string& path) {
  const fs::path variant = fs::absolute(path).parent_path(), stage = variant.parent_path();
  library.path = path, library.stage = stage.filename();
  if (const std::string name = variant.filename(); name.starts_with("bug-")) library.bug = name.substr(4);
  library.conf = conf_of(stage / "stage.conf");
  library.handle = opened(path);
  library.base = static_cast<link_map*>(library.handle)->l_addr;
#ifndef LAB_GPU
  cpu::kernels_are_in(path, library.base);
  library.instrumented = cpu::instrumented;
#endif
  if (library_symbol("drill")) return Pass::drill;
  if (library_symbol("attention")) return Pass::forward;
  if (library_symbol("attention_backward")) return Pass::backward;
  throw BadInput(path + " exports no stage");
}

void* beside_runner(const std::string& file, const char* function) {
  return dlsym(opened(fs::read_symlink("/proc/self/exe").parent_path() / file, RTLD_GLOBAL), function);
}

std::string stage_says(const std::string& key) {
  const auto found = library.says.find(key);
  return found == library.says.end() ? "" : found->second;
}
const std::string& kernel_library() { return library.path; }
void* library_symbol(const char* name) { return dlsym(library.handle, name); }

void* beside_variants(const std::string& file, const std::string& function) {
  const fs::path path = fs::absolute(library.path).parent_path().parent_path() / file;
  return fs::exists(path) ? dlsym(opened(path), function.c_str()) : nullptr;
}

const char* stage_name() { return library.stage.c_str(); }
const char* planted_bug() { return library.bug.c_str(); }
bool can_check() { return library.instrumented; }
const StageConf& stage_conf() { return library.conf; }

}  // namespace lab
