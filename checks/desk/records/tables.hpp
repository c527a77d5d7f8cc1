// The pages' tables that come from running binaries and from committed results, as Markdown.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "checks/acceptance/verdict.hpp"
#include "checks/desk/records/json_text.hpp"

namespace lab::desk {

// A stage's tile and shared memory for two shapes side by side, as a Markdown table.
std::string plan_table(const std::string& first, const std::string& second);

// What `lab blindness` printed: the mission shape under two kinds of inputs, not causal and causal, and schedules.
struct Blindness {
  struct Answer {
    std::string largest, verdict;  // "0.000119" or "NaN" or "-"; "pass", "fail"; "refused", "hangs", "stops"
  };
  std::array<Answer, 2> notes, unit;  // not causal, causal
  std::string schedules;              // "differ" or "agree", "" where the backend cannot choose
};
// Throws BadInput naming `binary` where one of the four answers is missing or no answer.
Blindness read_blindness(const std::string& printed, const std::string& binary);

// A line of `make blindness`.
std::string blindness_row(const std::string& title, const Blindness& answers);

// The CPU checker's findings, from the output of `lab racecheck`, in a table's cell.
std::string checker_cell(const Verdict& racecheck);

// The findings of one of compute-sanitizer's tools in a build, from tools-1: "not run", "-" or its kinds in short.
std::string tool_cell(const Json& tools, const std::string& stage, const std::string& bug, const std::string& tool);

// A line of `make tools-table`.
std::string tools_row(const std::string& title, const Blindness& answers, const Verdict& racecheck, const Json& tools,
                      const std::string& stage, const std::string& bug);
std::string tools_footer(const Json& tools, const std::string& path);

// "REGISTERS | SMEM" over the correct kernels of a stage at `arch`, smallest to largest.
std::string resources_cell(const Json& resources, const std::string& stage, const std::string& arch);

}  // namespace lab::desk
