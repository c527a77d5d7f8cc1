// desk-records resources LABS [JSON]: compiles every kernel, fixed and with each bug, for its target (and the correct
// ones of sm_89 for sm_90 too), and judges what ptxas says. Writes JSON if named; else holds the committed one against
// what this nvcc says, if it is of the same version. With STAGE that stage alone, beside the one that an own kernel
// comes from. Exit status 1 if a correct kernel is over its budget, or the committed figures are stale.
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "checks/desk/desk.hpp"
#include "checks/desk/ladder.hpp"
#include "checks/desk/process.hpp"
#include "checks/desk/records/json_text.hpp"
#include "checks/desk/records/labs.hpp"
#include "checks/desk/records/machine.hpp"
#include "checks/desk/records/nvcc.hpp"
#include "checks/desk/records/resources.hpp"

namespace lab::desk {
namespace {

namespace fs = std::filesystem;

const std::string COMMITTED = "writeups/results/resources.json";

// 512 keys take two slots for K/V tiles, 2048 take three; from v3g on these are also one shape for each tile.
std::map<std::string, std::size_t> plans_of(const std::string& lab) {
  std::vector<std::string> plans;
  for (const std::string shape : {"1 8 512 64", "2 8 2048 64", "1 8 512 128", "2 8 2048 128", "2 8 2048 64 causal",
                                  "4 16 8192 64", "4 16 8192 128"}) {
    Args command = {lab, "plan"};
    for (const std::string& word : words_of(shape)) command.push_back(word);
    const Ran plan = capture(command);
    if (plan.status != 0) throw BadInput("no plan from " + lab + ": " + plan.err);
    plans.push_back(plan.out);
  }
  return dynamic_smem(plans);
}

// The differences, line by line; the two are made by one program, and have as many lines unless a kernel came or went.
std::string difference(const std::string& committed, const std::string& now) {
  constexpr std::size_t SHOWN = 3;
  const auto before = lines_of(committed), after = lines_of(now);
  std::string out;
  std::size_t shown = 0;
  for (std::size_t i = 0; i < std::max(before.size(), after.size()) && shown < SHOWN; ++i) {
    const std::string a = i < before.size() ? before[i] : "", b = i < after.size() ? after[i] : "";
    if (a == b) continue;
    out += "< " + a + "\n> " + b + "\n";
    ++shown;
  }
  return out;
}

}  // namespace

int resources_command(const Args& args) {
  const std::string nvcc = nvcc_release(), json = args.size() > 1 ? args[1] : "";
  if (nvcc.empty()) throw BadInput("make resources needs nvcc, which is not on the PATH");
  const std::string one = args.size() > 2 ? args[2] : "";
  Ladder ladder = read_ladder();
  if (!one.empty()) {
    const std::optional<Stage> own = own_kernel(one);
    const std::string neighbour = own ? own->says("from") : one;
    std::erase_if(ladder.stages, [&](const Stage& stage) { return stage.dir != neighbour; });
    if (own) ladder.stages.push_back(*own);
  }
  std::vector<Compilation> all;
  for (const Stage& stage : ladder.stages) {
    const std::string source = kernel_path(stage.dir), target = stage.says("target");
    all.push_back({stage.dir, "", target, source});
    if (target == "sm_89") all.push_back({stage.dir, "", "sm_90", source});
    for (const Bug& bug : one.empty() ? stage.bugs : std::vector<Bug>())
      all.push_back({stage.dir, bug.name, target,
                     fs::path(lab_path(args[0], stage.dir, variant_of(bug.name, ""))).replace_filename("kernel.cu")});
  }
  std::map<std::string, StageBudget> budgets;
  for (const Stage& stage : ladder.stages)
    budgets[stage.dir] = budget_of(stage.dir, stage.says("target"), stage.says("registers"), stage.says("smem"));
  compile_all(all);

  std::vector<ResourceRow> rows;
  std::vector<std::string> complaints;  // of correct kernels: what ptxas gave up of their wgmma, and wrong declarations
  for (const Compilation& c : all) {
    if (c.nvcc.status != 0) {
      std::fprintf(stderr, "nvcc refuses %s for %s:\n%s%s", c.source.c_str(), c.arch.c_str(), c.nvcc.out.c_str(),
                   c.nvcc.err.c_str());
      return 1;
    }
    const auto dynamic = plans_of(lab_path(args[0], c.stage, variant_of(c.bug, "fixed")));
    const PtxasLog log = parse_ptxas(c.nvcc.out + c.nvcc.err);
    if (log.kernels.empty()) throw BadInput("ptxas names no kernel of " + c.source + " for " + c.arch);
    for (const KernelResources& used : log.kernels)
      rows.push_back(judged(c.stage, c.bug, used, dynamic, budgets[c.stage]));
    if (c.bug.empty())
      for (const std::string& line : log.lost) complaints.push_back(c.stage + ": " + line);
  }
  std::fputs(resources_table(rows).c_str(), stdout);
  for (const std::string& line : wrong_smem(rows, budgets)) complaints.push_back(line);
  for (const std::string& line : complaints) std::printf("%s\n", line.c_str());
  int passed = 0, failed = int(complaints.size());
  for (const ResourceRow& row : rows)
    if (row.bug.empty()) ++(row.over.empty() ? passed : failed);
  const std::string now = resources_json(rows, nvcc);
  if (one.empty()) write_text("build/resources.json", now);
  if (!json.empty()) {
    write_text(json, now);
  } else if (one.empty() &&
             load_results(COMMITTED, "resources-1", "make resources json=" + COMMITTED).value("nvcc", "") == nvcc) {
    const std::string committed = laid_out(parse_json(read_text(COMMITTED), COMMITTED), 2);
    ++(committed == now ? passed : failed);
    if (committed != now)
      std::printf("%s is stale; make resources json=%s renews it:\n%s", COMMITTED.c_str(), COMMITTED.c_str(),
                  difference(committed, now).c_str());
  }
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}

}  // namespace lab::desk
