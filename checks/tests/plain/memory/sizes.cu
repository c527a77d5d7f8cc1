// The compiler tells the checker of loads and stores of every size: each marked line is out of bounds, and no other is.
#include <cstdint>
#include "both.h"

struct Twelve { int word[3]; };
struct Big { int word[12]; };
template <class T>
struct __attribute__((packed)) Packed { char first; T value; };
#define KEEP __threadfence_block()  // no store goes because of a later one
template <class T>
__device__ __forceinline__ T& as(unsigned char* p) { return *reinterpret_cast<T*>(p); }
__device__ __forceinline__ unsigned char* opaque(unsigned char* p) {
  asm volatile("" : "+r"(p));
  return p;
}

KERNEL(each_size) {
  __shared__ __align__(16) unsigned char s[256];
  for (int i = 0; i < 256; ++i) s[i] = 0;
  unsigned char* p = opaque(s + 256 - (kept ? 160 : 0));
  as<unsigned char>(p + 15) = 1;
  as<std::uint16_t>(p + 30) = 1;
  as<std::uint32_t>(p + 44) = 1;
  as<std::uint64_t>(p + 56) = 1;
  as<unsigned __int128>(p + 64) = 1;
  int sum = as<unsigned char>(p + 95);
  sum += as<std::uint16_t>(p + 110);
  sum += int(as<std::uint32_t>(p + 124));
  sum += int(as<std::uint64_t>(p + 136));
  sum += int(as<unsigned __int128>(p + 144));
  out[0] = sum;
}
KERNEL(ranges) {
  __shared__ __align__(16) unsigned char s[256];
  for (int i = 0; i < 64; ++i) as<int>(s + 4 * i) = i;
  unsigned char* end = opaque(s + 256 - (kept ? 96 : 0));
  as<Twelve>(end - 8) = as<Twelve>(s);
  KEEP;
  as<Twelve>(s) = as<Twelve>(end - 4);
  KEEP;
  as<Big>(end - 32) = as<Big>(s);
  KEEP;
  as<Big>(s) = as<Big>(end - 16);
  KEEP;
  as<Packed<int>>(end - 3).value = 5;
  KEEP;
  out[0] = as<Packed<int>>(end - 3).value;
  KEEP;
  as<Packed<std::uint64_t>>(end - 7).value = 1;
  KEEP;
  out[0] += int(as<Packed<std::uint64_t>>(end - 7).value);
  KEEP;
  *reinterpret_cast<volatile int*>(end + 32) = 1;
  KEEP;
  out[0] += *reinterpret_cast<volatile int*>(end + 36);
  KEEP;
  memcpy(end + 64, s, 16);
}
// In global memory the first one past the end is the last: there is no memory.
KERNEL(past_a_buffer) {
  unsigned char* p = opaque(reinterpret_cast<unsigned char*>(out + 1024) - (kept ? 160 : 0));
  as<std::uint32_t>(p + 44) = 1;
  out[0] = int(as<std::uint64_t>(p + 136));
}

int main() {
  BOTH(each_size, 1, 1);
  BOTH(ranges, 1, 1);
  BOTH(past_a_buffer, 1, 1);
  done();
}
