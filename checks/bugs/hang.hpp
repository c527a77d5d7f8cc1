// Which hang a bug's signature predicts, and how a process ends whose launch hangs.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "common/hang.hpp"

namespace lab {

// Waits at barriers, as a signature writes them down.
Wait at_mbarrier(const std::string& barrier, unsigned phase, int missing, int of);
Wait at_barrier(int number, int arrived, int of);
// At an mbarrier that lacks bytes and no arrival; negative: more came than were announced.
Wait for_bytes(const std::string& barrier, unsigned phase, std::int64_t bytes);

// Parts of a hang that must all be there.
struct NamedHang {
  Wait wait;                    // of some threads; `text` is a piece of its line; its lanes count if it has any
  std::uint32_t returned = 0;   // exactly these warps of a block have returned; 0: any
  std::vector<Wait> also = {};  // of other threads
};

// The wait of a deadlock that is as `hang` has it; nullptr if a part is missing.
const Wait* found(const Hang& report, const NamedHang& hang);
// The parts beside the first wait: "; others for barrier 2, at which 224 of 256 threads have arrived".
std::string also_text(const NamedHang& hang);

// A process whose launch hangs on a GPU (hang_seconds) ends at once, with the exit status HUNG: whatever waits for the
// GPU would wait for the kernel, and the end of the process ends that.
inline constexpr int HUNG = 4;

}  // namespace lab
