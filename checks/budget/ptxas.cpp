#include "checks/budget/ptxas.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace lab {
namespace {

// The number before `unit` in `line`: number_before("Used 43 registers, ...", " registers") is 43.
std::optional<std::size_t> number_before(const std::string& line, std::string_view unit) {
  const std::size_t at = line.find(unit);
  if (at == line.npos) return std::nullopt;
  std::size_t begin = at;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  if (begin == at) return std::nullopt;
  return std::stoull(line.substr(begin, at - begin));
}

// The text between the first two quotes from `from` on, and where it ended.
std::string quoted(const std::string& line, std::size_t& from) {
  const std::size_t begin = line.find('\'', from), end = begin == line.npos ? begin : line.find('\'', begin + 1);
  if (end == line.npos) throw std::runtime_error("ptxas: not understood: " + line);
  from = end + 1;
  return line.substr(begin + 1, end - begin - 1);
}

// Every remark on serialised wgmma and on setmaxnreg begins so, whatever its code (C7508 to C7520 in nvcc 13.0).
bool is_lost(const std::string& line) { return line.find("Potential Performance Loss") != line.npos; }

}  // namespace

// "_ZN...11v2c6_kernelILi128ELi2EEEvPK6__half..." -> "v2c6_kernel<128,2>".
std::string readable_kernel(const std::string& mangled) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> whole(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), std::free);
  if (status != 0) return mangled;  // extern "C"
  std::string name = whole.get();
  for (const std::string anonymous = "(anonymous namespace)::"; name.find(anonymous) != name.npos;)
    name.erase(name.find(anonymous), anonymous.size());
  // The parameters begin at the first '(' outside template arguments; the name after the last "::" or space before
  // that.
  std::size_t begin = 0, depth = 0, end = name.size();
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '<') ++depth;
    if (name[i] == '>') --depth;
    if (depth) continue;
    if (name[i] == '(') {
      end = i;
      break;
    }
    if (name[i] == ' ' || name[i] == ':') begin = i + 1;
  }
  name = name.substr(begin, end - begin);
  std::erase(name, ' ');
  return name;
}

PtxasLog parse_ptxas(std::string_view text) {
  PtxasLog log;
  std::optional<KernelResources> open;
  std::istringstream lines{std::string(text)};
  const auto must_be_closed = [&] {
    if (open) throw std::runtime_error("ptxas: no registers told for " + open->kernel + " (" + open->arch + ")");
  };
  for (std::string line; std::getline(lines, line);) {
    if (is_lost(line)) log.lost.push_back(line);
    if (line.find("Compiling entry function") != line.npos) {
      must_be_closed();
      std::size_t from = 0;
      const std::string mangled = quoted(line, from);
      open = KernelResources{readable_kernel(mangled), quoted(line, from)};
    } else if (open && line.find("bytes stack frame") != line.npos) {
      const auto stack = number_before(line, " bytes stack frame"), stores = number_before(line, " bytes spill stores"),
                 loads = number_before(line, " bytes spill loads");
      if (!stack || !stores || !loads) throw std::runtime_error("ptxas: not understood: " + line);
      open->stack = *stack, open->spill_stores = *stores, open->spill_loads = *loads;
    } else if (open && line.find("Used ") != line.npos) {
      const auto registers = number_before(line, " registers");
      if (!registers) throw std::runtime_error("ptxas: not understood: " + line);
      open->registers = int(*registers);
      open->static_smem = number_before(line, " bytes smem").value_or(0);
      log.kernels.push_back(*std::exchange(open, std::nullopt));
    }
  }
  must_be_closed();
  return log;
}

std::string over_budget(const KernelResources& kernel, std::size_t dynamic_smem, const StageBudget& budget) {
  const Target& target = *budget.target;
  const int registers = kernel.arch == target.name ? budget.registers : target.registers_per_thread;
  const std::size_t smem = kernel.static_smem + dynamic_smem;
  std::string over;
  const auto add = [&](const char* what) { over += (over.empty() ? "" : " ") + std::string(what); };
  if (kernel.registers > std::min(registers, target.registers_per_thread)) add("registers");
  if (smem > target.smem_per_block || (budget.smem && smem > budget.smem)) add("shared memory");
  if (kernel.spill_stores + kernel.spill_loads > 0) add("spills");
  return over;
}

}  // namespace lab
