#include "checks/runner/library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <stdexcept>

#include "checks/acceptance/format.hpp"
#include "checks/acceptance/launch.hpp"
#include "checks/acceptance/sampling.hpp"
#include "common/backend.hpp"
#include "common/backward.hpp"
#include "common/conf.hpp"
#include "common/number.hpp"
#include "common/stage.hpp"
#include "common/target.hpp"
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
  const StageInfo* forward = nullptr;
  const BackwardStageInfo* backward = nullptr;
  std::map<std::string, std::string> says;  // stage.conf
} library;

// The stage.conf that make has laid beside the variants; a drill has none.
StageConf conf_of(const fs::path& path) {
  std::ifstream file(path);
  if (!file) return library.conf;
  auto conf = parse_conf({std::istreambuf_iterator<char>(file), {}}, path.string());
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

// The function that a stage exports, as the harness calls it.
cudaError_t launch_library(const AttentionArgs& a) {
  static const auto attention = reinterpret_cast<decltype(&::attention)>(library_symbol("attention"));
  return attention(a.q, a.k, a.v, a.out, a.shape.B, a.shape.H, a.shape.S, a.shape.D, a.scale, a.shape.causal,
                   a.workspace, a.stream);
}

// From stage.conf's tiles="<64,2> 64x64 16 2; <128> ...", for an instance of the kernel: query rows x keys of a tile,
// query rows of a warp, slots.
void read_tile(LaunchPlan& plan, const std::string& instance) {
  std::istringstream list(stage_says("tiles"));
  for (std::string entry; std::getline(list, entry, ';');) {
    char name[32];
    if (std::sscanf(entry.c_str(), " %31s %dx%d %d %d", name, &plan.tile_m, &plan.tile_n, &plan.rows_per_warp,
                    &plan.slots) == 5 &&
        instance.ends_with(name))
      return;
  }
}

// How the stage launches a shape, by a launch that is recorded alone.
LaunchPlan plan_of_library(const Shape& shape) {
  LaunchPlan plan;
  const std::vector<Launched> launched = launches_of(subject(), shape, exec_options().multiprocessors);
  if (launched.empty()) throw std::invalid_argument(library.stage + " does not launch " + text(shape));
  const Launched& l = launched[0];
  plan.kernel = kernel_name(l.kernel);
  std::erase(plan.kernel, ' ');
  plan.parts = l.cluster.x;
  plan.grid = dim3(l.grid.x / plan.parts, l.grid.y, l.grid.z), plan.block = l.block;
  plan.smem = l.dynamic_smem, plan.half_p = stage_says("half_p") == "yes";
  read_tile(plan, plan.kernel);
  return plan;
}

// The same of the backward pass: a whole call, or the gradients alone.
template <bool WHOLE>
cudaError_t launch_backward(const BackwardArgs& a) {
  static const auto backward = reinterpret_cast<decltype(&::attention_backward)>(
      library_symbol(WHOLE ? "attention_backward" : "attention_backward_gradients"));
  return backward(a.q, a.k, a.v, a.dout, a.dq, a.dk, a.dv, a.shape.B, a.shape.H, a.shape.S, a.shape.D, a.scale,
                  a.shape.causal, a.workspace, a.stream);
}

// By its symbols, and by stage.conf: tile="64x128", query rows x keys.
BackwardStageInfo backward_of_library() {
  BackwardStageInfo stage{library.stage.c_str(),
                          launch_backward<true>,
                          [](const Shape& shape) { return subject().workspace(shape) / sizeof(float); },
                          0,
                          0,
                          stage_says("half_p") == "yes"};
  if (std::sscanf(stage_says("tile").c_str(), "%dx%d", &stage.tile_m, &stage.tile_n) != 2)
    throw BadInput("stage.conf: tile=" + stage_says("tile") + ": must be query rows x keys");
  if (library_symbol("attention_backward_gradients")) stage.gradients = launch_backward<false>;
  return stage;
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
  if (library_symbol("attention")) {
    static const StageInfo stage{library.stage.c_str(), launch_library, plan_of_library};
    library.forward = &stage;
  }
  if (library_symbol("attention_backward")) {
    static const BackwardStageInfo stage = backward_of_library();
    library.backward = &stage;
  }
  if (library_symbol("drill")) return Pass::drill;
  if (!library.forward && !library.backward) throw BadInput(path + " exports no stage");
  return library.forward ? Pass::forward : Pass::backward;
}

void* beside_runner(const std::string& file, const char* function) {
  return dlsym(opened(fs::read_symlink("/proc/self/exe").parent_path() / file, RTLD_GLOBAL), function);
}

std::string stage_says(const std::string& key) {
  const auto found = library.says.find(key);
  return found == library.says.end() ? "" : found->second;
}
const std::string& kernel_library() { return library.path; }
std::size_t offset_in_library(const void* address) { return reinterpret_cast<std::size_t>(address) - library.base; }
void* library_symbol(const char* name) { return dlsym(library.handle, name); }

void load_signatures() {
  const fs::path signatures = fs::absolute(library.path).parent_path().parent_path() / "signatures.so";
  if (fs::exists(signatures)) opened(signatures);
}

const char* stage_name() { return library.stage.c_str(); }
const char* planted_bug() { return library.bug.c_str(); }
bool can_check() { return library.instrumented; }
const StageConf& stage_conf() { return library.conf; }

const BackwardStageInfo& backward_stage() {
  if (!library.backward) throw std::logic_error("no backward stage is loaded");
  return *library.backward;
}

// The forward harness's reports ask for the stage's name. Of a backward stage this is what they find; it cannot be launched
// through it.
const StageInfo& stage() {
  static const StageInfo nothing{stage_name(), [](const AttentionArgs&) { return cudaErrorInvalidValue; },
                                 [](const Shape&) { return LaunchPlan{}; }};
  return library.forward ? *library.forward : nothing;
}

}  // namespace lab
