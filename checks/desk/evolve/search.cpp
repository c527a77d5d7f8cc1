// build/desk-evolve: the elite loop itself.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <map>
#include <thread>

#include "checks/acceptance/format.hpp"
#include "checks/bench/bench_samples.hpp"
#include "checks/desk/evolve/commands.hpp"
#include "checks/desk/evolve/fitness.hpp"
#include "checks/desk/evolve/log.hpp"
#include "checks/desk/process.hpp"
#include "checks/desk/records/capture.hpp"
#include "checks/desk/records/machine.hpp"

namespace lab::desk {
namespace {

namespace fs = std::filesystem;

constexpr int JUDGE_SECONDS = 20, JUDGE_SECONDS_ON_CPU = 600;
constexpr int TURNS = 2;  // that a child and whom it would replace take, before it does

// KEY=VALUE words, in which VALUE may be empty: make hands all of them over.
class Words {
 public:
  Words(const Args& args, std::size_t from) {
    for (std::size_t i = from; i < args.size(); ++i) {
      const std::size_t equals = args[i].find('=');
      if (equals == args[i].npos) throw BadInput("'" + args[i] + "' is not key=value");
      if (equals + 1 < args[i].size()) values_[args[i].substr(0, equals)] = args[i].substr(equals + 1);
    }
  }
  std::string text(const std::string& key, const std::string& otherwise) const {
    const auto found = values_.find(key);
    return found == values_.end() ? otherwise : found->second;
  }
  int whole(const std::string& key, int otherwise, int most) const {
    const std::string value = text(key, std::to_string(otherwise));
    const bool digits = value.size() < 7 && std::ranges::all_of(value, [](char c) { return c >= '0' && c <= '9'; });
    if (!digits || std::atoi(value.c_str()) < 1 || std::atoi(value.c_str()) > most)
      throw BadInput(key + "=" + value + ": must be a whole number from 1 to " + std::to_string(most));
    return std::atoi(value.c_str());
  }

 private:
  std::map<std::string, std::string> values_;
};

class Search {
 public:
  Search(const Args& args, const Words& words)
      : make_(args[0]), backend_(args[1]), levers_(args[2]), timed_(backend_ == "gpu") {
    const std::string word = words.text("shape", timed_ ? "2,8,2048,64" : "1,2,384,64");
    const auto shapes = bench_shapes(word);
    if (shapes.size() != 1) throw BadInput("shape=" + word + ": one shape is asked for");
    shape_ = shapes[0];
    log_.stage = levers_.stage(), log_.shape = shape_word(shape_), log_.backend = backend_;
    log_.fitness = timed_ ? "time" : "model";
    log_.kernel = candidate_id(log_.stage, levers_.kernel() + read_text("stages/" + log_.stage + "/levers.conf"));
    log_.seed = std::uint64_t(words.whole("seed", 1, 999999));
    for (const Lever* lever : levers_.for_shape(shape_)) log_.levers.emplace_back(lever->name, lever->trades);
    std::string name = log_.shape;
    std::ranges::replace(name, ',', '-');
    path_ = words.text("json", "build/evolve/" + log_.stage + "-" + name + "-" + backend_ + ".json");
    batch_ = words.whole("candidates", std::max(4, int(std::thread::hardware_concurrency())), 1000);
  }

  std::string program(const std::string& id) const { return dir(id) + "/judge"; }

  // Goes on where the log ends, if it is of these levers and this kernel.
  void resume() {
    if (fs::exists(path_)) {
      SearchLog before = read_log(read_text(path_), path_);
      if (before.stage != log_.stage || before.shape != log_.shape || before.fitness != log_.fitness)
        throw BadInput(path_ + " is of another stage, shape or backend; give another json=, or remove it");
      if (before.kernel != log_.kernel)
        throw BadInput(path_ + " is of another kernel.cu or levers.conf; give another json=, or remove it");
      if (before.seed != log_.seed) throw BadInput(path_ + " has seed=" + std::to_string(before.seed));
      log_.candidates = before.candidates, log_.machine = before.machine;
      for (const Candidate& c : log_.candidates) known_.insert(c.id);
      elite_ = elite_of(log_.candidates);
      if (!log_.candidates.empty()) generation_ = log_.candidates.back().generation + 1;
      std::printf("%s: goes on after %zu candidates\n", path_.c_str(), log_.candidates.size());
    } else {
      log_.machine = {{"date", utc_time()}, {"commit", commit()}, {"machine", host()}, {"cuda", nvcc_release()}};
      if (timed_) {
        log_.machine.emplace_back("gpu", gpu_field("name"));
        log_.machine.emplace_back("driver", gpu_field("driver_version"));
        log_.machine.emplace_back("clock_limit_mhz", gpu_field("clocks.max.sm"));
      }
    }
  }

  // The first generation is the table's rows and children of the stage as it is; every other are the elite's.
  std::vector<Proposal> next_generation() {
    std::vector<Proposal> all;
    Elite parents = elite_;
    if (generation_ == 0) {
      all = beginnings(levers_, shape_, own());
      for (const Proposal& p : all) known_.insert(p.candidate.id);
      Candidate start = all[0].candidate;
      start.right = true, start.us = {1};
      if (parents.members().empty()) parents.judge(start);
    }
    std::size_t to_build = all.size();
    for (int place = 0; int(to_build) < batch_; ++place) {
      auto p = propose(levers_, shape_, parents, known_, log_.seed, generation_, place);
      if (!p) break;
      to_build += p->candidate.verdict.empty();
      all.push_back(std::move(*p));
    }
    ++generation_;
    return all;
  }

  // Compiles what is not there yet. Nothing is timed of a candidate that is being built.
  void build(const std::vector<Proposal>& proposals) const {
    std::string ids;
    for (const Proposal& p : proposals) {
      if (!p.candidate.verdict.empty()) continue;
      write_if_changed(dir(p.candidate.id) + "/source.cu", p.source);
      write_if_changed(dir(p.candidate.id) + "/levers", setting_text(p.candidate.levers));
      ids += (ids.empty() ? "" : " ") + p.candidate.id;
    }
    if (!ids.empty())
      run({"nice", "-n", "10", make_, "-s", "-k", "backend=" + backend_, "stage=" + log_.stage, "only=" + ids,
           "evolve-labs"},
          "build/logs/evolve-" + log_.stage + ".log");
  }

  void measure(Proposal& p) {
    Candidate& c = p.candidate;
    if (c.verdict.empty()) {
      const std::string log = dir(c.id) + "/kernel.log";
      read_build_log(c, fs::exists(log) ? read_text(log) : "", fs::exists(program(c.id)));
    }
    if (c.verdict.empty()) referee(c);
    if (c.verdict.empty() && !timed_) c.us = {model_of(program(c.id), log_.shape, dir(c.id) + "/counters.json")};
    if (timed_ && c.verdict.empty())
      if (const Candidate* last = elite_.would_replace(c)) in_turns(c, *last);
    elite_.judge(c);
    log_.candidates.push_back(c);
    write_text(path_, log_json(log_));
    say(c);
  }

  // Until the time, the generations or the ideas are spent.
  void loop(double minutes, int generations) {
    const auto begin = std::chrono::steady_clock::now();
    const auto spent = [&] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > 60 * minutes;
    };
    if (const std::vector<Proposal> again = elite_again(); !again.empty()) build(again);
    std::vector<Proposal> now = next_generation();
    build(now);
    for (int g = 0; !now.empty(); ++g) {
      // While these are measured, the next are built: children of the elite as it was before them. Not where the
      // processor is the machine that is asked.
      std::vector<Proposal> next;
      std::future<void> built;
      const bool more = g + 1 < generations;
      if (more && timed_ && !elite_.members().empty()) {
        next = next_generation();
        built = std::async(std::launch::async, [&] { build(next); });
      }
      for (Proposal& p : now)
        if (!spent()) measure(p);
      if (built.valid()) built.get();
      if (!more || spent()) break;
      if (next.empty()) next = next_generation(), build(next);
      now = std::move(next);
    }
    if (now.empty()) std::printf("no untried pair of levers is left\n");
    std::printf("%s%s\n", log_text(log_).c_str(), path_.c_str());
  }

  // What was built elsewhere, and nothing else.
  void run_built(double minutes) {
    const auto begin = std::chrono::steady_clock::now();
    std::map<std::string, Proposal> found;
    const std::string stage_dir = "build/" + backend_ + "/" + log_.stage;
    if (fs::exists(stage_dir))
      for (const auto& entry : fs::directory_iterator(stage_dir)) {
        const std::string name = entry.path().filename().string();
        if (!name.starts_with("evolve-") || !fs::exists(entry.path() / "judge") || !fs::exists(entry.path() / "levers"))
          continue;
        Proposal p;
        p.candidate.id = name.substr(7);
        p.candidate.levers = setting_of(read_text((entry.path() / "levers").string()));
        // A build of another head dimension, or of a kernel that has changed since, is another program.
        try {
          if (!levers_.objection(p.candidate.levers, shape_).empty()) continue;
          p.source = levers_.narrowed(p.candidate.levers, shape_);
        } catch (const BadInput&) {
          continue;
        }
        if (candidate_id(log_.stage, p.source) == p.candidate.id) found[p.candidate.id] = p;
      }
    std::vector<Proposal> all = beginnings(levers_, shape_, own());
    const std::string start = all[0].candidate.id;
    std::erase_if(all, [&](const Proposal& p) { return !found.contains(p.candidate.id); });
    for (const Proposal& p : all) found.erase(p.candidate.id);
    for (auto& [id, p] : found) p.candidate.parent = start, all.push_back(p);
    std::erase_if(all, [&](const Proposal& p) { return known_.contains(p.candidate.id); });
    if (all.empty()) std::printf("nothing is built that was not tried: make stage=... evolve-build\n");
    for (Proposal& p : all)
      if (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < 60 * minutes) {
        if (!p.candidate.parent.empty()) p.candidate.changed = changed_names(all[0].candidate.levers, p);
        measure(p);
      }
    std::printf("%s%s\n", log_text(log_).c_str(), path_.c_str());
  }

  // The start and the elite once more, in turns and with other inputs than the search had: what of their gain holds.
  void confirm(int rounds) {
    if (log_.candidates.empty()) throw BadInput(path_ + " is not there, or holds no candidates: first make evolve");
    std::vector<Candidate> some = {log_.candidates[0]};
    for (const Candidate& c : elite_.members())
      if (c.id != some[0].id) some.push_back(c);
    std::vector<Proposal> to_build;
    for (const Candidate& c : some) {
      Proposal p;
      p.candidate.id = c.id, p.candidate.levers = c.levers, p.source = levers_.narrowed(c.levers, shape_);
      if (!fs::exists(program(c.id))) to_build.push_back(p);
    }
    build(to_build);
    std::vector<std::vector<double>> turns(some.size());
    judge_seed_ = 100000;  // not the search's
    for (int round = 0; round < rounds; ++round)
      for (std::size_t i = 0; i < some.size(); ++i) {
        const std::size_t which = round % 2 ? some.size() - 1 - i : i;
        Candidate again;
        again.id = some[which].id;
        referee(again);
        if (again.right.value_or(false) && !timed_)
          again.us = {model_of(program(again.id), log_.shape, dir(again.id) + "/counters.json")};
        if (!again.right.value_or(false) || again.us.empty())
          throw BadInput(again.id + " is " + again.verdict + " this time: " + again.reason);
        turns[which].push_back(again.time());
      }
    const std::string path = fs::path(path_).replace_extension("").string() + "-confirm.json";
    SearchLog now;
    now.machine = {{"date", utc_time()}, {"commit", commit()}, {"gpu", timed_ ? gpu_field("name") : ""}};
    const auto confirmed = confirmation(log_, now.machine, some, turns);
    write_text(path, confirmed.json);
    std::printf("%s%s\n", confirmed.text.c_str(), path.c_str());
  }

 private:
  std::string dir(const std::string& id) const { return "build/" + backend_ + "/" + log_.stage + "/evolve-" + id; }

  static std::string setting_text(const Setting& setting) {
    std::string text;
    for (const auto& [name, value] : setting) text += name + "=" + value + "\n";
    return text;
  }
  static Setting setting_of(const std::string& text) {
    Setting setting;
    for (const std::string& line : lines_of(text))
      if (const std::size_t equals = line.find('='); equals != line.npos)
        setting[line.substr(0, equals)] = line.substr(equals + 1);
    return setting;
  }
  static std::vector<std::string> changed_names(const Setting& from, const Proposal& p) {
    std::vector<std::string> names;
    for (const auto& [name, value] : p.candidate.levers)
      if (from.at(name) != value) names.push_back(name);
    return names;
  }

  // The stage's own choice for the shape.
  Setting own() const {
    if (levers_.rows(shape_).size() == 1) return levers_.rows(shape_)[0];
    for (const std::string& lab :
         {"build/" + backend_ + "/" + log_.stage + "/fixed/lab", "build/cpu/" + log_.stage + "/fixed/lab"}) {
      if (!fs::exists(lab)) continue;
      Argv argv = {lab, "plan"};
      for (const int n : {shape_.B, shape_.H, shape_.S, shape_.D}) argv.push_back(std::to_string(n));
      if (shape_.causal) argv.push_back("causal");
      const Ran plan = capture(argv);
      if (plan.status == 0) return levers_.own(shape_, plan.out);
    }
    throw BadInput("no build/" + backend_ + "/" + log_.stage + "/fixed/lab to ask which tile the stage takes");
  }

  void referee(Candidate& c) const {
    const std::string log = dir(c.id) + "/judge.log";
    const Ended ended =
        run_limited({program(c.id), "judge", "shape=" + log_.shape, "seed=" + std::to_string(++judge_seed_)}, log,
                    timed_ ? JUDGE_SECONDS : JUDGE_SECONDS_ON_CPU);
    read_judge(c, read_text(log), ended.status, ended.timed_out);
  }

  // One timing is none: both once more, in turns, each with new inputs.
  void in_turns(Candidate& c, const Candidate& last) const {
    std::vector<double> child, other;
    for (int turn = 0; turn < TURNS; ++turn)
      for (const bool first : {true, false}) {
        Candidate again;
        again.id = first ? last.id : c.id;
        if (!fs::exists(program(again.id))) return;
        referee(again);
        if (!again.right.value_or(false)) {
          if (!first) c.verdict = again.verdict, c.reason = "when measured again: " + again.reason;
          return;
        }
        (first ? other : child).push_back(again.time());
      }
    c.again = spread(child).median, c.beside = spread(other).median;
  }

  // Of a search that goes on elsewhere: those whom a child may have to be measured with.
  std::vector<Proposal> elite_again() const {
    std::vector<Proposal> all;
    for (const Candidate& c : elite_.members())
      if (!fs::exists(program(c.id))) {
        Proposal p;
        p.candidate.id = c.id, p.candidate.levers = c.levers, p.source = levers_.narrowed(c.levers, shape_);
        all.push_back(p);
      }
    return all;
  }

  void say(const Candidate& c) const {
    const std::string time = c.us.empty() ? "" : format(timed_ ? "%9.3f us" : "%9.3f us by the model", c.time());
    std::printf("%4zu %s %-9s %s %s: %s\n", log_.candidates.size(), c.id.c_str(), c.verdict.c_str(), time.c_str(),
                difference(log_.candidates[0].levers, c.levers).c_str(), c.reason.c_str());
    std::fflush(stdout);
  }

  std::string make_, backend_;
  Levers levers_;
  Shape shape_;
  bool timed_;
  SearchLog log_;
  std::string path_;
  int batch_ = 0, generation_ = 0;
  std::set<std::string> known_;
  Elite elite_;
  mutable int judge_seed_ = 0;
};

constexpr const char* USAGE =
    "MAKE BACKEND STAGE [shape=] [seed=] [minutes=] [generations=] [candidates=] [rounds=] [json=]";

Words words_of_search(const Args& args) {
  expect_args(args, 3, 20, USAGE);
  return {args, 3};
}

}  // namespace

int search_command(const Args& args) {
  const Words words = words_of_search(args);
  Search search(args, words);
  leave_signals_to_run_limited();
  search.resume();
  search.loop(words.whole("minutes", 10, 100000), words.whole("generations", args[1] == "gpu" ? 1000 : 3, 100000));
  return 0;
}

int build_command(const Args& args) {
  Search search(args, words_of_search(args));
  search.resume();
  const std::vector<Proposal> proposals = search.next_generation();
  search.build(proposals);
  std::size_t built = 0, refused = 0, broken = 0;
  for (const Proposal& p : proposals) {
    const bool there = fs::exists(search.program(p.candidate.id));
    ++(!p.candidate.verdict.empty() ? refused : there ? built : broken);
  }
  std::printf("%zu candidates built, %zu do not compile, %zu refused before: build/%s/%s/evolve-*\n", built, broken,
              refused, args[1].c_str(), args[2].c_str());
  return built > 0 ? 0 : 1;
}

int confirm_command(const Args& args) {
  const Words words = words_of_search(args);
  Search search(args, words);
  leave_signals_to_run_limited();
  search.resume();
  search.confirm(words.whole("rounds", 6, 1000));
  return 0;
}

int run_command(const Args& args) {
  const Words words = words_of_search(args);
  Search search(args, words);
  leave_signals_to_run_limited();
  search.resume();
  search.run_built(words.whole("minutes", 10, 100000));
  return 0;
}

}  // namespace lab::desk
