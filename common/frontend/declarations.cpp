#include "common/frontend/declarations.hpp"

#include <algorithm>
#include <string_view>

namespace lab::frontend {

Declarations::Declarations(Source source, const std::string& root)
    : tokens_(std::move(source.tokens)), directives_(std::move(source.directives)), files_(std::move(source.files)) {
  for (const std::string& file : files_) {
    const bool ours =
        file.starts_with(root + "/common/") || file.starts_with("common/") || file.starts_with("./common/");
    foreign_.push_back((ours && !file.ends_with(".cuh")) || file.starts_with("/usr/") || file.starts_with("<"));
  }
  for (Index i = 0; i < tokens_.size() && !has_cuda_; ++i)
    has_cuda_ = tokens_[i].is("namespace") && token(i + 1).is("cuda") && token(i + 2).is("{");
  find_cluster_dims(), find_functions(), find_shared_structs();
}

Declarations::Index Declarations::closing(Index i) const {
  int depth = 0;
  for (; i < tokens_.size(); ++i) {
    if (opens(i)) ++depth;
    if (tokens_[i].is({")", "]", "}"}) && --depth == 0) return i;
  }
  return tokens_.size();
}

Declarations::Index Declarations::find(Index i, Index end, std::string_view what) const {
  while (i < end && !tokens_[i].is(what)) i = opens(i) ? closing(i) + 1 : i + 1;
  return std::min(i, end);
}

Declarations::Index Declarations::after_template(Index i) const {
  int depth = 0;
  for (; i < tokens_.size(); ++i) {
    const Token& t = tokens_[i];
    if (opens(i))
      i = closing(i);
    else if (t.is("<"))
      ++depth;
    else if (t.is({">", ">>", ">>>"}))
      depth -= int(t.text.size());
    else if (t.is({";", "&&", "||", "}"}))
      return NONE;
    if (depth <= 0) return i + 1;
  }
  return NONE;
}

std::string Declarations::lines_of(Index from, Index to) const {
  std::string all;
  for (Index i = from; i < to; ++i) all += (i > from ? token(i).space : "") + token(i).text;
  return std::string(std::size_t(std::ranges::count(all, '\n')), '\n');
}

void Declarations::find_functions() {
  std::vector<bool> open;
  int functions = 0;
  bool kernel = false;  // the function that is open, or comes next
  std::string name;     // the kernel's
  for (Index i = 0; i < tokens_.size(); ++i) {
    in_function_.push_back(functions > 0), in_kernel_.push_back(kernel && functions > 0);
    if (functions == 0) kernel = tokens_[i].is("__global__") || (kernel && !tokens_[i].is(";"));
    if (functions == 0 && tokens_[i].is("__global__")) name = kernel_name(i);
    if (tokens_[i].is("{")) {
      const bool is_one = token(i - 1).is({")", "const", "noexcept", "else", "do", "mutable"});
      if (functions == 0 && kernel && is_one) kernel_bodies_[i] = name;
      open.push_back(is_one), functions += is_one;
    } else if (tokens_[i].is("}") && !open.empty()) {
      functions -= open.back(), open.pop_back();
      kernel = kernel && functions > 0;
    }
  }
}

// Before the first ( behind `at` that belongs to no attribute.
std::string Declarations::kernel_name(Index at) const {
  for (; at < tokens_.size(); ++at) {
    if (!tokens_[at].is("(")) continue;
    if (const Token& name = token(at - 1); !name.is({"__launch_bounds__", "__cluster_dims__"})) return name.text;
    at = closing(at);
  }
  return "";
}

void Declarations::find_cluster_dims() {
  for (Index i = 0; i < tokens_.size(); ++i) {
    if (!tokens_[i].is("__cluster_dims__")) continue;
    const Index close = closing(i + 1);
    cluster_dims_[kernel_name(close + 1)] += spelt(i + 2, close);
  }
}

std::string Declarations::spelt(Index from, Index to) const {
  std::string text;
  for (Index i = from; i < to; ++i) text += (i == from || token(i).space.empty() ? "" : " ") + token(i).text;
  return text;
}

// A struct that the dynamic shared memory is read as,
//   extern __shared__ char shared[];  Smem<D>& smem = *reinterpret_cast<Smem<D>*>(shared);
// tells its members: a function is added to it, before the } that ends it.
void Declarations::find_shared_structs() {
  std::set<std::string> names;
  for (Index i = 0; i < tokens_.size(); ++i)
    if (tokens_[i].is("reinterpret_cast") && !is_foreign(tokens_[i]) && token(i + 2).kind == Kind::word)
      names.insert(token(i + 2).text);
  for (Index i = 0; i < tokens_.size(); ++i) {
    if (!tokens_[i].is("struct") || is_foreign(tokens_[i])) continue;
    const std::string& name = token(i + 1).text;
    if (!names.contains(name)) continue;
    Index open = i + 1;
    while (open < tokens_.size() && !tokens_[open].is({"{", ";"})) ++open;
    if (!token(open).is("{")) continue;
    const Index close = closing(open);
    std::string told;
    for (const std::string& member : members(open + 1, close))
      told += "lab_tell(\"" + member + "\", &" + name + "::" + member + "); ";
    if (told.empty()) continue;
    structs_.insert(name);
    members_before_[close] = "template <class LabTell> static void lab_members(LabTell lab_tell) { " + told + "} ";
  }
}

// The names of the data that a struct's body, [from, to), declares.
std::vector<std::string> Declarations::members(Index from, Index to) const {
  std::vector<std::string> found;
  Index last = NONE;  // the member's name, so far
  bool skip = false;  // a statement that declares no data
  for (Index m = from; m < to; ++m) {
    const Token& t = tokens_[m];
    if (t.is({"static", "using", "static_assert", "typedef", "template"})) skip = true;
    if (t.is({"(", "{"})) {
      m = closing(m);
      continue;
    }
    if (const Index after = t.is("<") && !skip ? after_template(m) : NONE; after != NONE) {
      m = after - 1;
      continue;
    }
    if (t.kind == Kind::word && !t.is("alignas")) last = m;
    if (!t.is({"[", ",", ";"})) continue;
    if (!skip && last != NONE) found.push_back(tokens_[last].text);
    last = NONE;
    while (token(m).is("[")) m = closing(m) + 1;
    if (token(m).is(";")) skip = false;
  }
  return found;
}

}  // namespace lab::frontend
