// A place in the shared memory of a block of the cluster, as the emulator takes it.
#pragma once

namespace lab::ptx {
struct RemoteShared {
  unsigned rank, offset;  // of the block, and in its memory
};
}  // namespace lab::ptx
