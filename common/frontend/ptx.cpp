#include "common/frontend/ptx.hpp"

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "common/frontend/ptx_rules.hpp"

namespace lab::frontend {
namespace {

constexpr std::pair<std::string_view, std::string_view> TYPES[] = {
    {"b8", "std::uint8_t"},    {"u8", "std::uint8_t"},   {"s8", "std::int8_t"},
    {"b16", "std::uint16_t"},  {"u16", "std::uint16_t"}, {"s16", "std::int16_t"},
    {"b32", "std::uint32_t"},  {"u32", "std::uint32_t"}, {"s32", "std::int32_t"},
    {"b64", "std::uint64_t"},  {"u64", "std::uint64_t"}, {"s64", "std::int64_t"},
    {"f32", "float"},          {"f64", "double"},        {"f16", "__half"},
    {"bf16", "__nv_bfloat16"}, {"f16x2", "__half2"},     {"bf16x2", "__nv_bfloat162"},
    {"pred", "bool"}};
constexpr std::pair<std::string_view, std::string_view> ATOMICS[] = {
    {"add", "atomicAdd"}, {"min", "atomicMin"}, {"max", "atomicMax"}, {"exch", "atomicExch"}, {"cas", "atomicCAS"},
    {"and", "atomicAnd"}, {"or", "atomicOr"},   {"xor", "atomicXor"}, {"inc", "atomicInc"},   {"dec", "atomicDec"}};
// Those of unsigned numbers have names of their own.
constexpr std::pair<std::string_view, std::string_view> COMPARISONS[] = {
    {"eq", "=="}, {"ne", "!="}, {"lt", "<"},  {"le", "<="}, {"gt", ">"},
    {"ge", ">="}, {"lo", "<"},  {"ls", "<="}, {"hi", ">"},  {"hs", ">="}};
constexpr std::string_view HINTS[] = {
    "rn",      "ftz",    "sat",         "nc",      "cs",      "cg",      "ca",         "cv",          "lu",
    "wb",      "wt",     "weak",        "relaxed", "release", "acquire", "cta",        "gpu",         "sys",
    "cluster", "global", "shared::cta", "noinc",   "approx",  "full",    "evict_last", "evict_first", "unicast"};
// Registers that PTX gives, as C++.
constexpr std::pair<std::string_view, std::string_view> SPECIAL[] = {
    {"laneid", "lane_id()"},
    {"warpid", "warp_id()"},
    {"tid.x", "threadIdx.x"},
    {"tid.y", "threadIdx.y"},
    {"tid.z", "threadIdx.z"},
    {"ntid.x", "blockDim.x"},
    {"ntid.y", "blockDim.y"},
    {"ntid.z", "blockDim.z"},
    {"ctaid.x", "blockIdx.x"},
    {"ctaid.y", "blockIdx.y"},
    {"ctaid.z", "blockIdx.z"},
    {"nctaid.x", "gridDim.x"},
    {"nctaid.y", "gridDim.y"},
    {"nctaid.z", "gridDim.z"},
    {"clock", "unsigned(clock64())"},
    {"clock64", "clock64()"},
    {"globaltimer", "clock64()"},
    {"smid", "0u"},
    {"nsmid", "132u"},
    {"cluster_ctarank", "::lab::cpu::cluster_rank()"},
    {"cluster_nctarank", "::lab::cpu::cluster_size()"},
    {"lanemask_eq", "(1u << lane_id())"},
    {"lanemask_lt", "((1u << lane_id()) - 1)"},
    {"lanemask_le", "(2u << lane_id()) - 1"},
    {"cluster_ctaid.x", "::lab::cpu::cluster_rank()"},
    {"cluster_nctaid.x", "::lab::cpu::cluster_size()"},
    {"clusterid.x", "(blockIdx.x / ::lab::cpu::cluster_size())"}};

template <class Table>
std::optional<std::string> found(const Table& table, std::string_view word) {
  for (const auto& [name, value] : table)
    if (name == word) return std::string(value);
  return {};
}

std::string trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  return std::string(text);
}

// Cuts at `separator` outside brackets.
std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  int depth = 0;
  std::size_t from = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : separator;
    depth += c == '{' || c == '[' || c == '(';
    depth -= c == '}' || c == ']' || c == ')';
    if (c != separator || (depth > 0 && i < text.size())) continue;
    parts.push_back(trimmed(text.substr(from, i - from)));
    from = i + 1;
  }
  if (parts.size() == 1 && parts[0].empty()) parts.clear();
  return parts;
}

struct Operand {
  char form = 'r';                  // r, v, a as in a rule
  std::string text;                 // as C++
  std::vector<std::string> inside;  // of a vector or an address, as C++
  std::string vector;               // of a tensor's address: its coordinates, as a braced list
};

class Translator {
 public:
  explicit Translator(const AsmStatement& statement) : statement_(statement) {}

  Translation run() {
    std::string body;
    for (const std::string& piece : statements()) body += one(piece);
    std::string head = "({ ";
    for (const std::string& label : labels_) head += "__label__ " + label + "; ";  // first, or g++ refuses them
    head += "using namespace ::lab::inline_ptx; ";
    // A product reads its registers until its wait: there they are what the kernel names, not copies.
    const bool stays = statement_.ptx.find("wgmma.mma_async") != std::string::npos;
    for (std::size_t i = 0; i < statement_.operands.size(); ++i) {
      const AsmOperand& o = statement_.operands[i];
      const std::string name = "lab_o" + std::to_string(i);
      const bool written = o.constraint.find_first_of("=+") != std::string::npos;
      if (written)
        head += "auto& " + name + " = (" + o.expression + "); ";
      else if (stays)
        head += "[[maybe_unused]] auto&& " + name + " = (" + o.expression + "); ";
      else
        head += "[[maybe_unused]] const auto " + name + " = value_of(" + o.expression + "); ";
    }
    for (const auto& [name, type] : registers_) head += "[[maybe_unused]] " + type + " " + name + "{}; ";
    return {head + body + "})", unread_};
  }

 private:
  // Instructions, declarations and labels, without comments and scopes.
  std::vector<std::string> statements() const {
    std::string text;
    const std::string& ptx = statement_.ptx;
    for (std::size_t i = 0; i < ptx.size(); ++i) {
      if (ptx.compare(i, 2, "//") == 0)
        i = std::min(ptx.find('\n', i), ptx.size());
      else if (ptx.compare(i, 2, "/*") == 0)
        i = std::min(ptx.find("*/", i), ptx.size()) + 1;
      if (i < ptx.size() && ptx[i] != '/') text += ptx[i] == '\n' ? ' ' : ptx[i];
    }
    std::vector<std::string> pieces;
    std::string piece;
    int depth = 0;  // of brackets inside an instruction
    for (const char c : text) {
      if ((c == '{' || c == '}') && depth == 0 && trimmed(piece).empty()) continue;
      if (c == '}' && depth == 0) continue;
      depth += c == '{' || c == '[';
      depth -= c == '}' || c == ']';
      if (c == ';' && depth == 0) {
        pieces.push_back(trimmed(piece)), piece.clear();
      } else {
        piece += c;
        const std::string word = trimmed(piece);
        if (c == ':' && word.size() > 1 && word.find_first_of(" .[") == std::string::npos) {
          pieces.push_back(word), piece.clear();
        }
      }
    }
    if (const std::string rest = trimmed(piece); !rest.empty()) pieces.push_back(rest);
    return pieces;
  }

  static std::string name_of(std::string_view word) {
    std::string name = "lab_r_";
    for (const char c : word) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
    return name;
  }

  std::string one(const std::string& piece) {
    if (piece.empty()) return "";
    if (piece.ends_with(':')) return label(piece.substr(0, piece.size() - 1)) + ": ; ";
    if (piece.starts_with(".reg")) return declare(piece), "";
    std::string_view rest = piece;
    std::string condition;
    if (rest.front() == '@') {
      const auto space = rest.find(' ');
      std::string_view guard = rest.substr(1, space - 1);
      const bool negative = guard.front() == '!';
      if (negative) guard.remove_prefix(1);
      condition = std::string("if (") + (negative ? "!" : "") + "as<bool>(" + value(std::string(guard)) + ")) ";
      rest.remove_prefix(std::min(rest.size(), space));
    }
    const std::string text = trimmed(rest);
    const auto space = text.find_first_of(" \t{[");
    const std::string name = text.substr(0, space);
    std::vector<Operand> operands;
    const std::string after = space == text.npos ? "" : trimmed(std::string_view(text).substr(space));
    if (name == "bra" || name == "bra.uni") return condition + "goto " + label(after) + "; ";
    if (name == "ret" || name == "exit") return condition + "return; ";
    for (const std::string& part : split(after, ',')) operands.push_back(operand(part));
    std::optional<std::string> code = memory(name, operands);
    if (!code) code = product(name, operands);
    for (std::size_t i = 0; !code && i < std::size(RULES); ++i) code = apply(RULES[i], name, operands);
    if (!code) {
      unread_.push_back(text);
      return "";
    }
    return condition + *code + "; ";
  }

  std::string label(const std::string& name) {
    labels_.insert("lab_l_" + name_of(name));
    return "lab_l_" + name_of(name);
  }

  void declare(const std::string& piece) {
    const auto dot = piece.find('.', 1), space = piece.find_first_of(" \t", dot);
    const std::string type = found(TYPES, piece.substr(dot + 1, space - dot - 1)).value_or("std::uint64_t");
    for (std::string name : split(std::string_view(piece).substr(space), ',')) {
      const auto angle = name.find('<');
      if (angle == name.npos) {
        registers_[name_of(name)] = type;
        continue;
      }
      const int count = std::atoi(name.c_str() + angle + 1);
      for (int i = 0; i < count; ++i) registers_[name_of(name.substr(0, angle) + std::to_string(i))] = type;
    }
  }

  // A register, an operand of the statement or a number.
  std::string value(std::string text) const {
    text = trimmed(text);
    if (text.starts_with("%%")) return found(SPECIAL, std::string_view(text).substr(2)).value_or("");
    if (text.starts_with("%[")) {
      for (std::size_t i = 0; i < statement_.operands.size(); ++i)
        if ("%[" + statement_.operands[i].symbol + "]" == text) return "lab_o" + std::to_string(i);
    } else if (text.starts_with("%") && text.size() > 1 && std::isdigit(static_cast<unsigned char>(text[1]))) {
      return "lab_o" + text.substr(1);
    }
    if (text == "_") return "nothing";
    if (text.starts_with("0f") || text.starts_with("0F")) return "as<float>(0x" + text.substr(2) + "u)";
    if (text.starts_with("0d") || text.starts_with("0D")) return "as<double>(0x" + text.substr(2) + "ull)";
    if (!text.empty() && (std::isdigit(static_cast<unsigned char>(text[0])) || text[0] == '-')) return text;
    if (registers_.contains(name_of(text))) return name_of(text);
    return found(SPECIAL, text.starts_with("%") ? text.substr(1) : text).value_or("");
  }

  std::string with_offset(const std::string& text) const {  // %1 + 16
    const auto plus = text.find('+', 1);
    if (plus == text.npos) return value(text);
    return "moved(" + value(text.substr(0, plus)) + ", " + value(text.substr(plus + 1)) + ")";
  }

  Operand operand(const std::string& text) const {
    Operand o;
    if (text.starts_with("{")) {
      o.form = 'v';
      for (const std::string& part : split(std::string_view(text).substr(1, text.size() - 2), ','))
        o.inside.push_back(value(part));
    } else if (text.starts_with("[")) {
      o.form = 'a';
      for (const std::string& part : split(std::string_view(text).substr(1, text.size() - 2), ',')) {
        if (!part.starts_with("{")) {
          o.inside.push_back(with_offset(part));
          continue;
        }
        o.vector = "{";
        for (const std::string& at : split(std::string_view(part).substr(1, part.size() - 2), ','))
          o.vector += (o.vector.size() > 1 ? ", " : "") + ("as<int>(" + value(at) + ")");
        o.vector += "}";
      }
      o.text = o.inside.empty() ? "" : "box_at(" + o.inside[0] + ", " + o.vector + ")";
    } else if (const auto bar = text.find('|'); bar != text.npos) {  // _|p: the second is the predicate
      o.text = value(text.substr(bar + 1));
    } else {
      o.text = value(text);
    }
    return o;
  }

  // ld, st, atom, red: T by width, space and order.
  std::optional<std::string> memory(const std::string& name, const std::vector<Operand>& o) const {
    const std::vector<std::string> words = split(name, '.');
    const std::string& what = words[0];
    const bool loads = what == "ld" || what == "ldu", stores = what == "st", adds = what == "red" || what == "atom";
    if ((!loads && !stores && !adds) || words.size() < 2 || name.starts_with("st.async")) return {};
    const auto has = [&](std::string_view word) { return std::ranges::find(words, word) != words.end(); };
    const auto type = found(TYPES, words.back());
    if (!type) return {};
    const std::size_t address = loads || what == "atom" ? 1 : 0;
    if (o.size() <= address || o[address].form != 'a') return {};
    const std::string& at = o[address].inside[0];
    const bool shared = has("shared") || has("shared::cta"), remote = has("shared::cluster");
    const std::string place = shared ? "shared_at(" + at + ")" : "generic_at(" + at + ")";
    const std::string scope = has("cta") ? "__threadfence_block()" : "__threadfence()";
    std::string before, after;
    if (has("release") || has("acq_rel")) before = scope + ", ";
    if (has("acquire") || has("acq_rel")) after = ", " + scope;
    const std::string waits = has("volatile") || has("relaxed") || has("acquire") || has("release") ? "true" : "false";
    if (adds) {
      std::string operation;
      for (const std::string& word : words)
        if (operation.empty()) operation = found(ATOMICS, word).value_or("");
      if (operation.empty() || o.size() < address + 2) return {};
      if (has("v2") || has("v4")) {  // each of the neighbours is an atomic of its own
        if (what == "atom" || o[1].form != 'v') return {};
        std::string each;
        for (std::size_t i = 0; i < o[1].inside.size(); ++i)
          each += ", (void)" + operation + "(atomic_at<" + *type + ">(" + place + ") + " + std::to_string(i) +
                  ", atomic_value<" + *type + ">(" + o[1].inside[i] + "))";
        return before + each.substr(2);
      }
      std::string call = operation + (has("cta") ? "_block" : "") + "(atomic_at<" + *type + ">(" + place + ")";
      for (std::size_t i = address + 1; i < o.size(); ++i) call += ", atomic_value<" + *type + ">(" + o[i].text + ")";
      call += ")";
      if (has("release") && !has("cta") && !shared) after += ", ::lab::plain::released()";
      return what == "atom" ? before + "put(" + o[0].text + ", " + call + ")" + after
                            : before + "(void)" + call + after;
    }
    const Operand& data = o[loads ? 0 : 1];
    const std::string elements = data.form == 'v' ? listed(data.inside) : data.text;
    const int count = data.form == 'v' ? int(data.inside.size()) : 1;
    const std::string types = "<" + *type + ", " + std::to_string(count) + ">";
    if (remote) return (loads ? "load_there" : "store_there") + types + "(" + at + ", " + elements + ")";
    return before + (loads ? "load" : "store") + types + "(" + place + ", " + waits + ", " + elements + ")" + after;
  }

  // wgmma.mma_async.sync.aligned.m64nNk16.f32.f16.f16 {d}, a, b, scale-d, 1, 1 [, a's major], b's major
  std::optional<std::string> product(const std::string& name, const std::vector<Operand>& o) const {
    constexpr std::string_view HEAD = "wgmma.mma_async.sync.aligned.m64n";
    if (!name.starts_with(HEAD)) return {};
    const int n = std::atoi(name.c_str() + HEAD.size());
    const std::string tail = name.substr(name.find('k', HEAD.size()));
    const std::string type = tail == "k16.f32.f16.f16" ? "__half" : tail == "k16.f32.bf16.bf16" ? "__nv_bfloat16" : "";
    if (type.empty() || o.size() < 6 || o[0].form != 'v' || int(o[0].inside.size()) != n / 2) return {};
    const bool from_registers = o[1].form == 'v';
    std::string code = "product<" + type + ">({" + listed(o[0].inside, "&") + "}, ";
    code += from_registers ? "std::uint64_t(0), {" + listed(o[1].inside, "&") + "}"
                           : "as<std::uint64_t>(" + o[1].text + "), {}";
    const auto constant = [&](std::size_t i) { return i < o.size() ? o[i].text : std::string("0"); };
    code += ", as<std::uint64_t>(" + o[2].text + "), as<bool>(" + o[3].text + "), " + constant(4) + ", " + constant(5);
    return code + ", " + (from_registers ? "0, " + constant(6) : constant(6) + ", " + constant(7)) + ")";
  }

  static std::string listed(const std::vector<std::string>& expressions, const std::string& before = "",
                            const std::string& after = "") {
    std::string list;
    for (const std::string& e : expressions) list += (list.empty() ? "" : ", ") + before + e + after;
    return list;
  }
  static std::string array(const std::string& type, const std::vector<std::string>& expressions) {
    return "std::array<" + type + ", " + std::to_string(expressions.size()) + ">{" +
           listed(expressions, "as<" + type + ">(", ")") + "}";
  }

  struct Captured {
    std::string T, U, C, first;
  };
  static bool matches(const std::vector<std::string>& pattern, std::size_t p, const std::vector<std::string>& words,
                      std::size_t w, Captured& captured) {
    if (p == pattern.size()) return w == words.size();
    const std::string& element = pattern[p];
    if (element == "<hint>*") {
      for (std::size_t end = w;; ++end) {
        if (matches(pattern, p + 1, words, end, captured)) return true;
        if (end == words.size()) return false;
        const bool hint = std::ranges::find(HINTS, words[end]) != std::end(HINTS) || words[end].starts_with("L1::") ||
                          words[end].starts_with("L2::") || words[end].starts_with("shared::");
        if (!hint) return false;
      }
    }
    const bool optional = element.ends_with("?");
    if (optional && matches(pattern, p + 1, words, w, captured)) return true;
    if (w == words.size()) return false;
    const std::string wanted = optional ? element.substr(0, element.size() - 1) : element;
    if (wanted == "<T>" || wanted == "<U>") {
      const auto type = found(TYPES, words[w]);
      if (!type) return false;
      (wanted == "<T>" ? captured.T : captured.U) = *type;
    } else if (wanted == "<C>") {
      const auto comparison = found(COMPARISONS, words[w]);
      if (!comparison) return false;
      captured.C = *comparison;
    } else {
      const std::vector<std::string> choices = split(wanted, '|');
      if (std::ranges::find(choices, words[w]) == choices.end()) return false;
      if (p == 0) captured.first = words[w];
    }
    return matches(pattern, p + 1, words, w + 1, captured);
  }

  static std::optional<std::string> apply(const Rule& rule, const std::string& name, const std::vector<Operand>& o) {
    std::string forms;
    for (const Operand& each : o) forms += each.form;
    const bool more = rule.operands.ends_with("*");
    const std::string_view wanted = rule.operands.substr(0, rule.operands.size() - more);
    if (more ? !forms.starts_with(wanted) : forms != wanted) return {};
    Captured captured;
    if (!matches(split(rule.name, '.'), 0, split(name, '.'), 0, captured)) return {};
    std::map<std::string, std::string, std::greater<>> meanings{
        {"$T", captured.T},
        {"$U", captured.U},
        {"$C", captured.C},
        {"$o", captured.first},
        {"$?", name.find(".trans") == name.npos ? "false" : "true"}};
    for (std::size_t i = 0; i < o.size(); ++i) {
      const std::string n = std::to_string(i);
      const auto& inside = o[i].inside;
      if (o[i].form == 'v') {
        meanings["$V" + n] = "references(" + listed(inside) + ")";
        meanings["$U" + n] = array("unsigned", inside), meanings["$F" + n] = array("float", inside);
        continue;
      }
      if (o[i].form == 'a') meanings["$a" + n] = inside[0];
      const std::string& value = o[i].form == 'a' && o[i].vector.empty() ? inside[0] : o[i].text;
      if (value.empty()) continue;
      meanings["$" + n] = value;
      for (const auto& [kind, type] : {std::pair<std::string, std::string>{"$t", captured.T},
                                       {"$u", captured.U},
                                       {"$w", "std::uint32_t"},
                                       {"$f", "float"}})
        meanings[kind + n] = "as<" + type + ">(" + value + ")";
    }
    std::string code(rule.code);
    if (code.starts_with("= ")) code = "put($0, " + code.substr(2) + ")";
    for (std::size_t at = 0; (at = code.find('$', at)) != code.npos;) {
      const auto found = std::ranges::find_if(  // longer ones come first
          meanings, [&](const auto& meaning) { return code.compare(at, meaning.first.size(), meaning.first) == 0; });
      if (found == meanings.end()) return {};
      code.replace(at, found->first.size(), found->second), at += found->second.size();
    }
    return code;
  }

  const AsmStatement& statement_;
  std::map<std::string, std::string> registers_;  // C++ name and type
  std::set<std::string> labels_;
  std::vector<std::string> unread_;
};

}  // namespace

Translation translate(const AsmStatement& statement) { return Translator(statement).run(); }

}  // namespace lab::frontend
