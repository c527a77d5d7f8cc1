#include "reference/attention.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <string>
#include <thread>

#include "reference/bad_input.hpp"

namespace lab {
namespace {

// Rows are read through plain pointers further down, so all extents are checked once, here.
void check(const Operands& in, std::span<const RowBlock> blocks) {
  const Shape& shape = in.shape;
  if (shape.B < 1 || shape.H < 1 || shape.S < 1 || shape.D < 1)
    throw BadInput("attention: B, H, S and D must each be at least 1");
  for (const auto& [name, tensor] : {std::pair("q", in.q), {"k", in.k}, {"v", in.v}})
    if (tensor.size() != shape.elements())
      throw BadInput(std::string("attention: ") + name + " has " + std::to_string(tensor.size()) +
                     " elements; B*H*S*D is " + std::to_string(shape.elements()));
  for (const RowBlock& b : blocks)
    if (b.head < 0 || b.head >= shape.B * shape.H || b.first < 0 || b.rows < 0 || b.first > shape.S - b.rows)
      throw BadInput("attention: rows " + std::to_string(b.first) + " + " + std::to_string(b.rows) + " of head " +
                     std::to_string(b.head) + " are not all within B*H = " + std::to_string(shape.B * shape.H) +
                     " heads of S = " + std::to_string(shape.S) + " rows");
}

Head load_head(const Operands& in, int head) {
  Head h{in.shape.S, in.shape.D, {}, {}, {}};
  const std::size_t size = std::size_t(h.S) * h.D, begin = std::size_t(head) * size;
  const auto widen = [&](Tensor from, std::vector<double>& to) {
    to.resize(size);
    for (std::size_t i = 0; i < size; ++i) to[i] = to_float(from[begin + i]);
  };
  widen(in.q, h.q), widen(in.k, h.k), widen(in.v, h.v);
  return h;
}

}  // namespace

std::vector<RowBlock> all_rows(const Shape& shape) {
  std::vector<RowBlock> blocks;
  for (int head = 0; head < shape.B * shape.H; ++head) blocks.push_back({head, 0, shape.S});
  return blocks;
}

// In longer vectors where the machine has them; "avx2" is without fma, so the bits are the same.
#if defined(__x86_64__)
#define LAB_WIDE [[gnu::target_clones("avx2", "default")]]
#else
#define LAB_WIDE
#endif

LAB_WIDE double dot(const double* a, const double* b, int n) {
  double sum[8] =
      {};  // eight chains, so that the compiler can use vectors; the order of fp64 additions is of no matter
  int i = 0;
  for (; i + 8 <= n; i += 8)
    for (int j = 0; j < 8; ++j) sum[j] += a[i + j] * b[i + j];
  for (; i < n; ++i) sum[0] += a[i] * b[i];
  return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

LAB_WIDE void softmax_times_v(const Head& head, std::vector<double>& scores, double* out) {
  const int keys = int(scores.size());
  double largest = -std::numeric_limits<double>::infinity();
  for (const double s : scores) largest = std::max(largest, s);
  double sum = 0;
  for (double& s : scores) sum += s = std::exp(s - largest);
  int n = 0;
  for (; n + 4 <= keys; n += 4) {  // in the order of the keys, and `out` is loaded and stored once for four of them
    const double *const s = &scores[n], *const v0 = head.v_row(n), *const v1 = head.v_row(n + 1);
    const double *const v2 = head.v_row(n + 2), *const v3 = head.v_row(n + 3);
    for (int c = 0; c < head.D; ++c) out[c] = out[c] + s[0] * v0[c] + s[1] * v1[c] + s[2] * v2[c] + s[3] * v3[c];
  }
  for (; n < keys; ++n)
    for (int c = 0; c < head.D; ++c) out[c] += scores[n] * head.v_row(n)[c];
  for (int c = 0; c < head.D; ++c) out[c] /= sum;
}

std::vector<double> for_rows(const Operands& in, const ComputeRow& row, std::span<const RowBlock> chosen,
                             const PrepareHead& prepare) {
  check(in, chosen);
  const Shape& shape = in.shape;
  const std::vector<RowBlock> all =
      chosen.empty() ? all_rows(shape) : std::vector<RowBlock>(chosen.begin(), chosen.end());
  struct Job {
    int head, row;
    std::size_t out;
  };
  std::vector<Job> jobs;
  for (const RowBlock& block : all)
    for (int i = 0; i < block.rows; ++i) jobs.push_back({block.head, block.first + i, jobs.size() * shape.D});
  std::vector<double> out(jobs.size() * shape.D, 0.0);
  std::stable_sort(jobs.begin(), jobs.end(), [](const Job& a, const Job& b) { return a.head < b.head; });
  // One head in fp64 at a time: its rows are shared out, so memory does not grow with B * H.
  for (auto begin = jobs.begin(); begin != jobs.end();) {
    const auto end = std::find_if(begin, jobs.end(), [&](const Job& job) { return job.head != begin->head; });
    Head head = load_head(in, begin->head);
    if (prepare) prepare(head);
    std::atomic<std::ptrdiff_t> next{0};
    const auto work = [&] {
      constexpr std::ptrdiff_t SHARE = 8;
      for (std::ptrdiff_t i = next.fetch_add(SHARE); i < end - begin; i = next.fetch_add(SHARE))
        for (std::ptrdiff_t j = i; j < std::min(i + SHARE, end - begin); ++j)
          row(head, begin[j].row, &out[begin[j].out]);
    };
    std::vector<std::thread> others;
    if (end - begin > 16)
      for (unsigned i = 1; i < std::max(1u, std::thread::hardware_concurrency()); ++i) others.emplace_back(work);
    work();
    for (std::thread& other : others) other.join();
    begin = end;
  }
  return out;
}

std::vector<double> attention(const Operands& in, std::span<const RowBlock> blocks) {
  const auto row = [&](const Head& head, int i, double* out) {
    std::vector<double> scores(visible_keys(in.shape, i));
    for (std::size_t n = 0; n < scores.size(); ++n)
      scores[n] = in.scale * dot(head.q_row(i), head.k_row(int(n)), head.D);
    softmax_times_v(head, scores, out);
  };
  return for_rows(in, row, blocks);
}

}  // namespace lab
