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

  const Token& token(Index i) const {
    static const Token end{Kind::space, "", 0, 0};
    return i < tokens_.size() ? tokens_[i] : end;
  }
  Index skip_space(Index i) const {
    while (i < tokens_.size() && tokens_[i].kind == Kind::space) ++i;
    return i;
  }
  Index before(Index i) const {  // the last token before i that is none of space; NONE if there is none
    while (i-- > 0)
      if (tokens_[i].kind != Kind::space) return i;
    return NONE;
  }
  Index closing(Index i) const;  // the token that closes the bracket at i
  Index after_template(
      Index i) const;  // behind the > that closes the < at i; NONE if this is no list of template arguments
  bool is_member(Index i) const {
    const Index b = before(i);
    return b != NONE && (tokens_[b].is(".") || tokens_[b].is("->") || tokens_[b].is("::"));
  }
  bool is_foreign(Index i) const {
    return !files_.empty() && token(i).file < int(foreign_.size()) && foreign_[std::size_t(token(i).file)];
  }
  std::string place(Index i) const {
    return files_.empty() ? "" : files_[std::size_t(token(i).file)] + ":" + std::to_string(token(i).line);
  }
  std::string lines_of(Index from, Index to) const;  // the line breaks that a replacement of [from, to) owes

  std::vector<Token> tokens_;
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
