#include "reference/inputs.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <memory>
#include <mutex>
#include <numbers>
#include <string>
#include <thread>
#include <vector>

#include "reference/bad_input.hpp"
#include "reference/hash.hpp"

namespace lab {
namespace {

constexpr double PEAK = 2.7;  // of q and k: q·k/sqrt(D) has standard deviation PEAK^2 = 7.3, so 4 sigma is about 30
// Moves all scores of a row by OFFSET * sum(q)/sqrt(D), of deviation OFFSET. exp overflows fp32 at 88: one row in five
// has no answer without the max subtraction, so that a sample of tiles cannot miss it.
constexpr double OFFSET = 100.0;

double uniform(std::uint64_t seed, std::uint64_t tensor, std::uint64_t index) {  // (0, 1)
  const std::uint64_t bits = mixed(mixed(seed + GOLDEN * (tensor + 1)) + GOLDEN * index);
  return (double(bits >> 11) + 0.5) * 0x1p-53;
}

// `swamped`: exp(-12) = 6e-6; 64 keys of it are 3.9e-4, and half an fp16 step at 1 is 4.9e-4. In odd rows the score is
// -11.25: twice the weight, for who adds up no more than 32 keys at a time.
constexpr double SWAMPED_SCORE = -12.0, SWAMPED_Q = 8.0, SWAMPED_ODD_Q = 7.5;

// The fp16 k whose weight exp(score per k * k) in [0.5, 0.53) errs most, in the direction of `sign`, when rounded to
// fp16.
fp16 worst_rounded(double score_per_k, double sign) {
  fp16 worst{};
  double largest = -1;
  for (std::uint16_t bits = 0x8001; bits < 0xFC00; ++bits) {
    const double p = std::exp(score_per_k * to_float({bits}));
    if (p < 0.5 || p >= 0.53) continue;
    const double error = sign * (to_float(to_fp16(float(p))) - p);
    if (error > largest) largest = error, worst = {bits};
  }
  return worst;
}

// Scores that do not depend on the row: q has one element, k says the score.
void only_first_column(Inputs& in, const Shape& shape, double q) {
  for (std::size_t i = 0; i < in.q.size(); ++i) {
    in.q[i] = to_fp16(i % shape.D == 0 ? float(q) : 0.0f);
    in.k[i] = fp16{0};
  }
}

// `climbing`: a rescale by exp(-CLIMB) takes less than half an fp16 step from 1 + 2^-10, the O that key 0 leaves, so
// rounded to fp16 it is what it was; in fp32 it is not. Row i climbs every 64 << i % 3 keys, for tiles of up to so
// many. In odd heads each of those keys has LARGE_V: O passes the largest half, and what comes out does not.
// Who rescales only where a weight would be too large for a half would wait for that, so of 16 rows one jumps by FORCE
// every 64 keys, and its warp's other rows are rescaled along. And one falls by FALL: its maximum is the first tile's,
// and relative to a later tile's all before would be infinite.
constexpr double CLIMB = 0.9 * 0x1p-11, FIRST_V = 1 + 0x1p-10, LARGE_V = 0x1p15;
constexpr double FORCE = 12.0, FALL = 100.0;  // exp(12) = 5 * 32768; exp(100) is no float
constexpr int CLIMBERS = 3, CLIMBING_KEYS = 64, WARP_ROWS = 16;
// The larger a row's q, the less of k it takes, whose norm all rows' bounds are made of.
constexpr double CLIMBING_Q = 8.0, STEEP_Q = 8192.0;

void make_climbing(Inputs& in, const Shape& shape, double score_per_k) {
  in.q.assign(in.q.size(), fp16{0}), in.k.assign(in.k.size(), fp16{0}), in.v.assign(in.v.size(), fp16{0});
  constexpr int FORCING = CLIMBERS, FALLING = CLIMBERS + 1;  // columns of q and k
  const double score_per_steep_k = score_per_k * (STEEP_Q / CLIMBING_Q);
  for (std::size_t row = 0; row < shape.rows(); ++row) {
    const int n = int(row % std::size_t(shape.S)), climbs = n / CLIMBING_KEYS;
    fp16 *const q = &in.q[row * shape.D], *const k = &in.k[row * shape.D];
    if (n % WARP_ROWS == WARP_ROWS - 1)
      q[FORCING] = to_fp16(float(STEEP_Q));
    else if (n % WARP_ROWS == WARP_ROWS - 2)
      q[FALLING] = to_fp16(float(STEEP_Q));
    else
      q[n % CLIMBERS] = to_fp16(float(CLIMBING_Q));
    for (int c = 0; c < CLIMBERS; ++c) {
      const int period = CLIMBING_KEYS << c;
      const double score = n % period ? SWAMPED_SCORE : CLIMB * (n / period);
      k[c] = to_fp16(float(score / score_per_k));
    }
    k[FORCING] = to_fp16(float(FORCE * climbs / score_per_steep_k));
    k[FALLING] = to_fp16(float(-FALL * climbs / score_per_steep_k));
    const bool odd_head = row / std::size_t(shape.S) % 2;
    if (odd_head ? n % CLIMBING_KEYS == 0 : n == 0)
      std::fill_n(in.v.begin() + std::ptrdiff_t(row * shape.D), shape.D, to_fp16(float(odd_head ? LARGE_V : FIRST_V)));
  }
}

double saturated(double x) { return std::clamp(x, -LARGEST_HALF, LARGEST_HALF); }

struct Range {
  std::size_t begin, end;
};

// The normal numbers that tensors are made of, by tensor and index. They depend on nothing but the seed: what has drawn
// them for one family or shape has them for the next.
class Normals {
 public:
  explicit Normals(std::uint64_t seed) : seed_(seed) {}
  std::uint64_t seed() const { return seed_; }

  // Two for each even index.
  void draw(std::uint64_t tensor, std::size_t begin, std::size_t end, double* to) const {
    for (std::size_t i = begin; i < end; i += 2, to += 2) {
      const double radius = std::sqrt(-2 * std::log(uniform(seed_, tensor, i)));
      const double angle = 2 * std::numbers::pi * uniform(seed_, tensor, i + 1);
      to[0] = radius * std::cos(angle), to[1] = radius * std::sin(angle);
    }
  }
  // Calls each(index, number) for begin <= index < end.
  template <class Each>
  void visit(std::uint64_t tensor, std::size_t begin, std::size_t end, Each each) {
    std::vector<double> not_kept;
    for (std::size_t chunk = begin / CHUNK; chunk * CHUNK < end; ++chunk) {
      const std::size_t first = chunk * CHUNK;
      if (chunk >= KEPT_CHUNKS) not_kept.resize(CHUNK), draw(tensor, first, first + CHUNK, not_kept.data());
      const double* const numbers = chunk < KEPT_CHUNKS ? kept(tensor, chunk) : not_kept.data();
      for (std::size_t i = std::max(begin, first); i < std::min(end, first + CHUNK); ++i) each(i, numbers[i - first]);
    }
  }

 private:
  // As many as the largest tensor of the acceptance has elements: 2^22.
  static constexpr std::size_t CHUNK = 4096, KEPT_CHUNKS = 1024, TENSORS = 3;
  struct Kept {
    std::once_flag drawn;
    std::unique_ptr<double[]> numbers;
  };
  const double* kept(std::uint64_t tensor, std::size_t chunk) {
    Kept& place = kept_[tensor * KEPT_CHUNKS + chunk];
    std::call_once(place.drawn, [&] {
      place.numbers = std::make_unique_for_overwrite<double[]>(CHUNK);
      draw(tensor, chunk * CHUNK, (chunk + 1) * CHUNK, place.numbers.get());
    });
    return place.numbers.get();
  }

  std::uint64_t seed_;
  std::vector<Kept> kept_{TENSORS * KEPT_CHUNKS};
};

template <class Make>
void fill(std::vector<fp16>& tensor, const std::vector<Range>& ranges, Normals& normals, std::uint64_t id, Make make) {
  const auto part = [&](std::size_t begin, std::size_t end) {
    normals.visit(id, begin, end, [&](std::size_t i, double x) { tensor[i] = to_fp16(float(make(x))); });
  };
  const auto middle = [](const Range& range) { return (range.begin + (range.end - range.begin) / 2) / 2 * 2; };
  std::thread other([&] {
    for (const Range& range : ranges) part(range.begin, std::max(range.begin, middle(range)));
  });
  for (const Range& range : ranges) part(std::max(range.begin, middle(range)), range.end);
  other.join();
}

// The heads' elements, all of them without a list.
std::vector<Range> elements_of(std::span<const std::uint32_t> heads, const Shape& shape) {
  if (heads.empty()) return {{0, shape.elements()}};
  const std::size_t per_head = std::size_t(shape.S) * shape.D;
  std::vector<Range> ranges;
  for (const std::uint32_t head : heads) ranges.push_back({head * per_head, (head + 1) * per_head});
  return ranges;
}

void blank_all_but(const std::vector<Range>& ranges, std::vector<fp16>& tensor) {
  std::size_t from = 0;
  for (const Range& range : ranges) {
    std::fill(tensor.begin() + std::ptrdiff_t(from), tensor.begin() + std::ptrdiff_t(range.begin), FP16_NAN);
    from = range.end;
  }
  std::fill(tensor.begin() + std::ptrdiff_t(from), tensor.end(), FP16_NAN);
}

}  // namespace

const char* name(Family family) {
  constexpr const char* NAMES[] = {"notes",   "unit",    "peaked",   "offset",  "swamped", "cancelling",
                                   "special", "impulse", "climbing", "matched", "constant"};
  static_assert(std::size(NAMES) == std::size(FAMILIES));
  return NAMES[int(family)];
}

Family family_named(std::string_view wanted) {
  std::string names;
  for (const Family family : FAMILIES) {
    if (wanted == name(family)) return family;
    names += std::string(" ") + name(family);
  }
  throw BadInput("unknown inputs '" + std::string(wanted) + "'; there are" + names);
}

Special special_of(int head, const Shape& shape) {
  constexpr float NaN = std::numeric_limits<float>::quiet_NaN(), INF = std::numeric_limits<float>::infinity();
  const int middle = (shape.S / 2 + 5 * head) % shape.S, last = shape.S - 1, col = (7 * head + 3) % shape.D;
  // Scores of -inf for every row and the first keys: for tiles of 64, 80 or 128 keys the whole first tile, and of the
  // next one nothing or all but a few. A row that sees none but those has no answer.
  const auto no_score = [&](int keys) { return Special{'k', INF, 0, col, std::min(keys, shape.S), -1.0f}; };
  const Special kinds[SPECIALS] = {
      {'k', NaN, middle, col},
      {'v', NaN, middle, col},
      {'q', NaN, middle, col},
      {'k', INF, middle, col},
      {'v', -INF, middle, col},
      {'q', INF, middle, col},
      {'q', -INF, middle, col},
      {'v', INF, middle, col},
      // In row 0, which all queries see, and in the last: copied to where zeros belong, they make NaN.
      {'v', INF, 0, 3},
      {'v', INF, last, col},
      {'k', NaN, last, col},
      no_score(64),
      no_score(136),
      // No row has a score above -65504, whether the scale is in it or not.
      {'k', 16384, 0, col, shape.S, -64.0f}};
  return kinds[head % SPECIALS];
}

Inputs make_inputs(Family family, const Shape& shape, std::uint64_t seed, std::span<const std::uint32_t> heads,
                   double amplitude) {
  if (amplitude != 1 && !takes_amplitude(family))
    throw BadInput(std::string(name(family)) + " inputs take no amplitude; unit, matched and constant do");
  const double qk = family == Family::notes || family == Family::special ? 0.1
                    : family == Family::peaked                           ? PEAK
                                                                         : amplitude;
  const double offset = family == Family::offset ? OFFSET : 0.0;
  Inputs in;
  const std::size_t size = shape.elements();
  const std::vector<Range> ranges = elements_of(heads, shape);
  for (std::vector<fp16>* tensor : {&in.q, &in.k, &in.v}) tensor->resize(size);
  static std::unique_ptr<Normals> of_last_seed;
  static std::mutex one_at_a_time;
  const std::lock_guard guard(one_at_a_time);
  if (!of_last_seed || of_last_seed->seed() != seed) of_last_seed = std::make_unique<Normals>(seed);
  Normals& normals = *of_last_seed;
  if (family == Family::constant) {
    in.q.assign(size, to_fp16(float(qk))), in.k = in.q;
  } else {
    fill(in.q, ranges, normals, 0, [&](double x) { return saturated(qk * x); });
    if (family == Family::matched)
      in.k = in.q;
    else
      fill(in.k, ranges, normals, 1, [&](double x) { return saturated(qk * x + offset); });
  }
  if (family == Family::swamped || family == Family::cancelling) only_first_column(in, shape, SWAMPED_Q);
  if (family == Family::impulse) {
    in.v.assign(size, fp16{0});
    for (std::size_t row = 0; row < shape.rows(); ++row) in.v[row * shape.D + row % shape.S % shape.D] = to_fp16(1.0f);
  } else {
    fill(in.v, ranges, normals, 2, [&](double x) { return (family == Family::notes ? 0.1 : 1.0) * x; });
  }
  const double score_per_k = 8 / std::sqrt(double(shape.D));
  if (family == Family::climbing) make_climbing(in, shape, score_per_k);
  if (family == Family::swamped) {
    for (std::size_t row = 0; row < shape.rows(); ++row) {
      if (row % shape.S > 0) in.k[row * shape.D] = to_fp16(float(SWAMPED_SCORE / score_per_k));
      if (row % shape.S % 2) in.q[row * shape.D] = to_fp16(float(SWAMPED_ODD_Q));
      for (int c = 0; c < shape.D; c += 2) in.v[row * shape.D + c] = to_fp16(1.0f);
    }
  }
  if (family == Family::cancelling) {
    const fp16 up = worst_rounded(score_per_k, 1), down = worst_rounded(score_per_k, -1);
    for (std::size_t row = 0; row < shape.rows(); ++row) {
      const std::size_t n = row % shape.S;
      if (n > 0) in.k[row * shape.D] = n % 2 ? up : down;
      for (int c = 0; c < shape.D; ++c)
        in.v[row * shape.D + c] = to_fp16(n == 0 ? 0.0f : (n % 2 ? 1.0f : -1.0f) * (0.5f + float(c) / 64));
    }
  }
  if (family == Family::special)
    for (int head = 0; head < shape.B * shape.H; ++head) {
      const Special s = special_of(head, shape);
      const auto column = [&](std::vector<fp16>& tensor, int row) -> fp16& {
        return tensor[(std::size_t(head) * shape.S + row) * shape.D + s.col];
      };
      for (int row = 0; s.all_of_q != 0 && row < shape.S; ++row) column(in.q, row) = to_fp16(s.all_of_q);
      for (int row = s.row; row < s.row + s.rows; ++row)
        column(s.tensor == 'q' ? in.q : s.tensor == 'k' ? in.k : in.v, row) = to_fp16(s.value);
    }
  for (std::vector<fp16>* tensor : {&in.q, &in.k, &in.v}) blank_all_but(ranges, *tensor);
  return in;
}

}  // namespace lab
