#include "checks/acceptance/format.hpp"
#include "checks/desk/records/records.hpp"
#include "common/gpu_fit.hpp"
#include "common/number.hpp"

namespace lab::desk {
namespace {

// When a header that a kernel may include was last touched.
fs::file_time_type newest_header() {
  fs::file_time_type newest = fs::file_time_type::min();
  for (const auto& entry : fs::recursive_directory_iterator("common"))
    if (entry.path().extension() == ".cuh" || entry.path().extension() == ".hpp")
      newest = std::max(newest, entry.last_write_time());
  return newest;
}

template <class Number>
Number number(const std::string& stage, const char* key, const std::string& text) {
  if (const auto value = number_in<Number>(text, 1)) return *value;
  throw BadInput(stage + ": stage.conf says " + key + "=\"" + text + "\", which is no number from 1 on");
}

std::string line_of(const ResourceRow& r) {
  const KernelResources& u = r.used;
  return format("%-18s %-20s %-5s  %-18s %4d %3s %8zu B %6.1f KiB %6zu %6zu  %s\n", r.stage.c_str(), r.bug.c_str(),
                u.arch.c_str(), u.kernel.c_str(), u.registers, r.allowed > 0 ? std::to_string(r.allowed).c_str() : "",
                r.smem, double(r.smem) / 1024, u.stack, u.spill_stores + u.spill_loads,
                r.over.empty() ? "ok" : ("over: " + r.over).c_str());
}

const std::string COMMITTED = "writeups/results/resources.csv";

// 512 keys take two slots for K/V tiles, 2048 take three; from v3h on these are also one shape for each tile.
std::map<std::string, std::size_t> plans_of(const std::string& lab) {
  std::vector<std::string> plans;
  for (const std::string shape : {"1 8 512 64", "2 8 2048 64", "1 8 512 128", "2 8 2048 128", "2 8 2048 64 causal",
                                  "4 16 8192 64", "4 16 8192 128"}) {
    const Ran plan = capture(with({runner_of(lab), lab, "plan"}, words_of(shape)));
    if (plan.status != 0) throw BadInput("no plan from " + lab + ": " + plan.err);
    plans.push_back(plan.out);
  }
  return dynamic_smem(plans);
}

// Of a backward stage, which launches several kernels: short grids and long ones.
std::map<std::string, std::size_t> backward_plans_of(const std::string& lab) {
  const Ran symbols = capture({"nm", "--defined-only", lab});
  if (symbols.status != 0) throw BadInput("no symbols of " + lab + ": " + symbols.err);
  std::map<std::string, std::size_t> bytes;
  for (const std::string shape : {"1 8 512 64", "2 8 2048 64", "1 8 512 128", "2 8 2048 128"}) {
    const Ran plan = capture(with({runner_of(lab), lab, "plan"}, words_of(shape)));
    if (plan.status != 0) throw BadInput("no plan from " + lab + ": " + plan.err);
    bytes.merge(launched_smem(plan.out, symbols.out));
  }
  return bytes;
}

struct Compilation {
  std::string stage, bug, arch, source;  // bug: "" for the correct kernel; arch: "sm_89"
  Ran nvcc = {};
};

// Compiles all with `ptxas -v`, as many at once as JOBS in the environment says, else as there are cores. The objects
// go to build/cubins/STAGE-BUG-ARCH.cubin. An earlier result of the same nvcc for the same files is reused.
void compile_all(std::vector<Compilation>& all) {
  const auto version = lines_of(capture({"nvcc", "--version"}).out);
  const std::string work = "build/cubins/", compiler = version.empty() ? "no nvcc" : version.back();
  const auto headers = newest_header();
  const auto compiled = [&](const Compilation& c) {
    const std::string name = work + c.stage + "-" + c.bug + "-" + c.arch, log = name + ".log";
    fs::create_directories(fs::path(name).parent_path());
    const Args command = {"nvcc",    "-std=c++20", "-O3", "-fmad=false", "-arch=" + c.arch, "-cubin",
                          "-Xptxas", "-v",         "-I.", "-o",          name + ".cubin",   c.source};
    const std::string key = compiler + ": " + joined(command, " ");
    if (const auto said = said_before(log, key, std::max(headers, fs::last_write_time(c.source))))
      return Ran{0, "", *said};
    const auto begun = fs::file_time_type::clock::now();
    Ran ran = capture(command);
    if (ran.status != 0) return ran;
    write_text(log, key + "\n" + ran.out + ran.err);
    fs::last_write_time(log, begun);  // what was edited while nvcc ran is newer
    return ran;
  };
  const char* jobs = std::getenv("JOBS");
  const auto at_a_time = number_in<std::size_t>(jobs ? jobs : "", 1).value_or(cores());
  std::size_t next = 0;
  side_by_side(at_a_time, std::vector(all), compiled, [&](const Ran& ran) { all[next++].nvcc = ran; });
}

}  // namespace

std::optional<std::string> said_before(const std::string& log, const std::string& key, fs::file_time_type inputs) {
  std::error_code missing;
  const auto written = fs::last_write_time(log, missing);
  if (missing || written <= inputs) return std::nullopt;
  const std::string text = read_text(log);
  return text.starts_with(key + "\n") ? std::optional(text.substr(key.size() + 1)) : std::nullopt;
}

std::string trouble_in(const Ran& nvcc) {
  const std::string text = nvcc.out + nvcc.err;
  if (nvcc.status != 0) {
    const std::string error = line_with(text, {"error", "fatal"});
    return error.empty() ? "nvcc ends with status " + std::to_string(nvcc.status) : error;
  }
  const PtxasLog log = parse_ptxas(text);
  if (!log.lost.empty()) return log.lost.front();
  return log.kernels.empty() ? "ptxas names no kernel" : "";
}

StageBudget budget_of(const std::string& stage, const std::string& target, const std::string& registers,
                      const std::string& smem) {
  StageBudget budget;
  budget.target = find_target(target);
  if (!budget.target) throw BadInput(stage + ": stage.conf says target=\"" + target + "\", which is none of the lab's");
  budget.registers = number<int>(stage, "registers", registers);
  budget.smem = number<std::size_t>(stage, "smem", smem);
  if (budget.smem > budget.target->smem_per_block)
    throw BadInput(stage + ": stage.conf says smem=\"" + smem + "\"; " + target + " has " +
                   std::to_string(budget.target->smem_per_block) + " B per block");
  return budget;
}

std::map<std::string, std::size_t> dynamic_smem(const std::vector<std::string>& plans) {
  std::map<std::string, std::size_t> bytes;
  for (const std::string& text : plans) {
    const auto plan = facts_in(text);
    const auto fact = [&](const char* name) {
      const auto found = plan.find(name);
      return found == plan.end() ? throw BadInput(std::string("plan: no ") + name) : found->second;
    };
    const std::size_t dynamic = std::stoul(fact("dynamic_smem"));
    if (plan.contains("kernel")) {  // its numbers may be others, and look like another kernel's slots
      bytes[fact("kernel")] = dynamic;
      continue;
    }
    const std::string kernel = "attention<" + fact("D");
    // A kernel's second number is its slots, or the rows that a warp owns (16 or more); a stage of one tile per D has
    // none.
    bytes[kernel + ">"] = bytes[kernel + "," + fact("slots") + ">"] = dynamic;
    if (std::stoi(fact("rows_per_warp")) >= 16) bytes[kernel + "," + fact("rows_per_warp") + ">"] = dynamic;
  }
  return bytes;
}

std::map<std::string, std::size_t> launched_smem(const std::string& plan, const std::string& symbols) {
  std::map<std::string, std::string> names;  // address, without the zeros before it
  for (const std::string& line : lines_of(symbols))
    if (const std::vector<std::string> words = words_of(line); words.size() == 3)
      names[words[0].substr(std::min(words[0].find_first_not_of('0'), words[0].size()))] = words[2];
  std::map<std::string, std::size_t> bytes;
  for (const auto& [address, dynamic] : facts_in(plan)) {
    const auto name = names.find(address);
    if (name == names.end()) throw BadInput("plan: no symbol at " + address);
    bytes[readable_kernel(name->second)] = std::stoul(dynamic);
  }
  return bytes;
}

ResourceRow judged(const std::string& stage, const std::string& bug, const KernelResources& used,
                   const std::map<std::string, std::size_t>& dynamic, const StageBudget& budget) {
  const auto asked = dynamic.find(used.kernel);
  if (asked == dynamic.end())
    throw BadInput(stage + (bug.empty() ? "" : " with " + bug) + ": no plan launches " + used.kernel);
  ResourceRow row;
  row.stage = stage, row.bug = bug, row.used = used;
  row.smem = used.static_smem + asked->second;
  if (used.arch == budget.target->name) row.allowed = budget.registers;
  StageBudget allowed = budget;
  if (!bug.empty()) allowed.smem = 0;  // a bug may ask for more than its stage declares, as long as its target has it
  row.over = over_budget(used, asked->second, allowed);
  return row;
}

std::vector<std::string> wrong_smem(const std::vector<ResourceRow>& rows,
                                    const std::map<std::string, StageBudget>& budgets) {
  std::vector<std::string> lines;
  for (const auto& [stage, budget] : budgets) {
    std::size_t most = 0;
    for (const ResourceRow& row : rows)
      if (row.stage == stage && row.bug.empty()) most = std::max(most, row.smem);
    if (most != budget.smem)
      lines.push_back(format("%s: stage.conf declares smem=%zu, its largest kernel asks for %zu B: write that there",
                             stage.c_str(), budget.smem, most));
  }
  return lines;
}

std::string resources_table(const std::vector<ResourceRow>& rows) {
  std::string out = format("%-18s %-20s %-5s  %-18s %4s %3s %10s %10s %6s %6s\n", "stage", "bug", "arch", "kernel",
                           "regs", "of", "smem", "", "stack", "spills");
  std::string bugs;
  for (const ResourceRow& row : rows)
    if (row.bug.empty())
      out += line_of(row);
    else if (!row.over.empty())
      bugs += line_of(row);
  const bool alone = std::ranges::all_of(rows, [](const ResourceRow& row) { return row.bug.empty(); });
  return alone ? out : out + "\nBug builds over their stage's budget (registers, shared memory, no spills):\n" + bugs;
}

std::string resources_csv(const std::vector<ResourceRow>& rows, const std::string& nvcc) {
  std::string out = "# nvcc " + nvcc +
                    ", make resources. smem, static_smem, stack, spills: bytes. over: what breaks the stage's budget.\n"
                    "stage,bug,arch,kernel,registers,smem,static_smem,stack,spills,over\n";
  const auto quoted = [](const std::string& text) { return text.find(',') != text.npos ? '"' + text + '"' : text; };
  for (const ResourceRow& r : rows)
    out += format("%s,%s,%s,%s,%d,%zu,%zu,%zu,%zu,%s\n", r.stage.c_str(), r.bug.c_str(), r.used.arch.c_str(),
                  quoted(r.used.kernel).c_str(), r.used.registers, r.smem, r.used.static_smem, r.used.stack,
                  r.used.spill_stores + r.used.spill_loads, quoted(r.over).c_str());
  return out;
}

// desk-records resources LABS [CSV]: compiles every kernel for its target (those of sm_89 for sm_90 too), and judges
// what ptxas says. Writes CSV if named; else holds the committed one against what this nvcc says, if it is of the same
// version. Then every kernel for the other architectures that its stage.conf claims. With STAGE that stage alone, beside
// the one that an own kernel comes from. Exit status 1 if a kernel is over its budget, does not compile or compiles with
// what trouble_in() names, or the committed figures are stale.
int resources_command(const Args& args) {
  const std::string nvcc = nvcc_release(), csv = args.size() > 1 ? args[1] : "";
  if (nvcc.empty()) throw BadInput("make resources needs nvcc, which is not on the PATH");
  const std::string one = args.size() > 2 ? args[2] : "";
  const Ladder ladder = read_ladder();
  std::vector<Stage> stages;
  std::set<std::string> backward;
  const std::optional<Stage> own = own_kernel(one);
  for (const Stage* stage : ladder.all()) {
    if (one.empty() || stage->dir == (own ? own->says("from") : one)) stages.push_back(*stage);
    if (stage->is_backward()) backward.insert(stage->dir);
  }
  if (own) stages.push_back(*own);
  std::vector<Compilation> all;
  for (const Stage& stage : stages) {
    const std::string source = kernel_path(stage.dir), target = stage.says("target");
    all.push_back({stage.dir, "", target, source});
    if (target == "sm_89") all.push_back({stage.dir, "", "sm_90", source});
  }
  std::map<std::string, StageBudget> budgets;
  for (const Stage& stage : stages)
    budgets[stage.dir] = budget_of(stage.dir, stage.says("target"), stage.says("registers"), stage.says("smem"));
  const std::size_t judged_here = all.size();
  const std::vector<std::string> known = words_of(capture({"nvcc", "--list-gpu-code"}).out);
  for (const Stage& stage : stages)
    for (const std::string& arch : claimed_architectures({stage.dir, stage.says("target"), stage.says("needs")}, known))
      if (std::ranges::none_of(
              all, [&](const Compilation& c) { return c.stage == stage.dir && c.bug.empty() && c.arch == arch; }))
        all.push_back({stage.dir, "", arch, kernel_path(stage.dir)});
  compile_all(all);
  const std::vector<Compilation> elsewhere(all.begin() + std::ptrdiff_t(judged_here), all.end());
  all.resize(judged_here);

  std::vector<ResourceRow> rows;
  std::vector<std::string> complaints;  // of correct kernels: what ptxas gave up of their wgmma, and wrong declarations
  for (const Compilation& c : all) {
    if (c.nvcc.status != 0) {
      std::fprintf(stderr, "nvcc refuses %s for %s:\n%s%s", c.source.c_str(), c.arch.c_str(), c.nvcc.out.c_str(),
                   c.nvcc.err.c_str());
      return 1;
    }
    const std::string lab = lab_path(args[0], c.stage, variant_of(c.bug, "fixed"));
    const auto dynamic = backward.contains(c.stage) ? backward_plans_of(lab) : plans_of(lab);
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
  Counts counts{0, int(complaints.size())};
  for (const ResourceRow& row : rows)
    if (row.bug.empty()) counts.add(row.over.empty());
  std::printf("\nThe other architectures that each stage claims:");
  std::string last;
  for (const Compilation& c : elsewhere) {
    if (c.stage != last) std::printf("\n%-20s", (last = c.stage).c_str());
    const std::string trouble = trouble_in(c.nvcc);
    counts.add(trouble.empty());
    std::printf(" %s%s%s", c.arch.c_str(), trouble.empty() ? "" : " RED: ", trouble.c_str());
  }
  std::printf("\n");
  const std::string now = resources_csv(rows, nvcc);
  if (!csv.empty()) {
    write_text(csv, now);
  } else if (const std::string committed = read_text(COMMITTED);
             one.empty() && committed.starts_with("# nvcc " + nvcc + ",")) {
    counts.add(committed == now);
    if (committed != now) std::printf("%s is stale; make resources record=1 renews it\n", COMMITTED.c_str());
  }
  return told(counts);
}

}  // namespace lab::desk
