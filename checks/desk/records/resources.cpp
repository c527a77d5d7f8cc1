#include "checks/desk/records/resources.hpp"

#include <algorithm>
#include <cstdlib>
#include <regex>

#include "checks/acceptance/format.hpp"
#include "checks/desk/desk.hpp"
#include "checks/desk/records/json_text.hpp"
#include "common/target.hpp"

namespace lab::desk {
namespace {

// The lab's own budget, that of the source notes' GPU; a stage may ask for less.
constexpr int MAX_REGISTERS = 72;
constexpr const Target& NOTES = TARGETS[0];

// "_ZN7lab..9attentionILi64ELi2EEv..." -> "attention<64,2>"
std::string kernel_name(const std::string& mangled) {
  static const std::regex INSTANCE("attentionI((?:Li[0-9]+E)+)");
  std::smatch found;
  if (!std::regex_search(mangled, found, INSTANCE)) return mangled;
  const std::string arguments = std::regex_replace(found.str(1), std::regex("Li([0-9]+)E"), "$1,");
  return "attention<" + arguments.substr(0, arguments.size() - 1) + ">";
}

long number_after(const std::string& line, const std::regex& pattern) {
  std::smatch found;
  return std::regex_search(line, found, pattern) ? std::atol(found.str(1).c_str()) : 0;
}

std::string line_of(const ResourceRow& r) {
  return format("%-18s %-20s %-5s  %-18s %4d %3s %8ld B %6.1f KiB %6ld %6ld  %s\n", r.stage.c_str(), r.bug.c_str(),
                r.arch.c_str(), r.kernel.c_str(), r.registers, r.allowed > 0 ? std::to_string(r.allowed).c_str() : "",
                r.smem, double(r.smem) / 1024, r.stack, r.spills, r.over.empty() ? "ok" : ("over: " + r.over).c_str());
}

}  // namespace

Budget budget_of(const std::string& stage, const std::string& target, const std::string& registers) {
  Budget budget;
  for (const Target& t : TARGETS)
    if (target == t.name) budget = {target, MAX_REGISTERS, long(t.smem_per_block)};
  if (budget.arch.empty()) throw BadInput(stage + ": target=\"" + target + "\" is no target of common/target.hpp");
  if (registers.empty()) return budget;
  const bool digits = std::ranges::all_of(registers, [](char c) { return c >= '0' && c <= '9'; });
  if (!digits || registers.size() > 3)
    throw BadInput(stage + ": registers=\"" + registers + "\" is no number up to 255");
  budget.registers = std::atoi(registers.c_str());
  return budget;
}

std::vector<ResourceRow> read_ptxas(const std::string& log) {
  static const std::regex STACK("([0-9]+) bytes stack frame"), STORES("([0-9]+) bytes spill stores"),
      LOADS("([0-9]+) bytes spill loads"), USED("Used ([0-9]+) registers"), SMEM("([0-9]+) bytes smem");
  std::vector<ResourceRow> rows;
  ResourceRow row;
  for (const std::string& line : lines_of(log)) {
    if (line.find("Compiling entry function") != line.npos) {
      row = {};
      row.kernel = kernel_name(line);
    } else if (line.find("bytes stack frame") != line.npos) {
      row.stack = number_after(line, STACK), row.spills = number_after(line, STORES) + number_after(line, LOADS);
    } else if (std::regex_search(line, USED)) {
      row.registers = int(number_after(line, USED)), row.static_smem = number_after(line, SMEM);
      rows.push_back(row);
    }
  }
  if (rows.empty()) throw BadInput("ptxas named no kernel");
  return rows;
}

std::map<std::string, long> dynamic_smem(const std::vector<std::string>& plans) {
  std::map<std::string, long> bytes;
  for (const std::string& text : plans) {
    const Json plan = parse_json(text, "lab plan");
    if (!plan.is_object() || !plan.contains("D") || !plan.contains("slots") || !plan.contains("dynamic_smem"))
      throw BadInput("lab plan: no D, slots or dynamic_smem in it");
    const std::string kernel = "attention<" + plan["D"].dump();
    // A stage of one slot has a kernel without that parameter.
    bytes[kernel + ">"] = bytes[kernel + "," + plan["slots"].dump() + ">"] = plan["dynamic_smem"];
  }
  return bytes;
}

void judge(ResourceRow& row, const std::map<std::string, long>& dynamic, const Budget& budget) {
  const auto asked = dynamic.find(row.kernel);
  if (asked == dynamic.end()) throw BadInput(row.stage + " " + row.bug + ": no plan launches " + row.kernel);
  row.smem = row.static_smem + asked->second;
  std::vector<std::string> over;
  if (row.arch == budget.arch) {
    row.allowed = budget.registers;
    if (row.registers > budget.registers) over.push_back("registers");
    if (row.smem > budget.smem) over.push_back("shared memory");
  }
  if (row.spills > 0) over.push_back("spills");
  row.over = joined(over, " ");
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
  return out +
         format("\nBug builds over the budget of %s (%d registers, %zu B, no spills):\n", NOTES.name, MAX_REGISTERS,
                NOTES.smem_per_block) +
         bugs;
}

std::string resources_json(const std::vector<ResourceRow>& rows, const std::string& nvcc) {
  std::string kernels;
  for (const ResourceRow& r : rows)
    kernels += (kernels.empty() ? "    " : ",\n    ") + one_line({{"stage", r.stage},
                                                                  {"bug", r.bug},
                                                                  {"arch", r.arch},
                                                                  {"kernel", r.kernel},
                                                                  {"registers", r.registers},
                                                                  {"smem", r.smem},
                                                                  {"static_smem", r.static_smem},
                                                                  {"stack", r.stack},
                                                                  {"spills", r.spills},
                                                                  {"over", r.over}});
  const Json budget = {{"arch", NOTES.name}, {"registers", MAX_REGISTERS}, {"smem", NOTES.smem_per_block}};
  return "{\n  \"schema\": \"resources-1\",\n  " + members({{"nvcc", nvcc}}) +
         ",\n  \"command\": \"make resources\",\n  \"budget\": " + one_line(budget) + ",\n  \"kernels\": [\n" +
         kernels + "\n  ]\n}\n";
}

}  // namespace lab::desk
