// The output of a benchmark: lines of samples, written by `runner KERNEL bench` and reference/peers.py alike, one file a
// process; and what follows from them.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/shape.hpp"

namespace lab {

// "1,8,512,64" or "1,8,512,64,causal": how a shape is asked for and how results name it.
std::string shape_word(const Shape& shape);
std::optional<Shape> shape_of(const std::string& word);

// Values of `shape=`: shapes as above with ';' between them, or a list's name: acceptance (the five of the notes and
// D = 128 causal), long (S = 8192), all, sweep (160 of 8 to 128 heads, S 128 to 16,384). Throws BadInput.
std::vector<Shape> bench_shapes(std::string_view words);
// The same where it must be one.
Shape one_shape(std::string_view words);

// Where a sorted list's p-th part lies, between neighbours; p in [0, 1].
double percentile(const std::vector<double>& sorted, double p);

// The times that are taken of a case, in microseconds a call; results/README.md says what each is.
inline constexpr std::string_view FIGURES[] = {"graph", "graph_flushed", "call", "call_flushed"};

struct Figure {
  std::map<int, std::vector<double>> rounds;
};
struct BenchCase {
  std::string program, shape, status = "ok", detail;
  std::map<std::string, std::string> facts;  // numbers, as they were written
  std::map<std::string, Figure> figures;
  std::vector<double> sm_mhz, watts;
};
struct BenchRun {
  std::vector<std::pair<std::string, std::string>> meta, kernels;
  std::map<std::string, Figure> ceilings;
  std::vector<BenchCase> cases;  // in the order of their first mention

  BenchCase& at(const std::string& program, const std::string& shape);
  const BenchCase* find(const std::string& program, const std::string& shape) const;
};

// From the text of the files in the order of their names. Throws BadInput for a line that is no record.
BenchRun read_samples(const std::vector<std::string>& files);

struct Spread {
  double median = 0, p10 = 0, p90 = 0;
  std::size_t samples = 0;
};
Spread spread(std::vector<double> values);
Spread spread(const Figure& figure);  // over all rounds

bool is_peer(const std::string& program);
double flop(const Shape& shape);

// Microseconds a call inside a replayed graph; nothing for a case that was not timed.
std::optional<double> graph_time(const BenchCase* c);

// The time of one over the other's, replay by replay: the i-th of a round over that round's i-th. Ahead of the other is
// what has its 90th percentile below 1.
Spread paired(const BenchCase& one, const BenchCase& other);

struct Ratios {
  double tflops = 0;
  std::optional<double> of_matrix, vs_previous;
  std::optional<Spread> vs_pytorch;  // paired
  std::string previous, pytorch;     // the program behind each of the last two names
};
Ratios ratios(const BenchRun& run, const BenchCase& timed);

// Those of the run, each once, in the order of their first mention.
std::vector<std::string> shapes_of(const BenchRun& run);

// A sweep to read: of each shape the fastest stage and the fastest peer; on how many shapes a stage is ahead or level.
std::string sweep_table(const BenchRun& run);

// A run and a sweep as CSV, with the columns of writeups/results/bench.csv and sweep.csv.
std::string bench_csv(const BenchRun& run, const std::string& name);
std::string sweep_csv(const BenchRun& run);

// A table to read: graph time, its spread, and the ratios, a line a program and shape.
std::string bench_table(const BenchRun& run);

}  // namespace lab
