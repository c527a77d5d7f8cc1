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
#include <utility>

#include "common/frontend/declarations.hpp"
#include "common/frontend/ptx.hpp"
#include "common/frontend/refused.hpp"

namespace lab::frontend {
namespace {

class Rewriter : Declarations {
 public:
  using Declarations::Declarations;
  std::string run() {
    for (const Token& line : directives_) {
      const std::string included = include_of(line.text);
      if (const std::string instead = refused_header(included); !instead.empty() && !is_foreign(line))
        refuse(line, ": " + included + ": " + instead);
    }
    return text(0, tokens_.size());
  }
  const std::vector<std::string>& unread() const { return unread_; }

 private:
  void refuse(const Token& at, const std::string& what) { unread_.push_back(place(at) + what); }
  // Text of [from, to), itself rewritten. Line breaks stay, so that lines do.
  std::string text(Index from, Index to) {
    std::string out;
    const Index keep = std::exchange(at_, from);
    while (at_ < to) {
      out += tokens_[at_].space;
      out += next(at_++);
    }
    at_ = keep;
    return out;
  }
  // The same on one line.
  std::string flat(Index from, Index to) {
    std::string out = text(from, to);
    std::ranges::replace(out, '\n', ' ');
    return out;
  }
  // The text in place of the token at i, and of those behind it that at_ is moved over.
  std::string next(Index i) {
    const Token& t = tokens_[i];
    if (is_foreign(t)) return t.text;
    if (t.is("__shared__")) return shared(i);
    if (t.is("extern") && declares_shared(i)) return dynamic_shared(i);
    if (t.is({"asm", "__asm__", "__asm"})) return assembly(i);
    if (t.is("__noinline__") && !token(i - 1).is("(")) return "__attribute__((__noinline__))";
    for (const Refused& refused : REFUSED)
      if (t.is(refused.word) && !is_member(i)) refuse(t, ": " + t.text + ": " + std::string(refused.instead));
    if (t.is("cuda") && !has_cuda_ && !is_member(i) && token(i + 1).is("::"))
      if (const std::string at = place(t) + ": cuda::"; unread_.empty() || !unread_.back().starts_with(at))
        refuse(t, ": cuda::" + token(i + 2).text + ": " + std::string(NO_LIBCUXX));
    if (t.is("__syncthreads") && !is_member(i) && token(i + 1).is("("))
      return "::lab::plain::at_site(" + std::to_string(++sites_) + "), __syncthreads";
    if (t.is("return") && in_kernel_[i] && token(i + 1).is(";")) return "return ::lab::plain::returns()";
    if (t.is("__null") && i < launch_end_)
      return "nullptr";  // NULL, as a launch's argument: a variable of its type would be a number
    // The checker's memcpy says what it touches (cuda_runtime.h).
    if (t.is({"__builtin_memcpy", "__builtin_memmove", "__builtin_memset"}))
      return t.text.substr(std::string_view("__builtin_").size());
    if (t.is("reinterpret_cast") && structs_.contains(token(i + 2).text)) return "::lab::plain::members_told";
    if (t.is("cudaLaunchKernelEx")) return launch_ex(i);
    if (t.is("__global__") || (t.is("static") && token(i + 1).is("__shared__"))) return "";
    // A section of their own, by which a store is known; g++ sees to one that is const.
    if (t.is("__constant__")) return is_const(i) ? "" : "__attribute__((section(\"lab_constant\")))";
    if (t.is("__cluster_dims__")) return at_ = closing(i + 1) + 1, "";
    if (t.kind == Kind::word && !is_member(i))
      if (const Index chevron = launch_of(i); chevron != NONE) return launch(i, chevron);
    if (t.is("(") && !is_member(i))
      if (const Index after = closing(i) + 1; token(after).is("<<<")) return launch(i, after);
    // A kernel with __cluster_dims__ may be launched through a pointer, and its template's arguments may be in them.
    if (const auto kernel = kernel_bodies_.find(i); kernel != kernel_bodies_.end() && !cluster_dims_.empty()) {
      const auto cluster = cluster_dims_.find(kernel->second);
      return "{ if (::lab::plain::asked(dim3(" + (cluster == cluster_dims_.end() ? "1, 1, 1" : cluster->second) +
             "))) return; ";
    }
    if (const auto members = members_before_.find(i); members != members_before_.end()) return members->second + t.text;
    const auto renamed = at_file_scope_.find(t.text);
    return renamed == at_file_scope_.end() || is_member(i) ? t.text : renamed->second;
  }

  // Whether the declaration that has a __constant__ at i says that its variable is const.
  bool is_const(Index i) const {
    const auto ends = [&](Index k) { return token(k).kind == Kind::end || token(k).is({";", "{", "}", "="}); };
    Index from = i, to = i;
    while (!ends(from - 1)) --from;
    while (!ends(to)) ++to;
    return std::any_of(tokens_.begin() + std::ptrdiff_t(from), tokens_.begin() + std::ptrdiff_t(to),
                       [](const Token& t) {
                         return t.is({"const", "constexpr"});
                       });
  }

  // --- launches --------------------------------------------------------------------------------------------------------
  // From a name with its templates' arguments and members to a <<<; NONE if it does not come to one.
  Index launch_of(Index i) const {
    for (Index at = i + 1; at != NONE;) {
      const Token& t = token(at);
      if (t.is("<<<")) return at;
      if (t.is({"::", ".", "->"}) && token(at + 1).kind == Kind::word)
        at += 2;
      else if (t.is("["))
        at = closing(at) + 1;
      else
        at = t.is("<") ? after_template(at) : NONE;
    }
    return NONE;
  }
  std::string launch(Index from, Index chevron) {
    const Index close = find(chevron + 1, tokens_.size(), ">>>"), open = close + 1;
    if (in_kernel_[from]) refuse(tokens_[from], ": a launch in a kernel: launch it from the host");
    if (!token(open).is("(")) {
      refuse(tokens_[from], ": a launch whose >>> no ( follows");
      return at_ = open, "";
    }
    const std::string kernel = spelt(from, chevron);
    std::string name;  // in a string literal
    for (const char c : kernel) name += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    std::string out = "::lab::plain::Launch(::lab::plain::instance(\"" + name + "\", __PRETTY_FUNCTION__), ";
    out += cluster_dims_.empty() ? "dim3(1, 1, 1)" : "dim3(0, 0, 0)";  // 0: the kernel is asked
    out += ", " + text(chevron + 1, close) + token(close).space + ").run([&](const auto&... lab_a) { " + kernel;
    out += "(lab_a...); }, [&]<class... LabA>(::lab::plain::Types<LabA...> lab_t) -> const void* { ";
    for (const std::string how : {"::lab::plain::address_of_one", "::lab::plain::address_of_instance"})
      out += "if constexpr (requires { " + how + "(lab_t, " + kernel + "); }) return " + how + "(lab_t, " + kernel +
             "); else ";
    at_ = open + 1, launch_end_ = closing(open);
    return out + "return nullptr; }" + (token(at_).is(")") ? "" : ", ") + lines_of(close, at_);
  }
  // cudaLaunchKernelEx(&config, attention<D>, ...)
  std::string launch_ex(Index i) {
    const Index close = closing(i + 1), comma = find(i + 2, close, ",");  // behind the configuration
    Index end = comma + 1;
    while (end < close && !tokens_[end].is(",")) {
      const Index after = tokens_[end].is("<") ? after_template(end) : NONE;
      end = after == NONE ? end + 1 : after;
    }
    std::string name;
    for (Index k = comma + 1; k < end; ++k) name += tokens_[k].text;
    at_ = i + 2;
    return "::lab::plain::launch_ex(::lab::plain::instance(\"" + name + "\", __PRETTY_FUNCTION__), ";
  }

  // --- shared memory -----------------------------------------------------------------------------------------------------
  // __shared__ int a, b[4];  ->  struct lab_s7 { int a; }; auto& a = lab::plain::shared_variable<...>("a"); ...
  std::string shared(Index begin) {
    const Index end = find(begin, tokens_.size(), ";");
    std::vector<std::pair<Index, Index>> declarators;  // [from, to)
    Index specifiers_end = NONE;
    std::vector<Index> names;
    Index from = NONE, name = NONE;
    for (Index i = begin + 1; i <= end; ++i) {
      const Token& t = token(i);
      if (const Index after = t.is("<") && from == NONE ? after_template(i) : NONE; after != NONE) {
        i = after - 1;
        continue;
      }
      if (t.is({"(", "{"})) {
        i = closing(i);
        continue;
      }
      if (t.kind == Kind::word && !t.is({"static", "volatile", "const"})) name = i;
      if (!t.is({"[", ",", ";", "="})) continue;
      if (name == NONE) break;
      if (specifiers_end == NONE) {
        specifiers_end = name;
        while (token(specifiers_end - 1).is({"*", "&"})) --specifiers_end;
        from = specifiers_end;
      }
      names.push_back(name);
      const Index stop = find(i, end, ",");
      declarators.emplace_back(from, stop);
      from = stop + 1, i = stop, name = NONE;
    }
    at_ = end;
    if (declarators.empty()) return refuse(tokens_[begin], ": this __shared__ declaration"), "";
    std::string specifiers;
    for (Index i = begin + 1; i < specifiers_end; ++i)
      if (!tokens_[i].is("static")) specifiers += flat(i, i + 1);
    const bool local = in_function_[begin];
    std::string out = local ? "" : " ";
    for (std::size_t k = 0; k < declarators.size(); ++k) {
      const std::string type = "lab_s" + std::to_string(number_++), id = tokens_[names[k]].text;
      const auto [first, stop] = declarators[k];
      Index initialiser = first;  // is not CUDA
      while (initialiser < stop && !tokens_[initialiser].is("=")) ++initialiser;
      out += "struct " + type + " { " + specifiers + " " + flat(first, initialiser) + "; }; ";
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
    for (; i < tokens_.size() && !tokens_[i].is({";", "{"}); ++i) {
      if (tokens_[i].is("__shared__")) return true;
      if (tokens_[i].is("(")) i = closing(i);
    }
    return false;
  }

  // extern __shared__ T name[];
  std::string dynamic_shared(Index begin) {
    const Index end = find(begin, tokens_.size(), ";");
    Index bracket = begin;
    while (bracket < end && !tokens_[bracket].is("["))
      bracket = tokens_[bracket].is("(") ? closing(bracket) + 1 : bracket + 1;
    const Index name = bracket - 1;
    std::string type;
    for (Index i = begin + 1; i < name; ++i) {
      if (tokens_[i].is("__shared__")) continue;
      if (tokens_[i].is({"alignas", "__align__", "__attribute__"}))
        i = closing(i + 1);  // the block's memory begins on a multiple of 1024
      else
        type += flat(i, i + 1);
    }
    const std::string id = tokens_[name].text, tail = flat(closing(bracket) + 1, end);
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
  std::string assembly(Index begin) {
    Index open = begin + 1;
    while (token(open).is({"volatile", "__volatile__", "goto"})) ++open;
    const Index close = closing(open);
    AsmStatement statement;
    int section = 0;
    for (Index i = open + 1; i < close;) {
      const Token& t = tokens_[i];
      if (t.is({":", "::"})) {
        section += int(t.text.size()), ++i;
      } else if (section == 0 || section > 2 || t.is(",")) {
        if (section == 0 && t.kind == Kind::string) statement.ptx += literal_value(t.text);
        ++i;
      } else {
        AsmOperand operand;
        if (t.is("[")) operand.symbol = token(i + 1).text, i = closing(i) + 1;
        operand.constraint = literal_value(token(i).text);
        operand.expression = flat(i + 2, closing(i + 1));
        statement.operands.push_back(std::move(operand));
        i = closing(i + 1) + 1;
      }
    }
    const Translation translated = translate(statement);
    for (const std::string& instruction : translated.unread) refuse(tokens_[begin], ": asm \"" + instruction + "\"");
    at_ = close + 1;
    return (statement.ptx.find_first_not_of(" \n\t") == std::string::npos ? "((void)0)" : translated.code) +
           lines_of(begin, at_);
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
