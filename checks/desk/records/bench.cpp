#include <cmath>

#include "checks/acceptance/format.hpp"
#include "checks/desk/records/records.hpp"
#include "common/number.hpp"

namespace lab::desk {
namespace {

Json number(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json number(const std::string& text) {
  const Json value = Json::parse(text, nullptr, false);
  if (!value.is_number()) throw BadInput("samples: '" + text + "' is no number of JSON");
  return value;
}

Json json(const Spread& s) { return {{"median", s.median}, {"p10", s.p10}, {"p90", s.p90}, {"samples", s.samples}}; }

Json json(const Figure& figure) {
  Json all = json(spread(figure));
  all["rounds"] = Json::array();
  for (const auto& [round, values] : figure.rounds) all["rounds"].push_back(json(spread(values)));
  return all;
}

Json range(const std::vector<double>& v) {
  if (v.empty()) return nullptr;
  return Json::array({*std::ranges::min_element(v), *std::ranges::max_element(v)});
}

// What was asked, what came of it, what was seen, the figures, what follows.
Json json(const BenchRun& run, const BenchCase& c) {
  const Shape s = *shape_of(c.shape);
  Json all = {{"program", c.program},
              {"kind", is_peer(c.program) ? "peer" : "stage"},
              {"shape", c.shape},
              {"B", s.B},
              {"H", s.H},
              {"S", s.S},
              {"D", s.D},
              {"causal", s.causal},
              {"status", c.status},
              {"detail", c.detail},
              {"flop", flop(s)},
              {"bytes", bytes(s)}};
  for (const auto& [name, value] : c.facts) all[name] = number(value);
  if (!graph_time(&c)) return all;
  all["sm_mhz"] = range(c.sm_mhz), all["watts"] = range(c.watts);
  for (const std::string_view figure : FIGURES) {
    const auto found = c.figures.find(std::string(figure));
    all["figures"][std::string(figure)] = found == c.figures.end() ? Json(nullptr) : json(found->second);
  }
  const Ratios r = ratios(run, c);
  all["tflops"] = r.tflops, all["gbs"] = r.gbs;
  all["share_of_matrix"] = number(r.of_matrix), all["share_of_bandwidth"] = number(r.of_bandwidth);
  all["faster_than_previous"] = number(r.vs_previous), all["previous"] = r.previous;
  all["times_pytorch"] = r.vs_pytorch ? Json(r.vs_pytorch->median) : Json(nullptr);
  all["times_pytorch_p10"] = r.vs_pytorch ? Json(r.vs_pytorch->p10) : Json(nullptr);
  all["times_pytorch_p90"] = r.vs_pytorch ? Json(r.vs_pytorch->p90) : Json(nullptr);
  all["pytorch"] = r.pytorch;
  return all;
}

const fs::path WORK = "build/bench";

struct Meta {
  std::string lines;
  void add(const std::string& key, const std::string& value) { lines += "meta\t" + key + "\t" + value + "\n"; }
};

std::string default_name(const std::string& kind, const std::string& date, std::string gpu) {
  if (gpu.starts_with("NVIDIA ")) gpu.erase(0, 7);
  std::string name = date + "-" + gpu;
  std::erase(name, ':');
  for (char& c : name)
    if (!std::isalnum((unsigned char)c)) c = '-';
  return "writeups/results/" + kind + "-" + name + ".json";
}

}  // namespace

std::string bench_json(const BenchRun& run) {
  Json all = {{"schema", "bench-1"}};
  for (const auto& [key, value] : run.meta) all[key] = value;
  all["kernels"] = all["ceilings"] = Json::object(), all["cases"] = Json::array();
  for (const auto& [stage, hash] : run.kernels) all["kernels"][stage] = hash;
  for (const auto& [name, figure] : run.ceilings) all["ceilings"][name] = json(figure);
  for (const BenchCase& c : run.cases) all["cases"].push_back(json(run, c));
  return laid_out(all, 4);
}

std::string sweep_json(const BenchRun& run) {
  Json all = {{"schema", "sweep-1"}};
  for (const auto& [key, value] : run.meta) all[key] = value;
  all["kernels"] = all["shapes"] = Json::object();
  for (const auto& [stage, hash] : run.kernels) all["kernels"][stage] = hash;
  for (const BenchCase& c : run.cases)
    if (const auto us = graph_time(&c)) all["shapes"][c.shape][c.program] = *us;
  return laid_out(all, 2, 4);
}

BenchRun last_bench_run() {
  std::vector<std::string> texts;
  for (const fs::path& path : files_in(WORK, "")) texts.push_back(read_text(path.string()));
  return read_samples(texts);
}

// desk-records bench: every stage and PyTorch's attention on the same shapes, alternately, so that a drifting clock or
// a temporary neighbour affects them all alike. One JSON a run; a table at the end.
//   bench SHAPES ROUNDS JSON STAGE LAB...
// SHAPES as `lab bench shape=` takes them; ROUNDS "" is 3; JSON "" is writeups/results/bench-DATE-GPU.json when all
// stages run, and none for a single one, which also leaves PyTorch out. PYTHON in the environment names Python.
// SHAPES "sweep" is a map of the fastest program by shape: one quick round of the stages for the GPU at hand, sweep-*.json.
int bench_command(const Args& args) {
  const std::string &shapes = args[0], &stage = args[3];
  std::string json = args[2];
  const bool sweeps = shapes == "sweep";
  const int rounds = args[1].empty() ? (sweeps ? 1 : 3) : whole_number("rounds", args[1], 1, 9999);
  (void)bench_shapes(shapes);  // refuses what the binaries would refuse
  Args labs(args.begin() + 4, args.end());
  if (sweeps && labs.size() > 1) {  // others are 2 to 100 times slower, and would take most of the time
    const Ladder ladder = read_ladder();
    std::erase_if(labs,
                  [&](const std::string& lab) { return ladder.stage(stage_of(lab))->says("target") != "sm_90a"; });
  }
  if (!stage.empty() && json.empty())
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
  for (const std::string& lab : labs) programs.push_back(with({lab, "bench"}, options));
  if (!peers.empty()) programs.push_back(with(peers, options));

  // The short shapes and the long ones take turns apart: a round of the short ones is over before the GPU has warmed
  // up.
  const Args groups = shapes == "all" ? Args{"acceptance", "long"} : Args{shapes};
  const int turns = rounds * int(groups.size() * programs.size());
  const Stopwatch watch;
  int turn = 0, status = 0;
  BenchRun results;
  const auto write = [&] { write_text(json, sweeps ? sweep_json(results) : bench_json(results)); };
  for (int round = 1; round <= rounds; ++round)
    for (const std::string& group : groups)
      for (const Args& program : programs) {
        ++turn;
        const std::string name = &program == &programs.back() && !peers.empty() ? "peers" : stage_of(program[0]);
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
        if (!json.empty()) write();  // a run that is cut off keeps what it has, but only where it was asked to
      }
  if (results.cases.empty()) throw BadInput("bench: no program ran here, and no results were written");
  if (json.empty()) {  // among the committed results, which figures are drawn from: whole, or not there
    json = default_name(sweeps ? "sweep" : "bench", utc_time(), gpu_field("name"));
    write();
  }
  std::printf("%sresults: %s\n", (sweeps ? sweep_table(results) : bench_table(results)).c_str(), json.c_str());
  return status;
}

}  // namespace lab::desk
