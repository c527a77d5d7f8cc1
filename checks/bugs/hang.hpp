// The parts of a hang's report that must match to count as predicted.
#pragma once
#include <string>

namespace lab {

// The report of a block that cannot go on (Block::deadlock) has one sentence for the threads that wait for the same:
// "Warps 0..3 lanes 0..31 wait for phase 1 of full[0] (parity 1): 1 of 1 arrivals missing (FILE:LINE)."
struct NamedHang {
  std::string waits_for;  // "wait for" or "waits for" aside, up to the place: "phase 1 of full[0] (parity 1): 1 of ..."
  std::string place;      // "FILE:LINE"; empty: any
  std::string story;      // also somewhere in the report: "no copy was ever issued for it"; empty: nothing
};

// The first sentence that says so, empty if there is none: the report is of no hang, or of another.
std::string hang_sentence(const std::string& report, const NamedHang& wanted);

// A process whose launch hangs on a GPU (hang_seconds) ends at once, with the exit status HUNG: whatever waits for the
// GPU would wait for the kernel, and the end of the process ends that.
inline constexpr int HUNG = 4;

// The end of such a process, from the value that std::system() or pclose() returned.
enum class Ended { well, hung, otherwise };
Ended how_it_ended(int system_status);

// Why the launch stopped that `lab once` printed, "cudaErrorIllegalInstruction: ...", or "" if it ran: its exit status
// is 0 for both.
std::string stopped_by(const std::string& once_printed);

}  // namespace lab
