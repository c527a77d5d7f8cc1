// A library's header that is there: it is refused by the line that includes it, before g++ reads it beside the lab's own.
#include "include/cublas_v2.h"
int main() {}
