#include "checks/bugs/hang.hpp"

#include <sys/wait.h>

namespace lab {

std::string hang_sentence(const std::string& report, const NamedHang& wanted) {
  const std::string deadlock = "deadlock: no thread can go on.";
  const std::size_t start = report.find(deadlock);
  if (start == report.npos || report.find(wanted.story) == report.npos) return "";
  // A sentence about a waiting thread ends with its place.
  for (std::size_t from = start + deadlock.size(), end; (end = report.find(").", from)) != report.npos;
       from = end + 2) {
    const std::string sentence = report.substr(from, end + 2 - from);
    const std::size_t place = sentence.rfind(" (");
    if (sentence.substr(0, place).ends_with(wanted.waits_for) &&
        (wanted.place.empty() || sentence.substr(place) == " (" + wanted.place + ")."))
      return sentence.substr(1);
  }
  return "";
}

Ended how_it_ended(int status) {
  if (!WIFEXITED(status)) return Ended::otherwise;
  return WEXITSTATUS(status) == 0 ? Ended::well : WEXITSTATUS(status) == HUNG ? Ended::hung : Ended::otherwise;
}

std::string stopped_by(const std::string& printed) {
  const std::size_t error = printed.rfind("(cudaError");
  return error == printed.npos ? "" : printed.substr(error + 1, printed.rfind(')') - error - 1);
}

}  // namespace lab
