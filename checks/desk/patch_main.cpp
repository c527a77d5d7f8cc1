// patch STAGE BUG OUT: writes the stage's kernel.cu with the bug's patch applied, for a compiler. Run from the root.
#include <cstdio>
#include <exception>
#include <fstream>
#include <sstream>
#include <string>

#include "checks/desk/patch.hpp"
#include "reference/bad_input.hpp"

int main(int argc, char** argv) {
  try {
    if (argc != 4) throw lab::BadInput("usage: patch STAGE BUG OUT");
    const lab::desk::Patch patch = lab::desk::read_patch(lab::desk::patch_path(argv[1], argv[2]));
    if (patch.source != std::string("stages/") + argv[1] + "/kernel.cu")
      throw lab::BadInput(patch.path + " is a diff of " + patch.source + ", which is not this stage's");
    std::ifstream file(patch.source, std::ios::binary);
    std::ostringstream source;
    if (!file || !(source << file.rdbuf())) throw lab::BadInput(patch.source + " cannot be read");
    const std::string text = lab::desk::patched_for_compiler(patch, source.str());
    std::ofstream out(argv[3], std::ios::binary);
    if (!(out << text) || !out.flush()) throw lab::BadInput(std::string(argv[3]) + " cannot be written");
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "patch: %s\n", e.what());
    return 2;
  }
}
