// Forbidden to a handed-in kernel, so that its computation alone is judged: call the checks' own functions, include it,
// end the process, change where the compiler says that its lines stand.
#pragma once
#include <string>
#include <vector>

namespace lab::desk {

// Of a source: the line that says what is refused ("work/07/kernel.cu:12: ..."), "" if nothing is. `given` is what was
// handed out, and what solves it: what they include may be included.
std::string refused_source(const std::string& path, const std::string& text, const std::string& given);

// Of an object's undefined symbols, demangled as `nm -C -u` prints them: the first that a kernel has no use for, or "".
std::string refused_symbol(const std::string& nm_says);

}  // namespace lab::desk
