// CUDA's built-in vector types and their constructors; what cuda_runtime.h has of them for the stages stays there.
#pragma once
#include "cuda_runtime.h"

#define LAB_MAKE_1(name, T) \
  struct name##1 {          \
    T x;                    \
  };                        \
  inline name##1 make_##name##1(T x) { return {x}; }
#define LAB_MAKE_2(name, T)               \
  struct alignas(2 * sizeof(T)) name##2 { \
    T x, y;                               \
  };                                      \
  inline name##2 make_##name##2(T x, T y) { return {x, y}; }
#define LAB_MAKE_3(name, T) \
  struct name##3 {          \
    T x, y, z;              \
  };                        \
  inline name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }
#define LAB_MAKE_4(name, T)                                         \
  struct alignas(4 * sizeof(T) > 16 ? 16 : 4 * sizeof(T)) name##4 { \
    T x, y, z, w;                                                   \
  };                                                                \
  inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
#define LAB_MAKE_ALL(name, T) LAB_MAKE_1(name, T) LAB_MAKE_2(name, T) LAB_MAKE_3(name, T) LAB_MAKE_4(name, T)
using uchar = unsigned char;
using ushort = unsigned short;
using uint = unsigned int;
using ulong = unsigned long;
LAB_MAKE_ALL(char, signed char)
LAB_MAKE_ALL(uchar, unsigned char)
LAB_MAKE_ALL(short, short)
LAB_MAKE_ALL(ushort, unsigned short)
LAB_MAKE_ALL(int, int)
LAB_MAKE_ALL(long, long)
LAB_MAKE_ALL(ulong, unsigned long)
LAB_MAKE_ALL(longlong, long long)
LAB_MAKE_ALL(ulonglong, unsigned long long)
LAB_MAKE_ALL(double, double)
LAB_MAKE_1(uint, unsigned)
LAB_MAKE_1(float, float)
LAB_MAKE_3(float, float)
#undef LAB_MAKE_1
#undef LAB_MAKE_2
#undef LAB_MAKE_3
#undef LAB_MAKE_4
#undef LAB_MAKE_ALL
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }
