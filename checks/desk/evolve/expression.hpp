// Whole-number expressions of a levers.conf: constraints, and what they are made of.
#pragma once
#include <map>
#include <string>

namespace lab::desk {

using Numbers = std::map<std::string, long>;

// C's ?: || && == != < <= > >= + - * / % ! and unary -, parentheses, whole numbers, names, min(a, b) and max(a, b).
// Throws BadInput that names the expression: for what it does not understand, a name that `names` lacks, a division by
// zero.
long evaluate(const std::string& expression, const Numbers& names);

}  // namespace lab::desk
