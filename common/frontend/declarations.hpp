// The tokens of a CUDA file, ways through them, and what the file declares.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/frontend/tokens.hpp"

namespace lab::frontend {

class Declarations {
 public:
  // Headers under /usr and the lab's own but for its device code, ROOT/common/*.cuh, are foreign: they stay as they are.
  Declarations(Source source, const std::string& root);

 protected:
  using Index = std::size_t;
  static constexpr Index NONE = ~Index(0);

  const Token& token(Index i) const { return i < tokens_.size() ? tokens_[i] : tokens_.back(); }
  bool opens(Index i) const { return token(i).is({"(", "[", "{"}); }
  Index closing(Index i) const;  // the token that closes the bracket at i
  // The first such token in [i, end) outside of brackets that open there; `end` if there is none.
  Index find(Index i, Index end, std::string_view what) const;
  // Behind the > that closes the < at i; NONE if this is no list of template arguments.
  Index after_template(Index i) const;
  bool is_member(Index i) const { return token(i - 1).is({".", "->", "::"}); }
  bool is_foreign(const Token& t) const { return t.file < int(foreign_.size()) && foreign_[std::size_t(t.file)]; }
  std::string place(const Token& t) const {
    return files_.empty() ? "" : files_[std::size_t(t.file)] + ":" + std::to_string(t.line);
  }
  std::string spelt(Index from, Index to) const;     // on one line
  std::string lines_of(Index from, Index to) const;  // the line breaks that a replacement of [from, to) owes

  std::vector<Token> tokens_, directives_;
  std::vector<std::string> files_;
  std::vector<char> foreign_;                        // of files
  std::vector<bool> in_function_, in_kernel_;        // of each token: a { of a function, or of a kernel, is open
  std::map<std::string, std::string> cluster_dims_;  // of kernels
  std::map<Index, std::string> kernel_bodies_;       // their {, and their names
  std::set<std::string> structs_;                    // that shared memory is read as
  std::map<Index, std::string> members_before_;      // what comes before their }
  bool has_cuda_ = false;                            // a namespace cuda of its own

 private:
  void find_functions();
  std::string kernel_name(Index at) const;
  void find_cluster_dims();
  void find_shared_structs();
  std::vector<std::string> members(Index from, Index to) const;
};

}  // namespace lab::frontend
