#include "checks/desk/records/plans.hpp"

#include <algorithm>

#include "checks/desk/desk.hpp"
#include "checks/desk/records/json_text.hpp"

namespace lab::desk {
namespace {

Json read_plan(const std::string& text) {
  Json plan = parse_json(text, "lab plan");
  for (const char* key : {"stage", "target", "B", "H", "S", "D", "tile_m", "tile_n", "rows_per_warp", "slots", "grid",
                          "block", "smem", "arrays"})
    if (!plan.is_object() || !plan.contains(key)) throw BadInput(std::string("lab plan: no '") + key + "' in it");
  return plan;
}

// A member as a table shows it; several numbers with `between`.
std::string cell(const Json& value, const char* between = ",") {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump();
  std::vector<std::string> parts;
  for (const Json& item : value) parts.push_back(cell(item));
  return joined(parts, between);
}

// One plan's cells of each row of the table.
struct Column {
  std::string shape, smem, tile, rows_per_warp, slots, grid, threads;
  struct Array {
    std::string name, type, extent, bytes;
  };
  std::vector<Array> arrays;

  explicit Column(const std::string& text) {
    const Json plan = read_plan(text);
    shape = "(" + cell(plan["B"]) + "," + cell(plan["H"]) + "," + cell(plan["S"]) + "," + cell(plan["D"]) + ")";
    smem = cell(plan["smem"]);
    tile = cell(plan["tile_m"]) + " queries x " + cell(plan["tile_n"]) + " keys";
    rows_per_warp = cell(plan["rows_per_warp"]);
    slots = cell(plan["slots"]);
    grid = cell(plan["grid"], " x ");
    threads = cell(plan["block"].at(0));
    for (const Json& a : plan["arrays"]) {
      const std::string pitch = a.at("pitch") > 1 ? " x " + cell(a.at("pitch")) : "";
      arrays.push_back({cell(a.at("name")), cell(a.at("type")), cell(a.at("rows")) + pitch, cell(a.at("bytes"))});
    }
  }
};

}  // namespace

std::string plans_json(const std::vector<std::string>& plans) {
  std::string out =
      "{\n\"schema\": \"plans-1\",\n\"command\": \"make figure-data\",\n"
      "\"budget\": {\"arch\": \"sm_89\", \"smem\": 101376},\n\"plans\": [\n";
  for (std::size_t i = 0; i < plans.size(); ++i) {
    (void)read_plan(plans[i]);
    out += (i == 0 ? "" : ",\n") + plans[i];
  }
  return out + "\n]\n}\n";
}

std::string plan_table(const std::string& first, const std::string& second) {
  const Column a(first), b(second);
  std::string out = "| | " + a.shape + " | bytes | " + b.shape + " | bytes |\n|---|---|--:|---|--:|\n";
  // A kernel for one of the shapes may have an array more than that for the other.
  const auto array = [&](const Column::Array& named) {
    out += "| `" + named.name + "`, " + named.type;
    for (const Column* column : {&a, &b}) {
      const auto found = std::ranges::find(column->arrays, named.name, &Column::Array::name);
      out += found == column->arrays.end() ? " | – | –" : " | " + found->extent + " | " + found->bytes;
    }
    out += " |\n";
  };
  for (const Column::Array& x : a.arrays) array(x);
  for (const Column::Array& x : b.arrays)
    if (std::ranges::find(a.arrays, x.name, &Column::Array::name) == a.arrays.end()) array(x);
  const auto row = [&](const std::string& what, const std::string& x, const std::string& y) {
    out += "| " + what + " | " + x + " | | " + y + " | |\n";
  };
  out += "| **shared memory per block** | | **" + a.smem + "** | | **" + b.smem + "** |\n";
  row("tile", a.tile, b.tile);
  row("rows a computing warp owns", a.rows_per_warp, b.rows_per_warp);
  row("K/V slots", a.slots, b.slots);
  row("grid, blocks of " + (a.threads == b.threads ? a.threads : a.threads + " and " + b.threads) + " threads", a.grid,
      b.grid);
  return out;
}

}  // namespace lab::desk
