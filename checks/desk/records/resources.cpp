#include "checks/desk/records/resources.hpp"

#include <algorithm>

#include "checks/acceptance/format.hpp"
#include "checks/desk/desk.hpp"
#include "checks/desk/records/json_text.hpp"
#include "common/number.hpp"

namespace lab::desk {
namespace {

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

}  // namespace

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
    const Json plan = parse_json(text, "lab plan");
    if (!plan.is_object() || !plan.contains("D") || !plan.contains("slots") || !plan.contains("dynamic_smem"))
      throw BadInput("lab plan: no D, slots or dynamic_smem in it");
    if (plan.contains("kernel")) {  // its numbers may be others, and look like another kernel's slots
      bytes[plan["kernel"].get<std::string>()] = plan["dynamic_smem"];
      continue;
    }
    const std::string kernel = "attention<" + plan["D"].dump();
    // A kernel's second number is its slots, or the rows that a warp owns (16 or more); a stage of one tile per D has
    // none.
    bytes[kernel + ">"] = bytes[kernel + "," + plan["slots"].dump() + ">"] = plan["dynamic_smem"];
    if (plan.contains("rows_per_warp") && plan["rows_per_warp"] >= 16)
      bytes[kernel + "," + plan["rows_per_warp"].dump() + ">"] = plan["dynamic_smem"];
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
      lines.push_back(format("%s: stage.conf declares smem=%zu, its largest kernel asks for %zu B", stage.c_str(),
                             budget.smem, most));
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
  return out + "\nBug builds over their stage's budget (registers, shared memory, no spills):\n" + bugs;
}

std::string resources_json(const std::vector<ResourceRow>& rows, const std::string& nvcc) {
  Json kernels = Json::array();
  for (const ResourceRow& r : rows)
    kernels.push_back({{"stage", r.stage},
                       {"bug", r.bug},
                       {"arch", r.used.arch},
                       {"kernel", r.used.kernel},
                       {"registers", r.used.registers},
                       {"smem", r.smem},
                       {"static_smem", r.used.static_smem},
                       {"stack", r.used.stack},
                       {"spills", r.used.spill_stores + r.used.spill_loads},
                       {"over", r.over}});
  return laid_out({{"schema", "resources-1"},
                   {"nvcc", nvcc},
                   {"command", "make resources"},
                   {"budget", {{"arch", SM_89.name}, {"registers", LAB_REGISTERS}, {"smem", SM_89.smem_per_block}}},
                   {"kernels", kernels}},
                  2);
}

}  // namespace lab::desk
