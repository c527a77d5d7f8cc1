#include "checks/exercises/learn/exercise.hpp"

namespace lab::desk {
namespace {

constexpr std::string_view REFUSED_WORDS[] = {"asm",        "__asm__", "__asm",        "constructor",
                                              "destructor", "weak",    "alias",        "__has_include",
                                              "_Pragma",    "ifunc",   "init_priority"};

// Beside the CUDA that the CPU backend spells (lab::cpu::word), what a launcher needs, and mathematics.
const std::vector<std::string> ALLOWED = words_of(
    "_GLOBAL_OFFSET_TABLE_ _Unwind_Resume __gxx_personality_v0 lab::stage_conf() lab::stage_name() "
    "lab::multiprocessors() "
    "blockIdx threadIdx blockDim gridDim strlen memcpy memmove memset memcmp printf puts putchar lab_kernel_printf "
    "__printf_chk __stack_chk_fail abort std::terminate()");
// Symbols behind ex2, rcp, __expf and __fdividef; common/plan.hpp, common/input_maps.hpp, a launcher's other calls.
const std::vector<std::string> ALLOWED_STARTS = split(
    "lab::ex2_approx_ftz(, lab::rcp_approx_ftz(, lab::fast_exp(, lab::fast_divide(, cudaMemset(, "
    "lab::set_launch_message(, lab::make_tensor_map(, lab::persistent_blocks(, lab::check_budget(, "
    "lab::attention_name[, lab::plan_of(, lab::plan_by(, lab::launch_by(, lab::SmemCount::, lab::LaunchPlan::, "
    "lab::InputMaps::make(, lab::head_tiles_map(, operator new, operator delete, __cxa_, __tsan_, std::__throw_, "
    "std::invalid_argument::, std::runtime_error::, std::logic_error::, std::__cxx11::basic_string<, std::__detail::, "
    "typeinfo for std::, vtable for __cxxabiv1::, vtable for std::, std::exception::, __asan_, __ubsan_",
    ", ");
constexpr std::string_view MATHEMATICS[] = {"exp",   "exp2",   "expm1",     "log",   "log2",  "log1p", "sqrt",
                                            "fmax",  "fmin",   "fabs",      "fma",   "pow",   "floor", "ceil",
                                            "round", "trunc",  "rint",      "tanh",  "sin",   "cos",   "fmod",
                                            "lrint", "lround", "nearbyint", "ldexp", "frexp", "scalbn"};

// `lab::cpu::name(...)`, or of a template `float lab::cpu::name<float>(...)`: a function of the emulation, and no member of the
// classes that it is made of.
bool is_cuda(std::string_view symbol) {
  for (const std::string_view type : {"float ", "int ", "unsigned int ", "unsigned long long ", "void "})
    if (symbol.starts_with(type) && symbol.find('<') < symbol.find('(')) symbol.remove_prefix(type.size());
  constexpr std::string_view SPACE = "lab::cpu::";
  if (!symbol.starts_with(SPACE)) return false;
  symbol.remove_prefix(SPACE.size());
  const std::size_t end = std::min(symbol.find_first_of("(<"), symbol.size());
  const std::size_t arguments = std::min(symbol.find('('), symbol.size());
  const bool closes = arguments < symbol.size() && (end == arguments || symbol[arguments - 1] == '>');
  return closes && end > 0 && std::ranges::all_of(symbol.substr(0, end), in_name) &&
         symbol.substr(end, arguments - end).find("::") == symbol.npos;
}

bool is_mathematics(std::string symbol) {
  if (const std::size_t at = symbol.find('@'); at != symbol.npos) symbol.resize(at);
  for (const std::string_view name : MATHEMATICS)
    if (symbol == name || symbol == std::string(name) + "f" || symbol == std::string(name) + "l") return true;
  return false;
}

std::set<std::string> includes_of(const std::string& text) {
  std::set<std::string> all;
  for (const std::string& line : lines_of(without_comments(text)))
    if (line.starts_with("#include")) all.insert(joined(words_of(line), " "));
  return all;
}

}  // namespace

std::string refused_source(const std::string& path, const std::string& text, const std::string& given) {
  const std::set<std::string> known = includes_of(given);
  int number = 0;
  for (const std::string& line : lines_of(without_comments(text))) {
    ++number;
    const auto refused = [&](const std::string& what) { return path + ":" + std::to_string(number) + ": " + what; };
    const std::size_t first = line.find_first_not_of(" \t");
    if (line.find("%:") != line.npos || line.find("??") != line.npos) return refused("no digraphs or trigraphs here");
    if (first != line.npos && line[first] == '#') {
      const std::vector<std::string> words = words_of(line.substr(first + 1));
      const std::string word = words.empty() ? "" : words[0].substr(0, words[0].find_first_of("<\""));
      if (word.starts_with("line") || (!word.empty() && std::isdigit(static_cast<unsigned char>(word[0]))))
        return refused("#line would hide where a report's lines are");
      if (word.starts_with("include") || word == "embed" || word == "import") {
        if (!known.contains(joined(words_of(line), " ")))
          return refused("a handed-in kernel includes what was handed out with it, and no more");
      }
      if (line.ends_with('\\') && word != "define") return refused("a directive of one line, please");
    }
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (!in_name(line[i]) || (i > 0 && in_name(line[i - 1]))) continue;
      std::size_t end = i;
      while (end < line.size() && in_name(line[end])) ++end;
      const std::string_view word = std::string_view(line).substr(i, end - i);
      if (std::ranges::find(REFUSED_WORDS, word) != std::end(REFUSED_WORDS))
        return refused("`" + std::string(word) + "` has no place in a kernel that is to be judged");
    }
  }
  return "";
}

std::string refused_symbol(const std::string& nm_says) {
  for (const std::string& line : lines_of(nm_says)) {
    const std::size_t kind = line.find_first_not_of(' ');
    if (kind == line.npos || line.size() < kind + 3) continue;
    const std::string symbol = line.substr(kind + 2);
    const auto begins = [&](const std::string& start) { return symbol.starts_with(start); };
    if (std::ranges::count(ALLOWED, symbol) || std::ranges::any_of(ALLOWED_STARTS, begins)) continue;
    if (is_cuda(symbol) || is_mathematics(symbol)) continue;
    return symbol;
  }
  return "";
}

}  // namespace lab::desk
