// Two blocks of a cluster merge what each has summed over its own keys. `in` holds, for each block and each of 64 rows,
// 18 halves: m, l and 16 columns of o, all relative to 2^m; a row of a block that has seen no key has m = -infinity and
// zeros. out[row][column] is o / l of all keys. One thread per row.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "common/ptx/cluster.cuh"
#include "common/ptx/ex2.cuh"
#include "common/smem_plan.cuh"

constexpr int ROWS = 64, COLUMNS = 16, HALF = COLUMNS / 2;  // block r finishes columns HALF r .. HALF r + HALF - 1

// From the other block, of each row: m, l and HALF columns.
struct Mail {
  float *m, *l;
  float4* o;  // [HALF / 4][ROWS]
};

__global__ void mechanism(const half* in, float* out) {
  lab::AlignedSmemCursor cursor;
  Mail mail;
  mail.m = cursor.array<float>("mail_m", 1, ROWS), mail.l = cursor.array<float>("mail_l", 1, ROWS);
  mail.o = cursor.array<float4>("mail_o", HALF / 4, ROWS);
  const int row = threadIdx.x, rank = lab::ptx::cluster_rank(), other = 1 - rank;
  const half* mine = in + (rank * ROWS + row) * (COLUMNS + 2);
  const float m = mine[0], l = mine[1];
  float o[COLUMNS];
  for (int c = 0; c < COLUMNS; ++c) o[c] = mine[2 + c];
#ifdef SOLUTION
  lab::ptx::cluster_sync();
  for (int i = 0; i < HALF / 4; ++i) {
    const float* const theirs = o + HALF * other + 4 * i;
    lab::ptx::remote_store(lab::ptx::mapa(&mail.o[i * ROWS + row], other),
                           make_float4(theirs[0], theirs[1], theirs[2], theirs[3]));
  }
  lab::ptx::remote_store(lab::ptx::mapa(&mail.m[row], other), m);
  lab::ptx::remote_store(lab::ptx::mapa(&mail.l[row], other), l);
  lab::ptx::cluster_sync();
  const float both = fmaxf(m, mail.m[row]);
  const float ours = lab::ptx::ex2(m - both), theirs = lab::ptx::ex2(mail.m[row] - both);
  const float sum = l * ours + mail.l[row] * theirs;
  for (int i = 0; i < HALF / 4; ++i) {
    const float4 x = mail.o[i * ROWS + row];
    const float from[4] = {x.x, x.y, x.z, x.w};
    for (int e = 0; e < 4; ++e) {
      const int c = HALF * rank + 4 * i + e;
      out[row * COLUMNS + c] = (o[c] * ours + from[e] * theirs) / sum;
    }
  }
#else
  (void)mail, (void)other, (void)m, (void)l, (void)o, (void)out;  // yours
#endif
}
