// Inline PTX as C++: an asm statement's text and operands become one statement expression, which calls what
// common/cpu/inline_ptx.h executes.
#pragma once
#include <string>
#include <vector>

namespace lab::frontend {

struct AsmOperand {
  std::string constraint, expression, symbol;  // "=r", "x[0]", "" or the name of %[name]
};

struct AsmStatement {
  std::string ptx;
  std::vector<AsmOperand> operands;  // outputs first
};

struct Translation {
  std::string code;
  std::vector<std::string> unread;  // instructions without a rule, as they stand in the text
};

Translation translate(const AsmStatement& statement);

}  // namespace lab::frontend
