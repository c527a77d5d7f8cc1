// The fast way of a tensor core's tile, included twice by tensor_core.cpp: for vectors of four floats, which every
// machine has, and of eight. Float, Int and UInt are the vectors, PIECES of them make eight columns; widen() gives
// those of one piece.

inline Float floats_at(const float* from) {
  Float vector;
  std::memcpy(&vector, from, sizeof vector);
  return vector;
}
inline UInt words_at(const void* from) {
  UInt vector;
  std::memcpy(&vector, from, sizeof vector);
  return vector;
}
inline UInt chosen(const UInt& mask, const UInt& yes, const UInt& no) { return (mask & yes) | (~mask & no); }
inline UInt power_of_two(const Int& exponent) { return UInt((exponent + 127) << 23); }
inline bool any(const UInt& lanes) {
  std::uint64_t words[sizeof lanes / 8], all = 0;
  std::memcpy(words, &lanes, sizeof lanes);
  for (const std::uint64_t word : words) all |= word;
  return all != 0;
}

// c += a b, exactly as the tensor core gives it.
inline void exact_tile(const TileOperands& x, float (&c)[16][8], TensorCoreModel model) {
  constexpr int LANES = 8 / PIECES;
  const int fraction = 23 + model.extra;
  for (int row = 0; row < 16; ++row)
    for (int first = 0; first < 16; first += model.block) {
      const int end = first + model.block;
      Short8 largest = Short8{} + std::int16_t(2 * NONE);
      for (int k = first; k < end; ++k) {
        const Short8 exponent = x.a_exponent[row][k] + load<Short8>(x.b_exponent[k]);
        largest = exponent > largest ? exponent : largest;
      }
      Int unit[PIECES];
      UInt sum[PIECES] = {};  // unsigned: where an infinity takes part it is nonsense, and may wrap
      Float scale[PIECES];
      for (int piece = 0; piece < PIECES; ++piece) {
        const auto before = Int(words_at(&c[row][LANES * piece]));
        const Int of_c = (before >> 23 & 255) - 127;  // of a zero: below that of any product
        const Int of_product = widen(largest, piece);
        unit[piece] = (of_product > of_c ? of_product : of_c) - fraction;
        // Where there is no product the scale may be anything: the sum is zero, and c stays as it is.
        const Int up = -unit[piece];
        scale[piece] = Float(power_of_two(up < 127 ? up : Int{} + 127));
      }
      // Multiplied by a power of two, an exact product stays exact; the conversion to integer cuts it off.
      for (int k = first; k < end; ++k)
        for (int piece = 0; piece < PIECES; ++piece)
          sum[piece] +=
              UInt(__builtin_convertvector(x.a[row][k] * floats_at(&x.b[k][LANES * piece]) * scale[piece], Int));
      for (int piece = 0; piece < PIECES; ++piece) {
        float* const result = &c[row][LANES * piece];
        const Float before = floats_at(result);
        const auto total = Int(sum[piece] + UInt(__builtin_convertvector(before * scale[piece], Int)));
        // The conversion to float rounds: one step back where it went up.
        const Int sign = total >> 31;
        const auto magnitude = Int(UInt(total ^ sign) - UInt(sign));
        const auto rounded = __builtin_convertvector(magnitude, Float);
        const auto cut = Float(Int(rounded) + (__builtin_convertvector(rounded, Int) > magnitude));
        const auto after = UInt(cut * Float(power_of_two(unit[piece]))) | (UInt(sign) << 31);
        const auto no_product = UInt(widen(largest, piece) < NO_PRODUCT);
        const UInt done = chosen(no_product, UInt(before + 0.0f), after);  // -0 becomes 0
        const auto products = Int(sum[piece]);  // with c, one beyond 2^30 might pass 2^31: the definition takes it
        const Int too_large = (products > (1 << 30)) | (products < -(1 << 30));
        const UInt special = UInt(too_large) | UInt((UInt(before) & 0x7F800000u) == 0x7F800000u) |
                             words_at(x.b_special + LANES * piece) | (x.a_special[row] ? ~0u : 0u);
        std::memcpy(result, &done, sizeof done);
        if (!any(special)) continue;
        for (int i = 0; i < LANES; ++i)
          if (special[i]) result[i] = element_by_definition(x, row, LANES * piece + i, first, before[i], model);
      }
    }
}
