// Arithmetic of a type of 16 bits, as a GPU's: each operation rounds. It is a float's, which has more than twice the
// bits, so its rounding first changes no result. In a namespace of its own: calls with a half look for functions there.
#pragma once

namespace lab::rounded {

template <class Half>
struct RoundedArithmetic {
  friend Half operator+(Half a, Half b) { return float(a) + float(b); }
  friend Half operator-(Half a, Half b) { return float(a) - float(b); }
  friend Half operator*(Half a, Half b) { return float(a) * float(b); }
  friend Half operator/(Half a, Half b) { return float(a) / float(b); }
  friend Half operator-(Half a) { return -float(a); }
  friend Half& operator+=(Half& a, Half b) { return a = a + b; }
  friend Half& operator-=(Half& a, Half b) { return a = a - b; }
  friend Half& operator*=(Half& a, Half b) { return a = a * b; }
  friend Half& operator/=(Half& a, Half b) { return a = a / b; }
};

}  // namespace lab::rounded
