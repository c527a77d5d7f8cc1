#include "checks/exercises/drills/no_result.hpp"

#include <cuda_runtime.h>
#include <signal.h>
#include <ucontext.h>

#include <array>
#include <bit>
#include <cstdint>
#include <set>

#include "common/emulator/addr2line.hpp"
#include "common/emulator/findings.hpp"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace lab {
#if defined(__x86_64__)
namespace {

struct NoResult {
  std::uintptr_t pc;
  unsigned thread;
  const char* what;
};
std::array<NoResult, 256> no_results;  // a signal handler writes them: no allocation
std::size_t no_result_count;

// The float instruction at `code` and its first operand, in words; null for a comparison or a conversion, which makes no NaN. Of an
// operation that has no result, the first operand and the operation tell the second.
const char* no_result_of(const std::uint8_t* code, const _libc_fpstate& registers) {
  int reg = 0;
  bool fused = false;
  if (*code == 0xC5 || *code == 0xC4) {  // VEX: the first operand is vvvv, complemented
    const std::uint8_t* const last = code + (*code == 0xC5 ? 1 : 2);
    fused = *code == 0xC4 && (code[1] & 31) == 2;
    reg = ~(*last >> 3) & 15, code = last + 1;
  } else {
    const bool high = (code[1] & 0xF4) == 0x44;  // F3, perhaps REX with its R, 0F
    code += (code[1] & 0xF0) == 0x40 ? 2 : 1;
    if (*code++ != 0x0F) return nullptr;
    reg = (code[1] >> 3 & 7) + 8 * high;
  }
  if (fused) return "0 times infinity, or infinities of both signs, in a multiply-add";
  const float first = std::bit_cast<float>(registers._xmm[reg].element[0]);
  switch (*code) {
    case 0x58:
      return "infinity plus -infinity";
    case 0x59:
      return "0 times infinity";
    case 0x5C:
      return first < 0 ? "-infinity minus -infinity" : "infinity minus infinity";
    case 0x5E:
      return first == 0 ? "0 / 0" : "infinity / infinity";
  }
  return nullptr;
}

constexpr unsigned INVALID_MASK = 0x80, FLAGS = 0x3F;  // of mxcsr
constexpr greg_t TRAP = 0x100;                         // of the processor's flags: after one more instruction

// The instruction runs again, without a trap; then on_step has the next one trap again.
void on_invalid(int signal, siginfo_t* info, void* context) {
  if (info->si_code != FPE_FLTINV) {  // a division of whole numbers by 0: the program's end, as without a watch
    ::signal(signal, SIG_DFL);
    return;
  }
  mcontext_t& machine = static_cast<ucontext_t*>(context)->uc_mcontext;
  const auto at = std::uintptr_t(machine.gregs[REG_RIP]);
  const char* const what = no_result_of(reinterpret_cast<const std::uint8_t*>(at), *machine.fpregs);
  if (what && no_result_count < no_results.size())
    no_results[no_result_count++] = {at - cpu::code_base, threadIdx.x, what};
  machine.fpregs->mxcsr = (machine.fpregs->mxcsr | INVALID_MASK) & ~FLAGS;
  machine.gregs[REG_EFL] |= TRAP;
}
void on_step(int, siginfo_t*, void* context) {
  mcontext_t& machine = static_cast<ucontext_t*>(context)->uc_mcontext;
  machine.fpregs->mxcsr &= ~(INVALID_MASK | FLAGS);
  machine.gregs[REG_EFL] &= ~TRAP;
}

}  // namespace

NoResultWatch::NoResultWatch() {
  no_result_count = 0;
  struct sigaction action {};
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  action.sa_sigaction = on_invalid, sigaction(SIGFPE, &action, nullptr);
  action.sa_sigaction = on_step, sigaction(SIGTRAP, &action, nullptr);
  _mm_setcsr(_mm_getcsr() & ~(INVALID_MASK | FLAGS));  // threads inherit it
}
NoResultWatch::~NoResultWatch() {
  _mm_setcsr(_mm_getcsr() | INVALID_MASK);
  signal(SIGFPE, SIG_DFL), signal(SIGTRAP, SIG_DFL);
}

std::string NoResultWatch::text(int warp) {
  constexpr std::size_t MOST = 3;
  std::set<std::string> places;
  std::string text;
  for (std::size_t i = 0; i < no_result_count && places.size() < MOST; ++i) {
    const auto& [pc, thread, what] = no_results[i];
    if (warp >= 0 && int(thread) / 32 != warp) continue;
    const cpu::SourceLine line = cpu::source_line(pc);
    if (!line.line || !places.insert(line.file + ":" + std::to_string(line.line)).second) continue;
    text += "\n    " + std::string(places.size() == 1 ? "the first NaN: " : "the next NaN: ") + what + ", by warp " +
            std::to_string(thread / 32) + " lane " + std::to_string(thread % 32) + " at " + cpu::place_text(pc) + ": " +
            cpu::source_text(line.file, line.line);
  }
  return text;
}
#else
NoResultWatch::NoResultWatch() = default;
NoResultWatch::~NoResultWatch() = default;
std::string NoResultWatch::text(int warp) { return ""; }
#endif

}  // namespace lab
