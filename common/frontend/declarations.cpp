#include "common/frontend/declarations.hpp"

#include <string_view>

namespace lab::frontend {

Declarations::Declarations(Source source, const std::string& root)
    : tokens_(std::move(source.tokens)), files_(std::move(source.files)) {
  for (const std::string& file : files_) {
    const bool ours =
        file.starts_with(root + "/common/") || file.starts_with("common/") || file.starts_with("./common/");
    foreign_.push_back((ours && !file.ends_with(".cuh")) || file.starts_with("/usr/") || file.starts_with("<"));
  }
  for (Index i = 0; i < tokens_.size() && !has_cuda_; ++i)
    if (const Index name = skip_space(i + 1); tokens_[i].is("namespace") && token(name).is("cuda"))
      has_cuda_ = token(skip_space(name + 1)).is("{");
  find_cluster_dims(), find_functions(), find_shared_structs();
}

Declarations::Index Declarations::closing(Index i) const {
  int depth = 0;
  for (; i < tokens_.size(); ++i) {
    if (tokens_[i].is("(") || tokens_[i].is("[") || tokens_[i].is("{")) ++depth;
    if ((tokens_[i].is(")") || tokens_[i].is("]") || tokens_[i].is("}")) && --depth == 0) return i;
  }
  return tokens_.size();
}

Declarations::Index Declarations::after_template(Index i) const {
  int depth = 0;
  for (; i < tokens_.size(); ++i) {
    const Token& t = tokens_[i];
    if (t.is("(") || t.is("[") || t.is("{"))
      i = closing(i);
    else if (t.is("<"))
      ++depth;
    else if (t.is(">"))
      --depth;
    else if (t.is(">>"))
      depth -= 2;
    else if (t.is(">>>"))
      depth -= 3;
    else if (t.is(";") || t.is("&&") || t.is("||") || t.is("}"))
      return NONE;
    if (depth <= 0) return i + 1;
  }
  return NONE;
}

std::string Declarations::lines_of(Index from, Index to) const {
  std::string out;
  for (Index i = from; i < to; ++i)
    for (const char c : token(i).text) out += c == '\n' ? "\n" : "";
  return out;
}

void Declarations::find_functions() {
  std::vector<bool> open;
  Index last = NONE;  // token that is none of space
  int functions = 0;
  bool kernel = false;  // the function that is open, or comes next
  std::string name;     // the kernel's
  for (Index i = 0; i < tokens_.size(); ++i) {
    in_function_.push_back(functions > 0), in_kernel_.push_back(kernel && functions > 0);
    if (tokens_[i].kind == Kind::space) continue;
    if (functions == 0) kernel = tokens_[i].is("__global__") || (kernel && !tokens_[i].is(";"));
    if (functions == 0 && tokens_[i].is("__global__")) name = kernel_name(i);
    if (tokens_[i].is("{")) {
      bool is_one = false;
      for (const std::string_view word : {")", "const", "noexcept", "else", "do", "mutable"})
        is_one = is_one || (last != NONE && tokens_[last].is(word));
      if (functions == 0 && kernel && is_one) kernel_bodies_[i] = name;
      open.push_back(is_one), functions += is_one;
    } else if (tokens_[i].is("}") && !open.empty()) {
      functions -= open.back(), open.pop_back();
      kernel = kernel && functions > 0;
    }
    last = i;
  }
}

// Before the first ( behind `at` that belongs to no attribute.
std::string Declarations::kernel_name(Index at) const {
  for (; at < tokens_.size(); ++at) {
    if (!tokens_[at].is("(")) continue;
    const Token& name = tokens_[before(at)];
    if (!name.is("__launch_bounds__") && !name.is("__cluster_dims__")) return name.text;
    at = closing(at);
  }
  return "";
}

void Declarations::find_cluster_dims() {
  for (Index i = 0; i < tokens_.size(); ++i) {
    if (!tokens_[i].is("__cluster_dims__")) continue;
    const Index open = skip_space(i + 1), close = closing(open);
    std::string& dims = cluster_dims_[kernel_name(close + 1)];
    for (Index k = open + 1; k < close; ++k) dims += tokens_[k].kind == Kind::space ? " " : tokens_[k].text;
  }
}

// A struct that the dynamic shared memory is read as,
//   extern __shared__ char shared[];  Smem<D>& smem = *reinterpret_cast<Smem<D>*>(shared);
// tells its members: a function is added to it, before the } that ends it.
void Declarations::find_shared_structs() {
  std::set<std::string> names;
  for (Index i = 0; i < tokens_.size(); ++i)
    if (tokens_[i].is("reinterpret_cast") && !is_foreign(i))
      if (const Index type = skip_space(skip_space(i + 1) + 1); token(type).kind == Kind::word)
        names.insert(token(type).text);
  for (Index i = 0; i < tokens_.size(); ++i) {
    if (!tokens_[i].is("struct") || is_foreign(i)) continue;
    const Index name = skip_space(i + 1);
    if (!names.contains(token(name).text)) continue;
    Index open = name;
    while (open < tokens_.size() && !tokens_[open].is("{") && !tokens_[open].is(";")) ++open;
    if (!token(open).is("{")) continue;
    const Index close = closing(open);
    std::string told;
    for (const std::string& member : members(open + 1, close))
      told += "lab_tell(\"" + member + "\", &" + tokens_[name].text + "::" + member + "); ";
    if (told.empty()) continue;
    structs_.insert(tokens_[name].text);
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
    if (t.kind == Kind::space) continue;
    if (t.is("static") || t.is("using") || t.is("static_assert") || t.is("typedef") || t.is("template")) skip = true;
    if (t.is("(") || t.is("{")) {
      m = closing(m);
      continue;
    }
    if (t.is("<") && !skip)
      if (const Index after = after_template(m); after != NONE) {
        m = after - 1;
        continue;
      }
    if (t.kind == Kind::word && !t.is("alignas")) last = m;
    if (!t.is("[") && !t.is(",") && !t.is(";")) continue;
    if (!skip && last != NONE) found.push_back(tokens_[last].text);
    last = NONE;
    while (tokens_[m].is("[")) m = skip_space(closing(m) + 1);
    if (tokens_[m].is(";")) skip = false;
  }
  return found;
}

}  // namespace lab::frontend
