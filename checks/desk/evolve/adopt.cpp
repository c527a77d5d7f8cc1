#include "checks/acceptance/format.hpp"
#include "checks/desk/evolve/evolve.hpp"

namespace lab::desk {

constexpr double MOST_LOSS = 0.01;  // on any other shape

Adoption adoption_of(const BenchRun& run, const std::string& stage, const std::string& evolved,
                     const std::string& searched) {
  Adoption result;
  double gain = 0;
  bool seen = false;
  std::string loss;
  for (const BenchCase& old : run.cases) {
    if (old.program != stage) continue;
    const auto before = graph_time(&old), after = graph_time(run.find(evolved, old.shape));
    if (!before || !after) {
      result.lines.push_back(old.shape + ": not timed");
      loss = loss.empty() ? old.shape + " was not timed" : loss;
      continue;
    }
    std::string peer = "no peer";
    double best = 0;
    for (const BenchCase& c : run.cases)
      if (const auto time = graph_time(&c); c.shape == old.shape && is_peer(c.program) && time)
        if (best == 0 || *time < best) best = *time, peer = format("%s %.2f", c.program.c_str(), *time);
    result.lines.push_back(format("%-22s %9.2f -> %9.2f us, %+.1f %%; %s", old.shape.c_str(), *before, *after,
                                  100 * (*after / *before - 1), peer.c_str()));
    if (old.shape == searched) gain = 1 - *after / *before, seen = true;
    if (*after > *before * (1 + MOST_LOSS))
      loss = loss.empty() ? format("%s is %.1f %% slower", old.shape.c_str(), 100 * (*after / *before - 1)) : loss;
  }
  if (!seen)
    result.lines.push_back("not adopted: " + searched + " is not among the shapes that were timed");
  else if (gain < MUST_GAIN)
    result.lines.push_back(
        format("not adopted: %s gains %.1f %%, and 3 %% are asked for", searched.c_str(), 100 * gain));
  else if (!loss.empty())
    result.lines.push_back("not adopted: " + loss);
  else
    result.good = true, result.lines.push_back(format("holds: %s gains %.1f %%, and no shape loses more than 1 %%",
                                                      searched.c_str(), 100 * gain));
  return result;
}

// adopt MAKE STAGE LOG ROUNDS SHAPES [write]
int adopt_command(const Args& args) {
  const std::string &stage = args[1], &path = args[2];
  if (path.empty()) throw BadInput("which log? evolve-adopt needs json=FILE, as `make evolve` named it");
  const SearchLog log = read_log(read_text(path), path);
  if (log.stage != stage) throw BadInput(path + " is of " + log.stage + ", not of " + stage);
  if (log.fitness != "time") throw BadInput(path + " holds a model's figures; only measured ones can be adopted");
  const Elite elite = elite_of(log.candidates);
  if (elite.members().empty()) throw BadInput(path + " has no right candidate");
  const Candidate& winner = elite.members()[0];
  const Shape shape = *shape_of(log.shape);
  const Levers levers(stage);
  if (log.kernel != candidate_id(stage, levers.kernel() + read_text("stages/" + stage + "/levers.conf")))
    std::printf("%s is of another kernel.cu or levers.conf; timed here is the one that is there, with its levers\n",
                path.c_str());
  const std::string difference_text = difference(log.candidates[0].levers, winner.levers);
  if (winner.id == log.candidates[0].id) {
    std::printf("the winner is the stage as it is: nothing to adopt\n");
    return 0;
  }
  std::printf("%s %s: %s\n", stage.c_str(), winner.id.c_str(), difference_text.c_str());
  if (const std::string why = levers.objection_to_adopting(winner.levers, shape); !why.empty()) {
    std::printf("not adopted: %s\n", why.c_str());
    return 1;
  }
  const std::string kernel = levers.adopted(winner.levers, shape), dir = "build/gpu/" + stage + "/evolve-adopted";
  write_if_changed(dir + "/source.cu", "#line 1 \"" + dir + "/source.cu\"\n" + kernel);
  const std::string lab = dir + "/lab", fixed = "build/gpu/" + stage + "/fixed/lab";
  if (run({args[0], "-s", "backend=gpu", lab, fixed}, "build/logs/evolve-adopt.log").status != 0)
    throw BadInput("it does not build: see build/logs/evolve-adopt.log");
  const Setting taken = levers.own(shape, capture(with({lab, "plan"}, split(log.shape, ","))).out);
  for (const Lever& lever : levers.all())
    if (lever.in_table && taken.at(lever.name) != winner.levers.at(lever.name))
      std::printf("for this shape the stage takes %s=%s and not %s: what chooses the row has to be changed by hand\n",
                  lever.name.c_str(), taken.at(lever.name).c_str(), winner.levers.at(lever.name).c_str());
  if (const Ended test = run({lab, "test"}); test.status != 0) {
    std::printf("not adopted: its acceptance is red\n");
    return 1;
  }
  const std::string json = fs::path(path).replace_extension("").string() + "-adopt.json";
  const Ended bench =
      run({"build/desk-records", "bench", args[4].empty() ? "all" : args[4], args[3], json, "", fixed, lab});
  if (bench.status != 0) return bench.status;
  const Adoption adoption = adoption_of(last_bench_run(), stage, program_of(lab), log.shape);
  for (const std::string& line : adoption.lines) std::printf("%s\n", line.c_str());
  if (adoption.good && args.size() == 6) {
    write_text(kernel_path(stage), kernel);
    std::printf("stages/%s/kernel.cu has its levers now; next: `make format`, its test, `make resources`\n",
                stage.c_str());
  }
  return adoption.good ? 0 : 1;
}

// desk-records cheaters: the referee must refuse every cheater, with the safeguard that its patch predicts, and pass the
// kernel that they are made from.

namespace {

const std::string CHEATERS = "checks/evolve/cheaters", HONEST = "honest";
const std::string SHAPE = "1,2,96,64";
constexpr int SECONDS = 60;

}  // namespace

bool caught_as_predicted(const Candidate& c, const std::string& predicted) {
  const std::string safeguard = c.reason.substr(0, c.reason.find(": "));
  if (c.verdict.empty() || safeguard.size() == c.reason.size()) return false;
  const std::vector<std::string> all = split(replaced(predicted, " or ", ", "), ", ");
  return std::ranges::find(all, safeguard) != all.end();
}

int cheaters_command(const Args& args) {
  std::vector<std::pair<std::string, std::string>> all = {{HONEST, ""}};  // name, safeguards
  std::string stage;
  for (const fs::path& path : files_in(CHEATERS, ".patch")) {
    const Patch patch = read_patch(path.string());
    stage = fs::path(patch.source).parent_path().filename();
    all.emplace_back(path.stem(), patch.predicted);
  }
  const auto dir = [&](const std::string& name) { return "build/" + args[1] + "/" + stage + "/evolve-" + name; };
  std::string names;
  for (const auto& [name, predicted] : all) {
    const std::string kernel = kernel_path(stage), text = read_text(kernel);
    write_if_changed(dir(name) + "/source.cu",
                     name == HONEST ? "#line 1 \"" + kernel + "\"\n" + text
                                    : patched_for_compiler(read_patch(CHEATERS + "/" + name + ".patch"), text));
    names += (names.empty() ? "" : " ") + name;
  }
  run({args[0], "-s", "-k", "backend=" + args[1], "stage=" + stage, "only=" + names, "evolve-labs"},
      "build/logs/evolve-cheaters.log");
  Counts counts;
  for (const auto& [name, predicted] : all) {
    Candidate c;
    const std::string log = dir(name) + "/judge.log";
    if (!fs::exists(dir(name) + "/judge")) {
      c.verdict = "broken", c.reason = "does not build, see " + dir(name) + "/kernel.log";
    } else {
      const Ended ended = run_limited({dir(name) + "/judge", "judge", "shape=" + SHAPE}, log, SECONDS);
      read_judge(c, read_text(log), ended.status, ended.timed_out);
    }
    const bool good = name == HONEST ? c.verdict.empty() && c.right == true : caught_as_predicted(c, predicted);
    counts.add(good);
    std::printf("%-18s %s%s\n", name.c_str(), c.verdict.empty() ? "passes" : ("refused, " + c.reason).c_str(),
                good ? "" : ("; WANTED: " + (name == HONEST ? "passes" : predicted)).c_str());
  }
  return told(counts);
}

}  // namespace lab::desk
