// CUDA's own syntax becomes C++, token by token; everything else stays as it is, on its line:
//   kernel<<<grid, block>>>(args)   a call of lab::plain::launch
//   __shared__ float s[N]           a reference to an array of the block's shared memory
//   asm("..." : ... )               a call per instruction (ptx.hpp)
//   __cluster_dims__(2, 1, 1)       part of the kernel's launches
//   return;                         of a kernel, told to the block: a thread that has returned is not waited for
//   frontend FILE.ii ROOT    the preprocessed text, rewritten, to standard output. What is not read is said on standard
//                            error, all of it, and the exit status is 2. Headers under /usr and ROOT/common are not
//                            rewritten, but for ROOT/common's .cuh.
//   frontend FILE ROOT scan  the file itself, to learn what of it is not read before g++ looks for its headers.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>

#include "common/frontend/declarations.hpp"
#include "common/frontend/ptx.hpp"
#include "common/frontend/refused.hpp"

namespace lab::frontend {
namespace {

class Rewriter : Declarations {
 public:
  using Declarations::Declarations;
  std::string run() {
    std::string out;
    while (at_ < tokens_.size()) out += next();
    return out;
  }
  const std::vector<std::string>& unread() const { return unread_; }

 private:
  // Text of [from, to), itself rewritten. Line breaks stay, so that lines do.
  std::string text(Index from, Index to) {
    std::string out;
    const Index keep = at_;
    for (at_ = from; at_ < to;) out += next();
    at_ = keep;
    return out;
  }
  // The same on one line.
  std::string flat(Index from, Index to) {
    std::string out;
    for (const char c : text(from, to)) out += c == '\n' ? ' ' : c;
    return out;
  }
  std::string next() {
    const Index i = at_;
    const Token& t = tokens_[i];
    if (t.kind == Kind::space && t.text.starts_with("#") && !is_foreign(i)) {
      const std::string included = include_of(t.text);
      if (const std::string instead = refused_header(included); !instead.empty())
        unread_.push_back(place(i) + ": " + included + ": " + instead);
    }
    if (t.kind == Kind::space || is_foreign(i)) return tokens_[at_++].text;
    if (t.is("static") && token(skip_space(i + 1)).is("__shared__")) {
      ++at_;
      return "";
    }
    if (t.is("__shared__")) return shared();
    if (t.is("extern") && declares_shared(i)) return dynamic_shared();
    if ((t.is("asm") || t.is("__asm__") || t.is("__asm")) && t.kind == Kind::word) return assembly();
    if (t.is("__noinline__") && (before(i) == NONE || !tokens_[before(i)].is("("))) {
      ++at_;
      return "__attribute__((__noinline__))";
    }
    for (const Refused& refused : REFUSED)
      if (t.kind == Kind::word && t.is(refused.word) && !is_member(i))
        unread_.push_back(place(i) + ": " + t.text + ": " + std::string(refused.instead));
    if (t.is("cuda") && !has_cuda_ && !is_member(i) && token(skip_space(i + 1)).is("::"))
      if (const std::string at = place(i) + ": cuda::"; unread_.empty() || !unread_.back().starts_with(at))
        unread_.push_back(at + token(skip_space(skip_space(i + 1) + 1)).text + ": " + std::string(NO_LIBCUXX));
    if (t.is("__syncthreads") && t.kind == Kind::word && !is_member(i) && token(skip_space(i + 1)).is("(")) {
      ++at_;
      return "::lab::plain::at_site(" + std::to_string(++sites_) + "), __syncthreads";
    }
    if (t.is("return") && in_kernel_[i] && token(skip_space(i + 1)).is(";")) {
      ++at_;
      return "return ::lab::plain::returns()";
    }
    if (t.is("__null") && i < launch_end_) {  // NULL, as a launch's argument: a variable of its type would be a number
      ++at_;
      return "nullptr";
    }
    // The checker's memcpy says what it touches (cuda_runtime.h).
    if (t.is("__builtin_memcpy") || t.is("__builtin_memmove") || t.is("__builtin_memset")) {
      ++at_;
      return t.text.substr(std::string_view("__builtin_").size());
    }
    if (t.is("reinterpret_cast") && structs_.contains(token(skip_space(skip_space(i + 1) + 1)).text)) {
      ++at_;
      return "::lab::plain::members_told";
    }
    if (t.is("cudaLaunchKernelEx") && t.kind == Kind::word) return launch_ex(i);
    if (t.is("__global__")) {
      ++at_;
      return "";
    }
    if (t.is("__constant__")) {  // a section of their own, by which a store is known; g++ sees to one that is const
      ++at_;
      return is_const(i) ? "" : "__attribute__((section(\"lab_constant\")))";
    }
    if (t.is("__cluster_dims__")) {
      at_ = closing(skip_space(i + 1)) + 1;
      return "";
    }
    if (t.kind == Kind::word && !is_member(i))
      if (const Index chevron = launch_of(i); chevron != NONE) return launch(i, chevron);
    if (t.is("(") && !is_member(i))
      if (const Index after = closing(i) + 1; token(skip_space(after)).is("<<<")) return launch(i, skip_space(after));
    // A kernel with __cluster_dims__ may be launched through a pointer, and its template's arguments may be in them.
    if (const auto kernel = kernel_bodies_.find(i); kernel != kernel_bodies_.end() && !cluster_dims_.empty()) {
      const auto cluster = cluster_dims_.find(kernel->second);
      ++at_;
      return "{ if (::lab::plain::asked(dim3(" + (cluster == cluster_dims_.end() ? "1, 1, 1" : cluster->second) +
             "))) return; ";
    }
    if (const auto members = members_before_.find(i); members != members_before_.end()) {
      ++at_;
      return members->second + t.text;
    }
    if (t.kind == Kind::word)
      if (const auto renamed = at_file_scope_.find(t.text); renamed != at_file_scope_.end() && !is_member(i)) {
        ++at_;
        return renamed->second;
      }
    return tokens_[at_++].text;
  }

  // Whether the declaration that has a __constant__ at i says that its variable is const.
  bool is_const(Index i) const {
    const auto says = [&](Index k) { return tokens_[k].is("const") || tokens_[k].is("constexpr"); };
    const auto ends = [&](Index k) {
      return tokens_[k].is(";") || tokens_[k].is("{") || tokens_[k].is("}") || tokens_[k].is("=");
    };
    for (Index k = i; k-- > 0 && !ends(k);)
      if (says(k)) return true;
    for (Index k = i; k < tokens_.size() && !ends(k); ++k)
      if (says(k)) return true;
    return false;
  }

  // --- launches --------------------------------------------------------------------------------------------------------
  // From a name with its templates' arguments and members to a <<<; NONE if it does not come to one.
  Index launch_of(Index i) const {
    Index at = i + 1;
    for (;;) {
      const Index s = skip_space(at);
      const Token& t = token(s);
      if (t.is("<<<")) return s;
      if (t.is("::") || t.is(".") || t.is("->")) {
        at = skip_space(s + 1) + 1;
        if (token(at - 1).kind != Kind::word) return NONE;
      } else if (t.is("[")) {
        at = closing(s) + 1;
      } else if (t.is("<")) {
        at = after_template(s);
        if (at == NONE) return NONE;
      } else {
        return NONE;
      }
    }
  }
  std::string launch(Index from, Index chevron) {
    Index close = chevron + 1;
    for (int depth = 0; close < tokens_.size(); ++close) {
      if (tokens_[close].is("(") || tokens_[close].is("[") || tokens_[close].is("{")) ++depth;
      if (tokens_[close].is(")") || tokens_[close].is("]") || tokens_[close].is("}")) --depth;
      if (depth == 0 && tokens_[close].is(">>>")) break;
    }
    if (in_kernel_[from]) unread_.push_back(place(from) + ": a launch in a kernel: launch it from the host");
    const Index open = skip_space(close + 1);
    if (!token(open).is("(")) {
      unread_.push_back(place(from) + ": a launch whose >>> no ( follows");
      at_ = close + 1;
      return "";
    }
    std::string kernel;
    for (Index i = from; i < chevron; ++i) kernel += tokens_[i].kind == Kind::space ? " " : tokens_[i].text;
    while (!kernel.empty() && kernel.back() == ' ') kernel.pop_back();
    std::string name;  // in a string literal
    for (const char c : kernel) name += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    std::string out = "::lab::plain::Launch(::lab::plain::instance(\"" + name + "\", __PRETTY_FUNCTION__), ";
    out += cluster_dims_.empty() ? "dim3(1, 1, 1)" : "dim3(0, 0, 0)";  // 0: the kernel is asked
    out += ", " + text(chevron + 1, close) + ").run([&](const auto&... lab_a) { " + kernel + "(lab_a...); }, ";
    out += "[&]<class... LabA>(::lab::plain::Types<LabA...> lab_t) -> const void* { ";
    for (const std::string how : {"::lab::plain::address_of_one", "::lab::plain::address_of_instance"})
      out += "if constexpr (requires { " + how + "(lab_t, " + kernel + "); }) return " + how + "(lab_t, " + kernel +
             "); else ";
    out += "return nullptr; }";
    const bool empty = token(skip_space(open + 1)).is(")");
    at_ = open + 1, launch_end_ = closing(open);
    return out + (empty ? "" : ", ") + lines_of(close, open);
  }
  // cudaLaunchKernelEx(&config, attention<D>, ...)
  std::string launch_ex(Index i) {
    const Index open = skip_space(i + 1);
    Index comma = open + 1;  // behind the configuration
    while (comma < tokens_.size() && !tokens_[comma].is(","))
      comma =
          tokens_[comma].is("(") || tokens_[comma].is("{") || tokens_[comma].is("[") ? closing(comma) + 1 : comma + 1;
    Index end = comma + 1;
    while (end < closing(open) && !tokens_[end].is(",")) {
      const Index after = tokens_[end].is("<") ? after_template(end) : NONE;
      end = after == NONE ? end + 1 : after;
    }
    std::string name;
    for (Index k = comma + 1; k < end; ++k)
      if (tokens_[k].kind != Kind::space) name += tokens_[k].text;
    at_ = open + 1;
    return "::lab::plain::launch_ex(::lab::plain::instance(\"" + name + "\", __PRETTY_FUNCTION__), ";
  }

  // --- shared memory -----------------------------------------------------------------------------------------------------
  // __shared__ int a, b[4];  ->  struct lab_s7 { int a; }; auto& a = lab::plain::shared_variable<...>("a"); ...
  std::string shared() {
    const Index begin = at_;
    Index end = begin;  // the ;
    while (end < tokens_.size() && !tokens_[end].is(";"))
      end = tokens_[end].is("{") || tokens_[end].is("(") || tokens_[end].is("[") ? closing(end) + 1 : end + 1;
    std::vector<std::pair<Index, Index>> declarators;  // [from, to)
    Index specifiers_end = NONE;
    std::vector<Index> names;
    Index from = NONE, name = NONE;
    for (Index i = begin + 1; i <= end; ++i) {
      const Token& t = tokens_[i];
      if (t.is("<") && from == NONE)
        if (const Index after = after_template(i); after != NONE) {
          i = after - 1;
          continue;
        }
      if (t.is("(") || t.is("{")) {
        i = closing(i);
        continue;
      }
      if (t.kind == Kind::word && !t.is("static") && !t.is("volatile") && !t.is("const")) name = i;
      if (!t.is("[") && !t.is(",") && !t.is(";") && !t.is("=")) continue;
      if (name == NONE) break;
      if (specifiers_end == NONE) {
        specifiers_end = name;
        for (Index b = before(specifiers_end); b != NONE && (tokens_[b].is("*") || tokens_[b].is("&"));
             b = before(specifiers_end))
          specifiers_end = b;
        from = specifiers_end;
      }
      names.push_back(name);
      Index stop = i;
      while (stop < end && !tokens_[stop].is(","))
        stop = tokens_[stop].is("[") || tokens_[stop].is("{") || tokens_[stop].is("(") ? closing(stop) + 1 : stop + 1;
      declarators.emplace_back(from, stop);
      from = stop + 1, i = stop, name = NONE;
    }
    if (declarators.empty()) {
      unread_.push_back(place(begin) + ": this __shared__ declaration");
      at_ = end;
      return "";
    }
    std::string specifiers;
    for (Index i = begin + 1; i < specifiers_end; ++i)
      if (!tokens_[i].is("static")) specifiers += flat(i, i + 1);
    const bool local = in_function_[begin];
    std::string out = local ? "" : " ";
    for (std::size_t k = 0; k < declarators.size(); ++k) {
      const std::string type = "lab_s" + std::to_string(number_++), id = tokens_[names[k]].text;
      Index stop = declarators[k].first;  // initialisers are not CUDA
      while (stop < declarators[k].second && !tokens_[stop].is("=")) ++stop;
      out += "struct " + type + " { " + specifiers + " " + flat(declarators[k].first, stop) + "; }; ";
      const std::string access =
          "::lab::plain::shared_variable<" + type + ", decltype(" + type + "::" + id + ")>(\"" + id + "\")";
      if (local)
        out += "auto& " + id + " = " + access + "; ";
      else
        at_file_scope_[id] = "(" + access + ")";
    }
    at_ = end;
    if (out.size() > 2 && out.ends_with("; ")) out.resize(out.size() - 2);  // the ; follows
    return out + lines_of(begin, end);
  }

  // Whether the declaration at i has a __shared__: before its type, or behind it.
  bool declares_shared(Index i) const {
    for (; i < tokens_.size() && !tokens_[i].is(";") && !tokens_[i].is("{"); ++i) {
      if (tokens_[i].is("__shared__")) return true;
      if (tokens_[i].is("(")) i = closing(i);
    }
    return false;
  }

  // extern __shared__ T name[];
  std::string dynamic_shared() {
    const Index begin = at_;
    Index end = begin;
    while (end < tokens_.size() && !tokens_[end].is(";")) ++end;
    Index bracket = begin;
    while (bracket < end && !tokens_[bracket].is("["))
      bracket = tokens_[bracket].is("(") ? closing(bracket) + 1 : bracket + 1;
    const Index name = before(bracket);
    std::string type;
    for (Index i = begin + 1; i < name; ++i) {
      if (tokens_[i].is("__shared__")) continue;
      if (tokens_[i].is("alignas") || tokens_[i].is("__align__") || tokens_[i].is("__attribute__")) {
        i = closing(skip_space(i + 1));  // the block's memory begins on a multiple of 1024
        continue;
      }
      type += flat(i, i + 1);
    }
    const std::string id = tokens_[name].text, tail = flat(skip_space(closing(bracket) + 1), end);
    at_ = end;
    const auto reference = [&](const std::string& to) {
      return bracket == end ? type + "& " + to : type + " (&" + to + ")[]" + tail;
    };
    const std::string access =
        "reinterpret_cast<" + reference("") + ">(*::lab::plain::dynamic_shared<" + type + ">(\"" + id + "\"))";
    if (in_function_[begin]) return reference(id) + " = " + access + lines_of(begin, end);
    at_file_scope_[id] = "(" + access + ")";
    return lines_of(begin, end);
  }

  // --- assembly ------------------------------------------------------------------------------------------------------------
  std::string assembly() {
    const Index begin = at_;
    Index open = skip_space(begin + 1);
    while (token(open).is("volatile") || token(open).is("__volatile__") || token(open).is("goto"))
      open = skip_space(open + 1);
    const Index close = closing(open);
    AsmStatement statement;
    int section = 0;
    Index i = skip_space(open + 1);
    while (i < close) {
      const Token& t = tokens_[i];
      if (t.is(":") || t.is("::")) {
        section += t.is("::") ? 2 : 1;
        i = skip_space(i + 1);
      } else if (section == 0) {
        if (t.kind == Kind::string) statement.ptx += literal_value(t.text);
        i = skip_space(i + 1);
      } else if (section > 2) {
        i = skip_space(i + 1);
      } else if (t.is(",")) {
        i = skip_space(i + 1);
      } else {
        AsmOperand operand;
        if (t.is("[")) {
          operand.symbol = tokens_[skip_space(i + 1)].text;
          i = skip_space(closing(i) + 1);
        }
        operand.constraint = literal_value(token(i).text);
        const Index from = skip_space(i + 1);
        operand.expression = flat(from + 1, closing(from));
        statement.operands.push_back(std::move(operand));
        i = skip_space(closing(from) + 1);
      }
    }
    const Translation translated = translate(statement);
    for (const std::string& instruction : translated.unread)
      unread_.push_back(place(begin) + ": asm \"" + instruction + "\"");
    at_ = close + 1;
    return (statement.ptx.find_first_not_of(" \n\t") == std::string::npos ? "((void)0)" : translated.code) +
           lines_of(begin, close + 1);
  }

  std::map<std::string, std::string> at_file_scope_;  // shared variables: what stands for their names
  std::vector<std::string> unread_;
  Index at_ = 0, launch_end_ = 0;  // of the last launch's arguments
  int number_ = 0, sites_ = 0;
};

}  // namespace
}  // namespace lab::frontend

// FILE itself (scan: nothing is expanded, and nothing written) or what g++ -E has made of it.
int main(int argc, char** argv) {
  const bool scan = argc == 4 && std::string_view(argv[3]) == "scan";
  if (argc != 3 && !scan) {
    std::fprintf(stderr, "frontend FILE ROOT [scan]: that is all\n");
    return 2;
  }
  std::ifstream file(argv[1], std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (scan) text = "# 1 \"" + std::string(argv[1]) + "\"\n" + text;
  lab::frontend::Rewriter rewriter(lab::frontend::tokens_of(text), argv[2]);
  const std::string rewritten = rewriter.run();
  if (!scan) std::cout << rewritten;
  for (const std::string& unread : rewriter.unread()) std::fprintf(stderr, "%s\n", unread.c_str());
  return rewriter.unread().empty() ? 0 : 2;
}
