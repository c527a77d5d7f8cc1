# Of what `nm -C -u` prints: the first symbol that a kernel has no use for. Beside the CUDA that the CPU backend spells, what a launcher
# needs, and mathematics; ex2, rcp, __expf and __fdividef.
BEGIN {
  some = "_GLOBAL_OFFSET_TABLE_|_Unwind_Resume|__gxx_personality_v0|blockIdx|threadIdx|blockDim|gridDim|strlen|memcpy|memmove|memset|memcmp|" \
    "printf|puts|putchar|lab_kernel_printf|__printf_chk|snprintf|__snprintf_chk|fwrite|fprintf|stderr|lab_refused|cudaGetLastError()|" \
    "__stack_chk_fail|abort|std::terminate()"
  begins = "lab::plain::|lab::ex2_approx_ftz(|lab::rcp_approx_ftz(|lab::fast_exp(|lab::fast_divide(|cudaMemset(|cudaDeviceGetAttribute(|" \
    "cudaGetDevice(|cudaGetDriverEntryPoint(|operator new|operator delete|__cxa_|__tsan_|std::__throw_|vtable for __cxxabiv1::|__asan_|__ubsan_"
  split(some, list, "|"); for (i in list) allowed[list[i]]
  starts = split(begins, start, "|")
  mathematics = "^(exp|exp2|expm1|log|log2|log1p|sqrt|fmax|fmin|fabs|fma|pow|floor|ceil|round|trunc|rint|tanh|sin|cos|fmod|lrint|lround|" \
    "nearbyint|ldexp|frexp|scalbn)[fl]?(@.*)?$"
}
{ sub(/^ *[A-Za-z] /, "") }
$0 in allowed || $0 ~ mathematics { next }
# A function of the emulation, or a template of it with its result in front, and no member of the classes that it is made of.
/^lab::(cpu|plain)::[A-Za-z0-9_]+\(/ || /^[a-z ]*lab::(cpu|plain)::[A-Za-z0-9_]+<[^:(]*>\(/ || /^lab::plain::Launch::start\(/ { next }
{ for (i = 1; i <= starts; i++) if (index($0, start[i]) == 1) next; print; exit }
