// desk-records search: the elite loop itself.
#include "checks/acceptance/format.hpp"
#include "checks/desk/evolve/evolve.hpp"
#include "checks/key_values.hpp"
#include "common/number.hpp"

namespace lab::desk {

void read_build_log(Candidate& c, const std::string& log, bool built) {
  if (!built) {
    const std::string error = line_with(log, {"error"});
    c.verdict = "broken", c.reason = "does not compile: " + (error.empty() ? "see its kernel.log" : error);
    return;
  }
  for (const std::string& line : lines_of(log)) {
    const std::vector<std::string> words = words_of(line);
    for (std::size_t i = 1; i + 1 < words.size(); ++i) {
      const auto number = number_in<int>(words[i]);
      if (number && words[i - 1] == "Used" && words[i + 1].starts_with("registers"))
        c.registers = std::max(c.registers.value_or(0), *number);
      if (number && words[i + 1] == "bytes" && i + 2 < words.size() && words[i + 2] == "spill")
        c.spills = c.spills.value_or(0) + std::size_t(*number);
    }
  }
  if (const std::string lost = line_with(log, {"Potential Performance Loss"}); !lost.empty())
    c.verdict = "broken", c.reason = "ptxas: " + lost;
  else if (c.spills.value_or(0) > 0)
    c.verdict = "too large", c.reason = format("spills %zu bytes; the lab allows none", *c.spills);
}

void read_judge(Candidate& c, const std::string& out, int status, bool timed_out) {
  const std::map<std::string, std::string> says = facts_in(out);
  if (says.contains("smem")) c.smem = std::stoull(says.at("smem"));
  if (says.contains("refused")) {
    c.right = false, c.reason = says.at("refused");
    c.verdict = c.reason.starts_with("launch: ") ? "broken" : "wrong";
    return;
  }
  if (says.contains("us"))
    for (const std::string& us : words_of(says.at("us"))) c.us.push_back(std::strtod(us.c_str(), nullptr));
  if (timed_out || status != 0) {
    c.us.clear(), c.verdict = "broken";
    c.reason = timed_out ? "did not end in time" : format("ended with status %d: %s", status, last_line(out).c_str());
    return;
  }
  c.right = true;
}

namespace {

// Microseconds of the shape: the least that `counters` allows, by what the CPU execution of a candidate's kernel counted, which is the
// largest last field of its CSV. Nothing is measured.
double model_of(const std::string& kernel, const std::string& shape) {
  const Ran ran = capture({runner_of(kernel), kernel, "counters", "shape=" + shape, "csv=1"});
  double most = 0;
  for (const std::string& line : lines_of(ran.out))
    most = std::max(most, number_in<double>(line.substr(line.rfind(',') + 1)).value_or(0));
  if (ran.status != 0 || most == 0) throw BadInput(kernel + " counters: " + trimmed(ran.out + ran.err, "\n"));
  return most;
}

constexpr const char* COLUMNS =
    "stage,B,H,S,D,causal,fitness,id,generation,parent,verdict,us,p10,p90,confirmed_us,registers,smem,reason,settings";

constexpr int JUDGE_SECONDS = 20, JUDGE_SECONDS_ON_CPU = 600;
constexpr int TURNS = 2;  // that a child and whom it would replace take, before it does

class Search {
 public:
  Search(const Args& args, const KeyValues& words)
      : make_(args[0]), backend_(args[1]), levers_(args[2]), timed_(backend_ == "gpu") {
    const std::string word = words.get("shape").value_or(timed_ ? "2,8,2048,64" : "1,2,384,64");
    shape_ = one_shape(word);
    stage_ = levers_.stage(), shape_word_ = shape_word(shape_);
    seed_ = words.whole("seed", 999999, 1, 1);
    problem_ = format("%s,%d,%d,%d,%d,%d,%s,", stage_.c_str(), shape_.B, shape_.H, shape_.S, shape_.D, shape_.causal,
                      timed_ ? "time" : "model");
    path_ = words.get("out").value_or("build/evolve/" + stage_ + "-" + replaced(shape_word_, ",", "-") + "-" +
                                      backend_ + ".csv");
    start_ = own();
    batch_ = int(words.whole("candidates", 1000, 1, std::max(4u, std::thread::hardware_concurrency())));
  }

  std::string program(const std::string& id) const { return dir(id) + "/kernel.so"; }

  // What an earlier call measured is not measured again.
  void resume() {
    const std::string of = "# " + stage_ + " " + shape_word_ + " on a " + backend_ + ", seed " + std::to_string(seed_) +
                           ", kernel.cu and levers.conf " +
                           candidate_id(stage_, levers_.kernel() + read_text("stages/" + stage_ + "/levers.conf"));
    if (!fs::exists(path_)) {
      std::vector<std::string> facts;
      for (const auto& [key, value] : measured_on()) facts.push_back(key + " " + value);
      log_ = of + "\n# " + joined(facts, ", ") + "\n" + COLUMNS + "\n";
      return;
    }
    const std::vector<std::string> lines = lines_of(read_text(path_));
    if (lines.size() < 3 || lines[0] != of)
      throw BadInput(path_ +
                     " is the log of another stage, shape, backend, seed or kernel; give another out=, or remove it");
    log_ = lines[0] + "\n" + lines[1] + "\n" + COLUMNS + "\n";
    for (const std::string& line : std::vector(lines.begin() + 3, lines.end()))
      if (line.starts_with(problem_)) measured_[csv_fields(line)[7]] = line.substr(problem_.size());
    std::printf("%s: has %zu candidates\n", path_.c_str(), measured_.size());
  }

  // The first generation is the table's rows and children of the stage as it is; every other are the elite's.
  std::vector<Proposal> next_generation() {
    std::vector<Proposal> all;
    Elite parents = elite_;
    if (generation_ == 0) {
      all = beginnings(levers_, shape_, start_);
      for (const Proposal& p : all) known_.insert(p.candidate.id);
      Candidate start = all[0].candidate;
      start.right = true, start.us = {1};
      if (parents.members().empty()) parents.judge(start);
    }
    std::size_t to_build = all.size();
    for (int place = 0; int(to_build) < batch_; ++place) {
      auto p = propose(levers_, shape_, parents, known_, seed_, generation_, place);
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
      if (!p.candidate.verdict.empty() || measured_.contains(p.candidate.id)) continue;
      write_if_changed(dir(p.candidate.id) + "/source.cu", p.source);
      ids += (ids.empty() ? "" : " ") + p.candidate.id;
    }
    if (!ids.empty())
      run({"nice", "-n", "10", make_, "-s", "-k", "backend=" + backend_, "stage=" + stage_, "only=" + ids,
           "evolve-labs"},
          "build/logs/evolve-" + stage_ + ".log");
  }

  void measure(Proposal& p) {
    Candidate& c = p.candidate;
    const auto before = measured_.find(c.id);
    if (before != measured_.end()) read_row(c, before->second, path_);
    if (c.verdict.empty()) {
      const std::string log = dir(c.id) + "/kernel.log";
      read_build_log(c, fs::exists(log) ? read_text(log) : "", fs::exists(program(c.id)));
    }
    if (c.verdict.empty()) referee(c);
    if (timed_ && c.verdict.empty())
      if (const Candidate* last = elite_.would_replace(c)) {
        if (!fs::exists(program(last->id))) build_of(*last);
        in_turns(c, *last);
      }
    elite_.judge(c);
    candidates_.push_back(c);
    log_ += problem_ + (before != measured_.end() ? before->second : candidate_row(c, start_)) + "\n";
    write_text(path_, log_);
    say(c);
  }

  // Until the time, the generations or the ideas are spent.
  void loop(double minutes, int generations) {
    const Stopwatch watch;
    const auto spent = [&] { return watch.seconds() > 60 * minutes; };
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
    std::printf("%s, %s: %s%s\n", stage_.c_str(), shape_word_.c_str(), summary(candidates_, elite_, timed_).c_str(),
                path_.c_str());
  }

 private:
  std::string dir(const std::string& id) const { return "build/" + backend_ + "/" + stage_ + "/evolve-" + id; }

  // The stage's own choice for the shape.
  Setting own() const {
    if (levers_.rows(shape_).size() == 1) return levers_.rows(shape_)[0];
    for (const std::string& lab :
         {"build/" + backend_ + "/" + stage_ + "/fixed/kernel.so", "build/cpu/" + stage_ + "/fixed/kernel.so"}) {
      if (!fs::exists(lab)) continue;
      const Ran plan = capture(with({runner_of(lab), lab, "plan"}, split(shape_word_, ",")));
      if (plan.status == 0) return levers_.own(shape_, plan.out);
    }
    throw BadInput("no build/" + backend_ + "/" + stage_ + "/fixed/kernel.so to ask which tile the stage takes");
  }

  void referee(Candidate& c) const {
    const std::string log = dir(c.id) + "/judge.log";
    const Ended ended = run_limited({runner_of(program(c.id)), program(c.id), "judge", "shape=" + shape_word_,
                                     "seed=" + std::to_string(++judge_seed_)},
                                    log, timed_ ? JUDGE_SECONDS : JUDGE_SECONDS_ON_CPU);
    read_judge(c, read_text(log), ended.status, ended.timed_out);
    if (c.verdict.empty() && !timed_) c.us = {model_of(program(c.id), shape_word_)};
  }

  Candidate refereed(const std::string& id) const {
    Candidate c;
    c.id = id;
    referee(c);
    return c;
  }

  // One timing is none: both once more, in turns, each with new inputs.
  void in_turns(Candidate& c, const Candidate& last) const {
    std::vector<double> child, other;
    for (int turn = 0; turn < TURNS; ++turn)
      for (const bool first : {true, false}) {
        if (!fs::exists(program(first ? last.id : c.id))) return;
        const Candidate again = refereed(first ? last.id : c.id);
        if (!again.right.value_or(false)) {
          if (!first) c.verdict = again.verdict, c.reason = "when measured again: " + again.reason;
          return;
        }
        (first ? other : child).push_back(again.time());
      }
    c.again = spread(child).median, c.beside = spread(other).median;
  }

  // Of an earlier call, whose build may be gone.
  void build_of(const Candidate& c) {
    measured_.erase(c.id);
    build({{{.id = c.id, .levers = c.levers}, levers_.narrowed(c.levers, shape_)}});
  }

  void say(const Candidate& c) const {
    const std::string time = c.us.empty() ? "" : format(timed_ ? "%9.3f us" : "%9.3f us by the model", c.time());
    std::printf("%4zu %s %-9s %s %s: %s\n", candidates_.size(), c.id.c_str(), c.verdict.c_str(), time.c_str(),
                difference(start_, c.levers).c_str(), c.reason.c_str());
    std::fflush(stdout);
  }

  std::string make_, backend_;
  Levers levers_;
  Shape shape_;
  bool timed_;
  std::string stage_, shape_word_, path_, problem_, log_;
  std::uint64_t seed_ = 1;
  Setting start_;                                // of the stage as it is
  std::map<std::string, std::string> measured_;  // by an earlier call: the row of an id
  std::vector<Candidate> candidates_;
  int batch_ = 0, generation_ = 0;
  std::set<std::string> known_;
  Elite elite_;
  mutable int judge_seed_ = 0;
};

// Of MAKE BACKEND STAGE [KEY=VALUE...].
KeyValues words_of_search(const Args& args) {
  constexpr std::string_view KEYS[] = {"shape", "seed", "minutes", "generations", "candidates", "out"};
  return {Args(args.begin() + 3, args.end()), KEYS};
}

}  // namespace

int search_command(const Args& args) {
  const KeyValues words = words_of_search(args);
  Search search(args, words);
  search.resume();
  search.loop(double(words.whole("minutes", 100000, 1, 10)),
              int(words.whole("generations", 100000, 1, args[1] == "gpu" ? 1000 : 3)));
  return 0;
}

}  // namespace lab::desk
