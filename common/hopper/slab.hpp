// The columns that a swizzle of 128 bytes spans: a row of D halves lies in D / 64 slabs of [rows][64].
#pragma once

namespace lab {
inline constexpr int SLAB = 64;
}
