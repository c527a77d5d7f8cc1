// search MAKE BACKEND STAGE [KEY=VALUE...]: candidates are built, validated, and timed on a GPU; without one a model stands for the
// time.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <thread>

#include "checks/acceptance/format.hpp"
#include "checks/acceptance/whole_file.hpp"
#include "checks/bench/bench_samples.hpp"
#include "checks/runner/commands.hpp"
#include "checks/search/elite.hpp"
#include "checks/search/shell.hpp"

namespace lab {
namespace search {
namespace {

namespace fs = std::filesystem;

constexpr const char* COLUMNS =
    "stage,B,H,S,D,causal,fitness,id,generation,parent,verdict,us,p10,p90,confirmed_us,registers,smem,reason,settings";

// "" of a file that is empty, or not there.
std::string log_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

constexpr int SECONDS = 20, SECONDS_ON_CPU = 600;  // of a validation
constexpr int ALTERNATIONS = 2;                    // of a child and whom it would replace, before it does

class Search {
 public:
  Search(const std::string& make, const std::string& backend, const std::string& stage, const KeyValues& words)
      : make_(make), backend_(backend), stage_(stage), tunables_(stage), timed_(backend == "gpu") {
    shape_ = one_shape(words.get("shape").value_or(timed_ ? "2,8,2048,64" : "1,2,384,64"));
    shape_word_ = shape_word(shape_);
    seed_ = words.whole("seed", 999999, 1, 1);
    batch_ = words.whole("candidates", 1000, 1, std::max(4u, std::thread::hardware_concurrency()));
    const std::string fitness = timed_ ? "time" : "model";
    problem_ = format("%s,%d,%d,%d,%d,%d,%s,", stage.c_str(), shape_.B, shape_.H, shape_.S, shape_.D, shape_.causal,
                      fitness.c_str());
    std::string name = stage + "-" + shape_word_ + "-" + backend;
    std::ranges::replace(name, ',', '-');
    path_ = words.get("out").value_or("build/evolve/" + name + ".csv");
    if (!words.get("out")) fs::create_directories("build/evolve");
    log_ = format("# %s %s, seed %d, fitness %s: ", stage.c_str(), shape_word_.c_str(), int(seed_), fitness.c_str()) +
           shell(
               "sh checks/scripts/measured_on.sh | awk -F '\t' '$2 { printf \"%s%s %s\", n++ ? \", \" : \"\", $1, $2 } "
               "END { print \"\" }'")
               .text +
           COLUMNS + "\n";
    const std::string as_it_is = "build/" + backend + "/" + stage + "/fixed/kernel.so";
    const std::string causal = shape_.causal ? " causal" : "";
    start_ = tunables_.own(
        shape_,
        on(as_it_is, format("plan %d %d %d %d%s", shape_.B, shape_.H, shape_.S, shape_.D, causal.c_str())).text);
  }

  // Until the time, the generations or the ideas are spent. False if the time was up before there was anything to measure.
  bool loop(double minutes, int generations) {
    const auto begun = std::chrono::steady_clock::now();
    const auto spent = [&] {
      return std::chrono::steady_clock::now() - begun > std::chrono::duration<double>(60 * minutes);
    };
    std::vector<Proposal> now = next_generation();
    const bool some = !now.empty();
    build(now);
    while (!now.empty()) {
      // While these are measured, the next are built: children of the elite as it was before them. Not where the processor is the
      // machine that is asked.
      std::vector<Proposal> next;
      std::future<void> built;
      const bool more = generation_ < generations;
      if (more && timed_ && !elite_.members().empty()) {
        next = next_generation();
        built = std::async(std::launch::async, [&] { build(next); });
      }
      for (Proposal& p : now)
        if (!spent()) measure(p.candidate);
      if (built.valid()) built.get();
      if (!more || spent()) break;
      if (next.empty()) next = next_generation(), build(next);
      now = std::move(next);
    }
    if (now.empty()) std::printf("no untried pair of tunables is left\n");
    std::printf("%s, %s: %s%s\n", stage_.c_str(), shape_word_.c_str(),
                summary(candidates_, elite_, timed_ ? "us" : "us by the model, not measured").c_str(), path_.c_str());
    if (some && candidates_.empty())
      std::printf("the time was up before a candidate was built: minutes= allows more\n");
    return !some || !candidates_.empty();
  }

 private:
  std::string dir(const std::string& id) const { return "build/" + backend_ + "/" + stage_ + "/evolve-" + id; }
  std::string kernel(const Candidate& c) const { return dir(c.id) + "/kernel.so"; }

  // The runner's command on a kernel; timeout(1) hands the signal of its parent's death on to all that it started.
  Printed on(const std::string& kernel, const std::string& command, const std::string& log = "/dev/null") const {
    return shell(
        format("exec 2>%s </dev/null; exec setpriv --pdeathsig TERM timeout --kill-after=5 %d build/%s/runner %s %s",
               log.c_str(), timed_ ? SECONDS : SECONDS_ON_CPU, backend_.c_str(), kernel.c_str(), command.c_str()));
  }

  // The first generation is the table's rows and children of the stage as it is; every other are the elite's.
  std::vector<Proposal> next_generation() {
    std::vector<Proposal> all;
    Elite parents = elite_;
    if (generation_ == 0) {
      all = beginnings(tunables_, shape_, start_);
      for (const Proposal& p : all) known_.insert(p.candidate.id);
      Candidate start = all[0].candidate;
      start.right = true, start.us = {1};
      parents.judge(start);
    }
    std::size_t to_build = all.size();
    for (int place = 0; to_build < batch_; ++place) {
      auto p = propose(tunables_, shape_, parents, known_, seed_, generation_, place);
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
    for (const auto& [candidate, source] : proposals) {
      if (!candidate.verdict.empty()) continue;
      const std::string path = dir(candidate.id) + "/source.cu";
      fs::create_directories(dir(candidate.id));
      if (log_of(path) != source) write_whole(path, source);
      ids += candidate.id + " ";
    }
    if (!ids.empty())
      shell(format("nice '%s' -s -k -j%u backend=%s stage=%s only='%s' evolve-labs >build/evolve.log 2>&1 </dev/null",
                   make_.c_str(), std::max(1u, std::thread::hardware_concurrency()), backend_.c_str(), stage_.c_str(),
                   ids.c_str()));
  }

  void measure(Candidate& c) {
    if (c.verdict.empty()) read_build_log(c, log_of(dir(c.id) + "/kernel.log"), fs::exists(kernel(c)));
    if (c.verdict.empty()) validate(c);
    if (timed_ && c.verdict.empty())
      if (const Candidate* last = elite_.would_replace(c)) alternate(c, *last);
    elite_.judge(c);
    candidates_.push_back(c);
    log_ += problem_ + candidate_row(c, start_) + "\n";
    write_whole(path_, log_, "out");
    const std::string time = c.us.empty() ? "" : format(timed_ ? "%9.3f us" : "%9.3f us by the model", c.time());
    std::printf("%4zu %s %-9s %s %s: %s\n", candidates_.size(), c.id.c_str(), c.verdict.c_str(), time.c_str(),
                difference(start_, c.setting).c_str(), c.reason.c_str());
    std::fflush(stdout);
  }

  void validate(Candidate& c) {
    const std::string log = dir(c.id) + "/validate.log";
    const Printed said = on(kernel(c), format("validate shape=%s seed=%d", shape_word_.c_str(), ++validations_), log);
    read_validation(c, said.text + log_of(log), said.status);
    if (c.verdict.empty() && !timed_) c.us = {model_of(kernel(c))};
  }

  // Microseconds of the shape: the least that `counters` allows, by what the CPU execution counted, which is the largest last field
  // of its CSV. Nothing is measured.
  double model_of(const std::string& kernel) const {
    const Printed counted = on(kernel, "counters csv=1 shape=" + shape_word_ + " | sed 's/.*,//' | sort -g | tail -1");
    if (const double most = std::strtod(counted.text.c_str(), nullptr); most > 0) return most;
    throw BadInput(kernel + " counters: has no least time");
  }

  // One timing is none: both once more, alternating, each with new inputs.
  void alternate(Candidate& c, const Candidate& last) {
    std::vector<double> child, other;
    for (int i = 0; i < 2 * ALTERNATIONS; ++i) {
      Candidate again;
      again.id = i % 2 ? c.id : last.id;
      validate(again);
      if (!again.right) {
        if (i % 2) c.verdict = again.verdict, c.reason = "when measured again: " + again.reason;
        return;
      }
      (i % 2 ? child : other).push_back(again.time());
    }
    c.again = spread(child).median, c.beside = spread(other).median;
  }

  std::string make_, backend_, stage_;
  Tunables tunables_;
  Shape shape_;
  bool timed_;
  std::string shape_word_, path_, problem_, log_;
  std::uint64_t seed_ = 1, batch_ = 4;
  Setting start_;  // of the stage as it is
  std::vector<Candidate> candidates_;
  int generation_ = 0, validations_ = 0;
  std::set<std::string> known_;
  Elite elite_;
};

}  // namespace
}  // namespace search

int search_command(std::span<char*> args) {
  constexpr std::string_view KEYS[] = {"shape", "seed", "minutes", "generations", "candidates", "out"};
  if (args.size() < 3) throw BadInput("search MAKE BACKEND STAGE [KEY=VALUE...]");
  const std::string backend = args[1];
  const KeyValues words(args.subspan(3), KEYS);
  const double minutes = double(words.whole("minutes", 100000, 1, 10));
  const int generations = int(words.whole("generations", 100000, 1, backend == "gpu" ? 1000 : 3));
  return search::Search(args[0], backend, args[2], words).loop(minutes, generations) ? 0 : 1;
}

}  // namespace lab
