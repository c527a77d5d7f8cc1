// Faults of public programs: global memory that nothing has written, stores to __constant__ memory, a copy to address zero,
// a block's barrier that some threads pass by; and one that they do right: objects with virtual functions in shared memory.
#include <cooperative_groups.h>
#include <new>
#include "both.h"

struct Shape {
  int side;
  __device__ Shape(int s) : side(s) {}
  __device__ virtual int area() const { return 0; }
};
struct Square : Shape {
  __device__ Square(int s) : Shape(s) {}
  __device__ int area() const override { return side * side; }
};
// The constructor writes the pointer to the table of functions, too.
KERNEL(virtual_call) {
  __shared__ __align__(8) char place[sizeof(Square)];
  __shared__ Shape* shape;
  if (t == 0) shape = new (place) Square(7);
  __syncthreads();
  out[t] = shape->area();
}
// Of an array that the host sets to zero, but for its last byte if !kept.
KERNEL(last_byte) { out[t] += 1; }
KERNEL(sum_of_nothing) {
  if (kept) atomicExch(&out[t], 5);
  atomicAdd(&out[t], 1);
}
KERNEL(read_after_a_write) {
  if (kept || t != 5) out[t] = 1;
  __syncthreads();
  out[64 + t] = out[t];
}

__device__ int variable[64];
__constant__ int constant[64];
__constant__ const int table[2] = {3, 4};
KERNEL(to_a_constant) {
  int* const to = kept ? variable : constant;
  to[t] = table[0];
  out[t] = to[t];
}
KERNEL(even_threads_meet) {
  if (kept || t % 2 == 0) cooperative_groups::synchronize(cooperative_groups::this_thread_block());
  out[t] = 1;
}
// Nothing else: g++ took a function with this alone for one without effect.
__global__ void to_address_zero(int* from) { __builtin_memcpy(nullptr, from, 4); }

// Each with an array of its own, of which `bytes` are set.
template <class Kernel>
void on_new(Kernel kernel, int bytes) {
  int* fresh;
  cudaMalloc(&fresh, 512);
  cudaMemset(fresh, 0, bytes);
  kernel<<<1, 64>>>(fresh);
  errors += cudaDeviceSynchronize() != cudaSuccess;
  cudaFree(fresh);
}

int main() {
  RIGHT(virtual_call, 1, 64);
  on_new(last_byte<false>, 4 * 64 - 1);
  on_new(last_byte<true>, 4 * 64);
  on_new(sum_of_nothing<false>, 0);
  on_new(sum_of_nothing<true>, 0);
  on_new(read_after_a_write<false>, 0);
  on_new(read_after_a_write<true>, 0);
  BOTH(to_a_constant, 1, 64);
  BOTH(even_threads_meet, 1, 64);
  begin();
  to_address_zero<<<1, 1>>>(out);
  end(false);
  done();
}
