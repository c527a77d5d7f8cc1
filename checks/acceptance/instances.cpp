// Which instances of a kernel a stage launches, and which problems make it launch each.
#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "checks/acceptance/sampling.hpp"

namespace lab {
namespace {

constexpr int STEP = 64, STEPS = 18;  // lengths: multiples of STEP
constexpr int SHORT_OF = 14;          // and lengths that end this number of rows earlier
constexpr int FEW_STEPS = 2;          // of problems with many heads
// 135 blocks fill an H200, and under a causal mask twice as many (fills_a_gpu of b3).
constexpr int HEADS[] = {1, 135, 270};
constexpr int MULTIPROCESSORS[] = {1, 132};

struct Candidate {
  UseProblem problem;
  std::vector<Launched> launched;
};

std::vector<Candidate> candidates(const Subject& subject) {
  std::vector<Candidate> all;
  bool counts = false;  // the launcher's choice depends on the number of multiprocessors
  for (const int heads : HEADS)
    for (int step = 1; step <= (heads == 1 ? STEPS : FEW_STEPS); ++step)
      for (const int S : {STEP * step - SHORT_OF, STEP * step})
        for (const int D : {64, 128})
          for (const bool causal : {false, true}) {
            const Shape shape{1, heads, S, D, causal};
            for (const int m : MULTIPROCESSORS) all.push_back({{shape, m}, launches_of(subject, shape, m)});
            counts |= !std::ranges::equal(all[all.size() - 2].launched, all.back().launched, {}, &Launched::kernel,
                                          &Launched::kernel) ||
                      grid_of(subject, shape, MULTIPROCESSORS[0]) != grid_of(subject, shape);
          }
  if (!counts)
    for (Candidate& c : all) c.problem.multiprocessors = 0;
  std::ranges::stable_sort(all, {}, [](const Candidate& c) {
    const Shape& s = c.problem.shape;
    return double(s.elements()) * s.S * (s.causal ? 0.5 : 1);
  });
  return all;
}

// Demangled names by address of the file that a kernel is in.
const std::map<std::uintptr_t, std::string>& symbols_beside(const void* kernel) {
  static std::map<std::uintptr_t, std::string> names;
  static const void* known = nullptr;
  Dl_info info{};
  void* map = nullptr;  // whose l_addr is 0 for the program itself, whose symbols are addresses
  if (!dladdr1(kernel, &info, &map, RTLD_DL_LINKMAP) || info.dli_fbase == known) return names;
  known = info.dli_fbase, names.clear();
  const std::uintptr_t base = static_cast<link_map*>(map)->l_addr;
  std::string path;
  for (const char c : std::string(info.dli_fname)) path += c == '\'' ? std::string("'\\''") : std::string(1, c);
  std::FILE* const nm = popen(("nm -C '" + path + "' 2> /dev/null").c_str(), "r");
  char line[4096];
  while (nm && std::fgets(line, sizeof line, nm)) {
    char kind = 0;
    unsigned long address = 0;
    int used = 0;
    if (std::sscanf(line, "%lx %c %n", &address, &kind, &used) != 2 || !std::strchr("tTW", kind)) continue;
    std::string name(line + used);
    if (name.find("[clone") != name.npos) continue;
    constexpr std::string_view NAMELESS = "(anonymous namespace)::";
    for (std::size_t at; (at = name.find(NAMELESS)) != name.npos;) name.erase(at, NAMELESS.size());
    names[base + address] = name.substr(0, name.find('\n'));
  }
  if (nm) pclose(nm);
  return names;
}

// "void attention<", what all instances of a template share.
std::string base_of(const std::string& symbol) { return symbol.substr(0, symbol.find_first_of("<(") + 1); }

// Tiles are multiples of 16, and a kernel's angle brackets have their sizes, D among them.
std::vector<int> sizes_in(const std::string& name) {
  constexpr int SMALLEST_TILE = 16;
  std::vector<int> sizes;
  for (std::size_t i = name.find('<'); i < name.size(); ++i)
    if (std::isdigit(static_cast<unsigned char>(name[i]))) {
      const int n = std::atoi(&name[i]);
      if (n >= SMALLEST_TILE) sizes.push_back(n);
      while (std::isdigit(static_cast<unsigned char>(name[i]))) ++i;
    }
  return sizes;
}

// Each instance, as its launches show it.
class Instances {
 public:
  explicit Instances(const Subject& subject) : problems_(candidates(subject)) {
    for (const Candidate& c : problems_)
      for (const Launched& l : c.launched) {
        Known& known = known_[l.kernel];
        if (known.sizes.empty()) known.sizes = sizes_in(kernel_name(l.kernel));
        if (c.problem.multiprocessors != MULTIPROCESSORS[0])
          known.query_rows = std::max(known.query_rows, rows_per_unit(c.problem.shape, l));
      }
  }
  // Neither the query tile nor the key tile divides the length; else both do. None where only one of the two does.
  std::optional<Use> use_of(const Shape& shape, const Launched& launched) const {
    const auto found = known_.find(launched.kernel);
    if (found == known_.end()) return std::nullopt;
    constexpr int UNKNOWN = 192;  // of an instance that one multiprocessor alone brings: what most tiles divide
    const auto& [sizes, seen] = found->second;
    const int rows = seen ? seen : UNKNOWN;
    const bool whole = shape.S % rows == 0 && std::ranges::all_of(sizes, [&](int n) { return shape.S % n == 0; });
    const bool ragged = shape.S % rows != 0 && std::ranges::all_of(sizes, [&](int n) { return shape.S % n != 0; });
    return whole || ragged ? std::optional(Use{launched.kernel, shape.causal, ragged}) : std::nullopt;
  }
  // The cheapest problem for each use.
  std::map<Use, UseProblem> problems() const {
    std::map<Use, UseProblem> cheapest;
    for (const auto& [problem, launched] : problems_)
      for (const Launched& l : launched)
        if (const auto use = use_of(problem.shape, l)) cheapest.try_emplace(*use, problem);
    return cheapest;
  }

 private:
  struct Known {
    std::vector<int> sizes;
    int query_rows = 0;
  };
  static int rows_per_unit(const Shape& shape, const Launched& l) {
    const unsigned units = l.grid.x * l.grid.y * l.grid.z / (l.cluster.x * l.cluster.y * l.cluster.z);
    const unsigned heads = unsigned(shape.B * shape.H), tiles = units / heads;
    return units % heads || !tiles ? 0 : int((unsigned(shape.S) + tiles - 1) / tiles);
  }

  std::vector<Candidate> problems_;
  std::map<const void*, Known> known_;
};
const Instances& instances_of(const Subject& subject) {
  static const Instances instances(subject);
  return instances;
}

// Of the cases that launch whole problems.
template <class Each>
void for_launches(const Subject& subject, const std::vector<Case>& cases, Each each) {
  for (const Case& test : cases)
    if (test.group != Group::far && test.group != Group::overlap)
      for (const Launched& l : launches_of(subject, test.shape, test.multiprocessors)) each(test, l);
}

}  // namespace

std::string kernel_name(const void* kernel) {
  const auto& names = symbols_beside(kernel);
  const auto found = names.find(std::uintptr_t(kernel));
  if (found == names.end()) return "";
  const std::string base = base_of(found->second);
  const std::size_t begin = base.find_last_of(" :") + 1;
  return found->second.substr(begin, found->second.find('(') - begin);
}

std::map<Use, UseProblem> use_problems(const Subject& subject) { return instances_of(subject).problems(); }

std::vector<Case> instance_cases(const Subject& subject, const std::vector<Case>& others, std::uint64_t seed) {
  std::map<Use, UseProblem> missing = use_problems(subject);
  for_launches(subject, others, [&](const Case& test, const Launched& l) {
    if (const auto use = instances_of(subject).use_of(test.shape, l)) missing.erase(*use);
  });
  std::vector<Case> cases;
  for (const auto& [use, problem] : missing)
    cases.push_back({Group::instances, problem.shape, Family::unit, seed, {}, 1, problem.multiprocessors});
  return cases;
}

std::vector<std::string> left_out(const Subject& subject, const std::vector<Case>& cases) {
  std::set<const void*> ran;
  std::set<std::string> templates;
  for_launches(subject, cases, [&](const Case&, const Launched& l) {
    const auto& names = symbols_beside(l.kernel);
    if (ran.insert(l.kernel).second && names.contains(std::uintptr_t(l.kernel)))
      templates.insert(base_of(names.at(std::uintptr_t(l.kernel))));
  });
  std::vector<std::string> lines;
  if (ran.empty()) return lines;
  for (const auto& [address, name] : symbols_beside(*ran.begin()))
    if (const void* const kernel = reinterpret_cast<const void*>(address);
        templates.contains(base_of(name)) && !ran.contains(kernel))
      lines.push_back(kernel_name(kernel) + ": no problem that was tried launches it");
  return lines;
}

}  // namespace lab
