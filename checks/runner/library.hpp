// The kernel at hand: a shared library, build/BACKEND/STAGE/VARIANT/kernel.so, and in it one stage's kernel.cu, right or with
// a bug. subject(), stage_conf() and common/build_info.hpp say what it is.
//
// It exports C functions (common/attention.hpp, common/attention_backward.hpp); a drill, drill().
#pragma once
#include <string>

namespace lab {

// Bits: `stage` is either pass. `none`: of several kernels, or of none.
enum class Pass : unsigned { none = 1, forward = 2, backward = 4, stage = forward | backward, drill = 8 };

// Throws BadInput where there is no such library, or it exports nothing of these. What is loaded stays: one for a process,
// and what runs several kernels forks.
Pass load_kernel(const std::string& path);

// A function of a library that lies beside this program, which is loaded for it.
void* beside_runner(const std::string& library, const char* function);
// The same of a library that stands beside the variants, as build/BACKEND/STAGE/signatures.so; nullptr where there is none.
void* beside_variants(const std::string& library, const std::string& function);

// The value of a key in its stage.conf, which make has laid beside the variants; "" where it has none.
std::string stage_says(const std::string& key);
// The path of what is loaded.
const std::string& kernel_library();
// A C function of the library; nullptr where it has none of that name.
void* library_symbol(const char* name);

}  // namespace lab
