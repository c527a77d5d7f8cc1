// What `lab plan` says, for pages and figures.
#pragma once
#include <string>
#include <vector>

namespace lab::desk {

// Schema plans-1, each plan as the lab printed it. Throws BadInput for one that is no plan.
std::string plans_json(const std::vector<std::string>& plans);

// A stage's tile and shared memory for two shapes side by side, as a Markdown table.
std::string plan_table(const std::string& first, const std::string& second);

}  // namespace lab::desk
