// How many blocks a GPU works on at once, for launchers that count.
#pragma once

namespace lab {

// ExecOptions::multiprocessors, or where that is 0 those of the GPU at hand, on the CPU an H200's 132.
int multiprocessors();

// Blocks of a persistent kernel for this many pieces of work: one for each multiprocessor, at most one per piece. On
// the CPU one per piece unless ExecOptions::multiprocessors says how many: so that a sample of pieces is a sample of
// blocks.
unsigned persistent_blocks(unsigned pieces);

}  // namespace lab
