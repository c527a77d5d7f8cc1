#include <cmath>

#include "checks/acceptance/format.hpp"
#include "checks/desk/records/records.hpp"
#include "checks/runner/commands.hpp"
#include "common/number.hpp"

namespace lab::desk {
namespace {

std::string number(const std::optional<double>& value) { return value ? format("%.6g", *value) : ""; }

// A fact as the program wrote it, "" where there is none.
std::string fact(const BenchCase& c, const std::string& name) {
  const auto found = c.facts.find(name);
  return found == c.facts.end() ? "" : found->second;
}

// "1500-1980": least and most.
std::string range(const std::vector<double>& v) {
  if (v.empty()) return "";
  const auto [least, most] = std::ranges::minmax(v);
  return number(least) + (least == most ? "" : "-" + number(most));
}

std::string columns_of(const Shape& s) { return format("%d,%d,%d,%d,%d", s.B, s.H, s.S, s.D, int(s.causal)); }

const fs::path WORK = "build/bench";

struct Meta {
  std::string lines;
  void add(const std::string& key, const std::string& value) { lines += "meta\t" + key + "\t" + value + "\n"; }
};

}  // namespace

std::string bench_csv(const BenchRun& run, const std::string& name) {
  std::string out = "# " + name + ":";
  for (const auto& [key, value] : run.meta) out += " " + key + " " + value + ";";
  for (const auto& [ceiling, figure] : run.ceilings) out += " " + ceiling + " " + number(spread(figure).median) + ";";
  out +=
      "\nrun,program,B,H,S,D,causal,status,us,p10,p90,flushed_us,call_us,call_flushed_us,tflops,mhz,watts,energy_uj,"
      "peer,over_peer,over_p10,over_p90,max_diff\n";
  for (const BenchCase& c : run.cases) {
    for (const auto& [what, value] : c.facts)
      if (!number_in<double>(value, 0)) throw BadInput("samples: '" + value + "' is no number");
    out += name + "," + c.program + "," + columns_of(*shape_of(c.shape)) + "," + c.status;
    if (graph_time(&c)) {
      const auto of = [&](const char* figure) -> std::optional<Spread> {
        const auto found = c.figures.find(figure);
        return found == c.figures.end() ? std::nullopt : std::optional(spread(found->second));
      };
      const auto median = [&](const char* figure) {
        const auto s = of(figure);
        return s ? number(s->median) : "";
      };
      const Spread graph = *of("graph");
      const Ratios r = ratios(run, c);
      const auto over = [&](double Spread::*part) { return r.vs_pytorch ? number((*r.vs_pytorch).*part) : ""; };
      for (const std::string& value :
           {number(graph.median), number(graph.p10), number(graph.p90), median("graph_flushed"), median("call"),
            median("call_flushed"), number(r.tflops), range(c.sm_mhz), range(c.watts), fact(c, "energy_uj"), r.pytorch,
            over(&Spread::median), over(&Spread::p10), over(&Spread::p90), fact(c, "max_diff")})
        out += "," + value;
    } else {
      out += std::string(15, ',');
    }
    out += "\n";
  }
  return out;
}

std::string sweep_csv(const BenchRun& run) {
  std::string out = "program,B,H,S,D,causal,us\n";
  for (const BenchCase& c : run.cases)
    if (const auto us = graph_time(&c))
      out += c.program + "," + columns_of(*shape_of(c.shape)) + "," + number(us) + "\n";
  return out;
}

BenchRun last_bench_run() {
  std::vector<std::string> texts;
  for (const fs::path& path : files_in(WORK, "")) texts.push_back(read_text(path.string()));
  return read_samples(texts);
}

// desk-records bench: every stage and PyTorch's attention on the same shapes, alternately, so that a drifting clock or
// a temporary neighbour affects them all alike. One CSV a run; a table at the end.
//   bench SHAPES ROUNDS FILE STAGE LAB...
// SHAPES as `lab bench shape=` takes them; ROUNDS "" is 3; FILE "" is build/bench-DATE.csv when all stages run, and none
// for a single one, which also leaves PyTorch out. PYTHON in the environment names Python.
// SHAPES "sweep" is a map of the fastest program by shape: one quick round of the stages for the GPU at hand.
int bench_command(const Args& args) {
  const std::string &shapes = args[0], &stage = args[3];
  std::string csv = args[2];
  const bool sweeps = shapes == "sweep";
  const int rounds = args[1].empty() ? (sweeps ? 1 : 3) : whole_number("rounds", args[1], 1, 9999);
  (void)bench_shapes(shapes);  // refuses what the binaries would refuse
  Args labs(args.begin() + 4, args.end());
  if (sweeps && labs.size() > 1) {  // others are 2 to 100 times slower, and would take most of the time
    const Ladder ladder = read_ladder();
    std::erase_if(labs,
                  [&](const std::string& lab) { return ladder.stage(stage_of(lab))->says("target") != "sm_90a"; });
  }
  if (!stage.empty() && csv.empty())
    return run({labs[0], "bench", "shape=" + shapes, sweeps ? "quick=1" : "quick=0"}).status;

  fs::remove_all(WORK);
  fs::create_directories(WORK);
  Meta meta;
  meta.add("command", "make " + (stage.empty() ? "" : "stage=" + stage + " ") + "bench shape='" + shapes +
                          "' rounds=" + std::to_string(rounds));
  for (const auto& [key, value] : measured_on()) meta.add(key, value);
  meta.add("clock_limit_mhz", gpu_field("clocks.max.sm"));
  meta.add("power_limit", gpu_field("power.limit"));
  for (const std::string& lab : labs)
    meta.add("kernel " + stage_of(lab), first_line({"sha256sum", kernel_path(stage_of(lab))}).substr(0, 16));
  write_text(WORK / "000-meta", meta.lines);

  const char* given = std::getenv("PYTHON");
  Args peers = words_of(given && *given ? given : "python3");
  peers.push_back("reference/peers.py");
  Args options = {};
  if (sweeps) options = {"quick=1"};
  if (!stage.empty()) peers.clear();
  if (!peers.empty() && run(with(peers, {"shape=" + shapes, "probe=1"})).status != 0) {
    std::printf("bench: the stages go without peers\n");
    peers.clear();
  }
  std::vector<Args> programs;
  for (const std::string& lab : labs) programs.push_back(with({runner_of(lab), lab, "bench"}, options));
  if (!peers.empty()) programs.push_back(with(peers, options));

  // The short shapes and the long ones take turns apart: a round of the short ones is over before the GPU has warmed
  // up.
  const Args groups = shapes == "all" ? Args{"acceptance", "long"} : Args{shapes};
  const int turns = rounds * int(groups.size() * programs.size());
  const Stopwatch watch;
  int turn = 0, status = 0;
  BenchRun results;
  const std::string date = utc_time().substr(0, 10);
  const auto write = [&] { write_text(csv, sweeps ? sweep_csv(results) : bench_csv(results, date)); };
  for (int round = 1; round <= rounds; ++round)
    for (const std::string& group : groups)
      for (const Args& program : programs) {
        ++turn;
        const std::string name = &program == &programs.back() && !peers.empty() ? "peers" : stage_of(program[1]);
        std::printf("turn %d of %d: round %d, %s, %s, %d more after it, %s\n", turn, turns, round, group.c_str(),
                    name.c_str(), turns - turn,
                    turn > 1 ? format("about %.0f s left", watch.seconds() * (turns - turn + 1) / (turn - 1)).c_str()
                             : "no estimate yet");
        const std::string file = WORK / format("%03d", turn);
        const int ended =
            run(with(program, {"shape=" + group, "round=" + std::to_string(round), "out=" + file})).status;
        if (ended == STAGE_SKIPPED) continue;  // it has said why
        if (ended != 0) status = 1;
        if (!fs::exists(file)) throw BadInput("bench: " + name + " left no samples");
        results = last_bench_run();
        if (!csv.empty()) write();  // a run that is cut off keeps what it has, but only where it was asked to
      }
  if (results.cases.empty()) throw BadInput("bench: no program ran here, and no results were written");
  if (csv.empty()) {
    csv = "build/" + std::string(sweeps ? "sweep" : "bench") + "-" + date + ".csv";
    write();
  }
  std::printf("%sresults: %s\n", (sweeps ? sweep_table(results) : bench_table(results)).c_str(), csv.c_str());
  return status;
}

}  // namespace lab::desk
