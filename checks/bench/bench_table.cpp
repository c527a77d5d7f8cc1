// bench-table NAME CSV SAMPLES...: the samples of a run (bench.sh) as a CSV with the columns of writeups/results/bench.csv, and as a
// table; NAME sweep: the fastest of each shape, with the columns of sweep.csv.
#include <algorithm>
#include <cstdio>

#include "checks/acceptance/format.hpp"
#include "checks/acceptance/whole_file.hpp"
#include "checks/bench/bench_samples.hpp"
#include "checks/runner/commands.hpp"

namespace lab {
namespace {

std::string number(const std::optional<double>& value) { return value ? format("%.6g", *value) : ""; }

// "1500-1980": least and most.
std::string range(const std::vector<double>& v) {
  if (v.empty()) return "";
  const auto [least, most] = std::ranges::minmax(v);
  return number(least) + (least == most ? "" : "-" + number(most));
}

std::string columns_of(const BenchCase& c) {
  const Shape s = *shape_of(c.shape);
  return c.program + format(",%d,%d,%d,%d,%d", s.B, s.H, s.S, s.D, int(s.causal));
}

}  // namespace

std::string bench_csv(const BenchRun& run, const std::string& name) {
  std::string out = "# " + name + ":";
  for (const auto& [key, value] : run.meta) out += " " + key + " " + value + ";";
  for (const auto& [ceiling, figure] : run.ceilings) out += " " + ceiling + " " + number(spread(figure).median) + ";";
  out +=
      "\nrun,program,B,H,S,D,causal,status,us,p10,p90,flushed_us,call_us,call_flushed_us,tflops,mhz,watts,energy_uj,"
      "peer,over_peer,over_p10,over_p90,max_diff\n";
  for (const BenchCase& c : run.cases) {
    out += name + "," + columns_of(c) + "," + c.status;
    if (!graph_time(&c)) {
      out += std::string(15, ',') + "\n";
      continue;
    }
    const auto median = [&](const char* figure) {
      const auto found = c.figures.find(figure);
      return found == c.figures.end() ? "" : number(spread(found->second).median);
    };
    const auto fact = [&](const char* key) {
      const auto found = c.facts.find(key);
      return found == c.facts.end() ? "" : found->second;
    };
    const Spread graph = spread(c.figures.at("graph"));
    const Ratios r = ratios(run, c);
    const auto over = [&](double Spread::*part) { return r.vs_pytorch ? number((*r.vs_pytorch).*part) : ""; };
    for (const std::string& value :
         {number(graph.median), number(graph.p10), number(graph.p90), median("graph_flushed"), median("call"),
          median("call_flushed"), number(r.tflops), range(c.sm_mhz), range(c.watts), fact("energy_uj"), r.pytorch,
          over(&Spread::median), over(&Spread::p10), over(&Spread::p90), fact("max_diff")})
      out += "," + value;
    out += "\n";
  }
  return out;
}

std::string sweep_csv(const BenchRun& run) {
  std::string out = "program,B,H,S,D,causal,us\n";
  for (const BenchCase& c : run.cases)
    if (const auto us = graph_time(&c)) out += columns_of(c) + "," + number(us) + "\n";
  return out;
}

int bench_table_command(std::span<char*> args) {
  if (args.size() < 3) throw BadInput("bench-table NAME CSV SAMPLES...");
  std::vector<std::string> texts;
  for (const char* file : args.subspan(2)) texts.push_back(read_whole(file));
  const BenchRun run = read_samples(texts);
  if (run.cases.empty()) throw BadInput("bench: no program ran here, and no results were written");
  const std::string name = args[0];
  write_whole(args[1], name == "sweep" ? sweep_csv(run) : bench_csv(run, name), "out");
  std::fputs((name == "sweep" ? sweep_table(run) : bench_table(run)).c_str(), stdout);
  return 0;
}

}  // namespace lab
