// evolve BACKEND STAGE [shape=B,H,S,D[,causal]] [seed=N] [minutes=N] [out=FILE]: the elite loop, a random search over a stage's tunables
// (writeups/extending.md). Candidates are built, validated (validator.hpp), and timed on a GPU; without one a model stands for the time.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include "checks/acceptance/format.hpp"
#include "checks/acceptance/report.hpp"
#include "checks/acceptance/whole_file.hpp"
#include "checks/bench/shapes.hpp"
#include "checks/runner/commands.hpp"
#include "checks/runner/forked.hpp"
#include "checks/search/elite.hpp"

namespace lab {
namespace search {
namespace {

namespace fs = std::filesystem;

constexpr unsigned SECONDS = 120;  // of a validation on a GPU, which may hang; on the CPU a job's usual time

// The output of a script. ^C ends this program too, as a call of system() would not.
std::string shell(const std::string& script) {
  std::fflush(nullptr);  // what was printed before stands before what the script prints
  std::FILE* const pipe = popen(script.c_str(), "re");
  if (!pipe) throw std::runtime_error("sh cannot be started");
  std::string text;
  char buffer[1 << 12];
  for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) text.append(buffer, n);
  pclose(pipe);
  return text;
}

// "" of a file that is empty, or not there.
std::string text_of(const std::string& path) { return fs::exists(path) && !fs::is_empty(path) ? read_whole(path) : ""; }

class Search {
 public:
  Search(const std::string& backend, const std::string& stage, const KeyValues& words)
      : backend_(backend), stage_(stage), tunables_(stage), timed_(backend == "gpu") {
    shape_ = one_shape(words.get("shape").value_or(timed_ ? "2,8,2048,64" : "1,2,384,64"));
    word_ = shape_word(shape_);
    const auto seed = words.whole("seed", 999999, 1, 1);
    random_ = SplitMix64(seed);
    fs::create_directories("build/evolve");
    std::string name = stage + "-" + word_ + "-" + backend;
    std::ranges::replace(name, ',', '-');
    path_ = words.get("out").value_or("build/evolve/" + name + ".csv");
    const Shape& s = shape_;
    const char* const fitness = timed_ ? "time" : "model";
    problem_ = format("%s,%d,%d,%d,%d,%d,%s,", stage.c_str(), s.B, s.H, s.S, s.D, s.causal, fitness);
    const std::string machine = shell(
        "sh checks/scripts/measured_on.sh | awk -F '\t' '$2 { printf \"%s%s %s\", n++ ? \", \" : \"\", $1, $2 }'");
    log_ = format("# %s %s, seed %d, fitness %s: %s\n%s\n", stage.c_str(), word_.c_str(), int(seed), fitness,
                  machine.c_str(), COLUMNS);
    start_ = tunables_.own(s, on("build/" + backend + "/" + stage + "/fixed", {"plan", "shape=" + word_}).text);
  }

  // Until the time or the ideas are spent. False if the time was up before there was anything to measure.
  bool loop(std::uint64_t minutes) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(minutes);
    const auto time_left = [&] { return std::chrono::steady_clock::now() < end; };
    bool ideas = true;
    progress_.emplace(0, 60.0 * double(minutes), true);
    for (int number = 0; ideas && time_left(); ++number) {
      std::vector<Candidate> children = generation(number == 0);
      ideas = !children.empty();
      step(format("builds %zu candidates", children.size()));
      build(children);
      for (Candidate& c : children)
        if (time_left()) step("tries " + c.id), measure(c);
    }
    progress_->clear();
    if (!ideas) std::printf("no untried pair of tunables is left\n");
    std::printf("%s, %s: %s%s\n", stage_.c_str(), word_.c_str(),
                summary(candidates_, elite_, timed_ ? "us" : "us by the model, not measured").c_str(), path_.c_str());
    if (candidates_.empty()) std::printf("the time was up before a candidate was built: minutes= allows more\n");
    return !candidates_.empty();
  }

 private:
  void step(const std::string& what) {
    const double now = progress_->seconds();
    progress_->finish(now - std::exchange(before_, now)), progress_->start(what);
  }

  std::string dir(const Candidate& c) const { return "build/" + backend_ + "/" + stage_ + "/evolve-" + c.id; }

  // A command of the runner on a kernel, in a process of its own.
  Forked on(const std::string& folder, std::vector<std::string> words) const {
    words.insert(words.begin(), folder + "/kernel.so");
    const auto job = [&](std::size_t) {
      if (timed_) alarm(SECONDS);
      return run(words);
    };
    return ForkedJobs(1, job).take(0);
  }

  // The first is the stage's tiles and children of the stage as it is; every other are the elite's.
  std::vector<Candidate> generation(bool first) {
    std::vector<Candidate> children;
    Elite parents = elite_;
    if (first) {
      children = beginnings(tunables_, shape_, start_);
      for (const Candidate& c : children) known_.insert(c.id);
      parents.members = {children[0]};
    }
    while (children.size() < batch_) {
      const auto child = propose(tunables_, shape_, parents, known_, random_);
      if (!child) break;
      children.push_back(*child);
    }
    return children;
  }

  // Compiles what is not there yet. Nothing is timed meanwhile.
  void build(const std::vector<Candidate>& children) const {
    std::string ids;
    for (const Candidate& c : children) {
      const std::string path = dir(c) + "/source.cu";
      fs::create_directories(dir(c));
      if (text_of(path) != c.source) write_whole(path, c.source);
      ids += c.id + " ";
    }
    shell(
        format("nice \"$MAKE\" -s -k -j%u backend=%s stage=%s only='%s' evolve-labs >build/evolve.log 2>&1 </dev/null",
               cores_, backend_.c_str(), stage_.c_str(), ids.c_str()));
  }

  void measure(Candidate& c) {
    read_build_log(c, text_of(dir(c) + "/kernel.log"), fs::exists(dir(c) + "/kernel.so"));
    if (c.verdict.empty())
      read_validation(c, on(dir(c), {"validate", "shape=" + word_, format("seed=%d", ++validations_)}));
    elite_.judge(c);
    candidates_.push_back(c);
    log_ += problem_ + row(c, start_) + "\n";
    write_whole(path_, log_, "out");
    const std::string time = c.us.empty() ? "" : format("%9.3f us%s", c.time(), timed_ ? "" : " by the model");
    progress_->clear();
    std::printf("%4zu %s %-9s %s %s%s%s\n", candidates_.size(), c.id.c_str(), c.verdict.c_str(), time.c_str(),
                difference(start_, c.setting).c_str(), c.reason.empty() ? "" : ": ", c.reason.c_str());
    std::fflush(stdout);
  }

  const unsigned cores_ = std::max(1u, std::thread::hardware_concurrency()),
                 batch_ = std::max(4u, cores_);  // candidates at a time
  std::string backend_, stage_;
  Tunables tunables_;
  bool timed_;
  Shape shape_;
  std::string word_, path_, problem_, log_;
  SplitMix64 random_{0};
  Setting start_;  // of the stage as it is
  std::vector<Candidate> candidates_;
  Elite elite_;
  std::set<std::string> known_;
  int validations_ = 0;
  std::optional<Progress> progress_;
  double before_ = 0;  // when the last step began
};

}  // namespace
}  // namespace search

int evolve_command(std::span<char*> args) {
  constexpr std::string_view KEYS[] = {"shape", "seed", "minutes", "out"};
  if (args.size() < 2) throw BadInput("evolve BACKEND STAGE [KEY=VALUE...]");
  const std::string backend = args[0];
  const KeyValues words(args.subspan(2), KEYS);
  return search::Search(backend, args[1], words).loop(words.whole("minutes", 100000, 1, 10)) ? 0 : 1;
}

}  // namespace lab
