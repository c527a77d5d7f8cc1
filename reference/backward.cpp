#include "reference/backward.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <string>
#include <thread>

#include "reference/bad_input.hpp"

namespace lab {
namespace {

constexpr double INF = std::numeric_limits<double>::infinity();

std::vector<double> widened(Tensor from, std::size_t begin, std::size_t size) {
  std::vector<double> to(size);
  for (std::size_t i = 0; i < size; ++i) to[i] = to_float(from[begin + i]);
  return to;
}

void fill_row(BackwardHead& h, double scale, int i, Hidden hidden) {
  const int keys = h.causal ? i + 1 : h.S;
  double* const P = &h.P[h.at(i, 0)];
  double* const dP = &h.dP[h.at(i, 0)];
  double* const dS = &h.dS[h.at(i, 0)];
  double largest = -INF, sum = 0, delta = 0;
  for (int j = 0; j < keys; ++j) largest = std::max(largest, P[j] = scale * dot(h.q_row(i), h.k_row(j), h.D));
  for (int j = 0; j < keys; ++j) sum += std::exp(P[j] - largest);
  h.L[i] = largest + std::log(sum);
  for (int j = 0; j < keys; ++j) {
    // Not exp(P[j] - L): the rounding of a large L would cost digits.
    P[j] = std::exp(P[j] - largest) / sum;
    dP[j] = dot(h.dout_row(i), h.v_row(j), h.D);
    delta += P[j] * dP[j];
  }
  h.delta[i] = delta;
  for (int j = 0; j < keys; ++j) dS[j] = scale * (P[j] * (dP[j] - delta));
  if (hidden == Hidden::times_zero)
    for (int j = keys; j < h.S; ++j) {
      dP[j] = dot(h.dout_row(i), h.v_row(j), h.D);
      dS[j] = 0.0 * (dP[j] - delta);
    }
}

}  // namespace

void for_backward_heads(const Shape& shape, double scale, Tensor q, Tensor k, Tensor v, Tensor dout, Hidden hidden,
                        const std::function<void(BackwardHead&)>& each) {
  if (shape.B < 1 || shape.H < 1 || shape.S < 1 || shape.D < 1)
    throw BadInput("backward: B, H, S and D must each be at least 1");
  for (const auto& [name, tensor] : {std::pair("q", q), {"k", k}, {"v", v}, {"dout", dout}})
    if (tensor.size() != shape.elements())
      throw BadInput(std::string("backward: ") + name + " has " + std::to_string(tensor.size()) +
                     " elements; B*H*S*D is " + std::to_string(shape.elements()));
  const std::size_t S = std::size_t(shape.S), size = S * std::size_t(shape.D);
  std::atomic<int> next{0};
  const auto work = [&] {
    for (int number = next++; number < shape.B * shape.H; number = next++) {
      const std::size_t begin = std::size_t(number) * size;
      BackwardHead h{{shape.S, shape.D, widened(q, begin, size), widened(k, begin, size), widened(v, begin, size)},
                     number,
                     shape.causal,
                     widened(dout, begin, size),
                     std::vector<double>(S),
                     std::vector<double>(S),
                     std::vector<double>(S * S),
                     std::vector<double>(S * S),
                     std::vector<double>(S * S)};
      for (int i = 0; i < h.S; ++i) fill_row(h, scale, i, hidden);
      each(h);
    }
  };
  std::vector<std::thread> others;
  const unsigned threads = std::min<unsigned>(std::thread::hardware_concurrency(), unsigned(shape.B * shape.H));
  for (unsigned i = 1; i < threads; ++i) others.emplace_back(work);
  work();
  for (std::thread& other : others) other.join();
}

void add_product(const BackwardHead& h, const std::vector<double>& weight, bool transposed, const double* rows,
                 Hidden hidden, double* out) {
  for (int i = 0; i < h.S; ++i)
    for (int j = 0; j < h.S; ++j) {
      if (hidden == Hidden::left_out && !h.sees(i, j)) break;  // nor any later key
      const double w = weight[h.at(i, j)];
      const double* const from = rows + std::size_t(transposed ? i : j) * h.D;
      double* const to = out + std::size_t(transposed ? j : i) * h.D;
      for (int c = 0; c < h.D; ++c) to[c] += w * from[c];
    }
}

Gradients backward(const Shape& shape, double scale, Tensor q, Tensor k, Tensor v, Tensor dout, Hidden hidden,
                   const ChangePairs& change) {
  const Hidden pairs = change ? Hidden::times_zero : hidden;
  Gradients g;
  for (std::vector<double>* gradient : {&g.dq, &g.dk, &g.dv}) gradient->resize(shape.elements());
  g.L.resize(shape.rows()), g.delta.resize(shape.rows());
  for_backward_heads(shape, scale, q, k, v, dout, hidden, [&](BackwardHead& h) {
    if (change) change(h);
    const std::size_t first_row = std::size_t(h.number) * h.S, begin = first_row * h.D;
    std::ranges::copy(h.L, g.L.begin() + std::ptrdiff_t(first_row));
    std::ranges::copy(h.delta, g.delta.begin() + std::ptrdiff_t(first_row));
    add_product(h, h.dS, false, h.k.data(), pairs, &g.dq[begin]);
    add_product(h, h.dS, true, h.q.data(), pairs, &g.dk[begin]);
    add_product(h, h.P, true, h.dout.data(), pairs, &g.dv[begin]);
  });
  return g;
}

}  // namespace lab
