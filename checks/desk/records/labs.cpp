#include "checks/desk/records/labs.hpp"
#include "checks/desk/desk.hpp"

#include <filesystem>

#include "checks/desk/ladder.hpp"
#include "reference/bad_input.hpp"

namespace lab::desk {

std::string lab_path(std::string pattern, const std::string& stage, const std::string& variant) {
  const std::string whole = pattern;
  for (const auto& [word, value] : {std::pair<std::string, std::string>{"STAGE", stage}, {"VARIANT", variant}}) {
    const std::size_t at = pattern.find(word);
    if (at == pattern.npos) throw BadInput("'" + whole + "' has no " + word + "; such as build/cpu/STAGE/VARIANT/lab");
    pattern.replace(at, word.size(), value);
  }
  return pattern;
}

std::string variant_of(const std::string& bug, const std::string& otherwise) {
  return bug.empty() ? otherwise : "bug-" + bug;
}

std::string stage_of(const std::string& lab) {
  const std::filesystem::path dir = std::filesystem::path(lab).parent_path().parent_path();
  const bool own = dir.parent_path().filename() == "own";
  const std::string stage = (own ? "own/" : "") + dir.filename().string();
  if (stage.empty()) throw BadInput("'" + lab + "' is no build/BACKEND/STAGE/VARIANT/lab");
  return stage;
}

namespace {
bool evolved(const std::string& lab) {
  return std::filesystem::path(lab).parent_path().filename().string().starts_with("evolve-");
}
}  // namespace

std::string program_of(const std::string& lab) { return stage_of(lab) + (evolved(lab) ? "-evolved" : ""); }

std::string kernel_of(const std::string& lab) {
  return evolved(lab) ? (std::filesystem::path(lab).parent_path() / "source.cu").string() : kernel_path(stage_of(lab));
}

}  // namespace lab::desk
