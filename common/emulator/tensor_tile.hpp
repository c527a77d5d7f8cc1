// The fast way of a tensor core's tile, included twice by tensor_core.cpp: as any machine computes it, and with AVX2. There are two of
// widen(), before it.

// Sixteen halves. Returns lanes that are all ones where an infinity or a NaN is.
inline __attribute__((always_inline)) Halves convert(const std::uint16_t* bits, float* value, std::int16_t* exponent) {
  const auto halves = load<Halves>(bits);
  const Halves field = halves >> 10 & 31u;
  // The field of a subnormal counts as 1: subtracting the mask adds it.
  const auto zero = Halves((halves & 0x7FFFu) == 0), real = field - Halves(field == 0) - 15u;
  const Halves exponents = (zero & std::uint16_t(NONE)) | (~zero & real);
  std::memcpy(exponent, &exponents, sizeof exponents);
  widen(bits, value);
  return Halves(field == 31u);
}
inline void convert_a(const std::uint16_t (&bits)[16][16], float (&value)[16][16], std::int16_t (&exponent)[16][16],
                      bool (&special)[16]) {
  for (int row = 0; row < 16; ++row) special[row] = any(convert(bits[row], value[row], exponent[row]));
}
inline void convert_b(const std::uint16_t (&bits)[16][8], float (&value)[16][8], std::int16_t (&exponent)[16][8],
                      std::uint32_t (&special)[8]) {
  Halves found{};  // of even and of odd k
  for (int k = 0; k < 16; k += 2) found |= convert(bits[k], value[k], exponent[k]);
  for (int column = 0; column < 8; ++column) special[column] = found[column] | found[column + 8] ? ~0u : 0u;
}

inline UInt power_of_two(const Int& exponent) { return UInt((exponent + 127) << 23); }

// c += a b, exactly as the tensor core gives it.
inline void exact_tile(const TileOperands& x, float (&c)[16][8]) {
  for (int row = 0; row < 16; ++row) {
    Short largest_product = Short{} + std::int16_t(2 * NONE);
    for (int k = 0; k < 16; ++k) {
      const Short exponent = x.a_exponent[row][k] + load<Short>(x.b_exponent[k]);
      largest_product = exponent > largest_product ? exponent : largest_product;
    }
    const Int largest = __builtin_convertvector(largest_product, Int);
    const auto before = load<Float>(c[row]);
    const Int of_c = (Int(before) >> 23 & 255) - 127;  // of a zero: below that of any product
    const Int unit = (largest > of_c ? largest : of_c) - (23 + EXTRA_BITS);
    // Where there is no product the scale may be anything: the sum is zero, and c stays as it is.
    const Int up = -unit;
    const auto scale = Float(power_of_two(up < 127 ? up : Int{} + 127));
    // Multiplied by a power of two, an exact product stays exact; the conversion to integer cuts it off.
    UInt sum{};  // unsigned: where an infinity takes part it is nonsense, and may wrap
    for (int k = 0; k < 16; ++k) sum += UInt(__builtin_convertvector(x.a[row][k] * load<Float>(x.b[k]) * scale, Int));
    const auto total = Int(sum + UInt(__builtin_convertvector(before * scale, Int)));
    // The conversion to float rounds: one step back where it went up.
    const Int sign = total >> 31;
    const auto magnitude = Int(UInt(total ^ sign) - UInt(sign));
    const auto rounded = __builtin_convertvector(magnitude, Float);
    const auto cut = Float(Int(rounded) + (__builtin_convertvector(rounded, Int) > magnitude));
    const auto after = UInt(cut * Float(power_of_two(unit))) | (UInt(sign) << 31);
    const auto no_product = UInt(largest < NO_PRODUCT);
    const UInt done = (no_product & UInt(before + 0.0f)) | (~no_product & after);  // -0 becomes 0
    const auto products = Int(sum);  // with c, one beyond 2^30 might pass 2^31: the definition takes it
    const UInt large = UInt((products > (1 << 30)) | (products < -(1 << 30)));
    const UInt special =
        UInt((UInt(before) & 0x7F800000u) == 0x7F800000u) | load<UInt>(x.b_special) | (x.a_special[row] ? ~0u : 0u);
    std::memcpy(c[row], &done, sizeof done);
    if (!any(large | special)) continue;
    const Float infinite = Float{} + INFINITY;
    UInt nan(before != before), plus(before == infinite), minus(before == -infinite);  // of c and of any product
    for (int k = 0; k < 16; ++k) {
      const Float product = x.a[row][k] * load<Float>(x.b[k]);
      nan |= UInt(product != product), plus |= UInt(product == infinite), minus |= UInt(product == -infinite);
    }
    nan |= plus & minus;
    const UInt found = (nan & TENSOR_CORE_NAN) | (~nan & UInt(infinite) & plus) | (~nan & UInt(-infinite) & minus);
    for (int i = 0; i < 8; ++i)
      if (special[i])
        std::memcpy(&c[row][i], &found[i], sizeof found[i]);
      else if (large[i])
        c[row][i] = element_by_definition(x, row, i, before[i]);
  }
}
