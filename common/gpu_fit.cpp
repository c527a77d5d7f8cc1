#include "common/gpu_fit.hpp"

#include <algorithm>
#include <sstream>
#include <vector>

#include "common/joined.hpp"
#include "common/target.hpp"
#include "reference/bad_input.hpp"

namespace lab {
namespace {

std::string dotted(int capability) { return joined(capability / 10, ".", capability % 10); }

const Target& target_of(const StageNeeds& stage) {
  if (const Target* target = find_target(stage.target)) return *target;
  std::string names;
  for (const Target& target : TARGETS) names += std::string(names.empty() ? "" : " or ") + target.name;
  throw BadInput(stage.stage + ": target '" + stage.target + "' is not " + names);
}

std::vector<Feature> features_of(const StageNeeds& stage) {
  std::vector<Feature> features;
  std::istringstream words(stage.needs);
  for (std::string word; words >> word;) {
    const auto* found = std::ranges::find(FEATURES, std::string_view(word), &Feature::word);
    if (found == std::end(FEATURES)) {
      std::string names;
      for (const Feature& feature : FEATURES) names += " " + std::string(feature.word);
      throw BadInput(stage.stage + ": needs '" + word + "' is not one of" + names);
    }
    features.push_back(*found);
  }
  return features;
}

bool has(const GpuProperties& gpu, int capability, bool only_there) {
  const int mine = 10 * gpu.major + gpu.minor;
  return only_there ? mine == capability : mine >= capability;
}

std::string listed(const std::vector<std::string>& items) {
  std::string text;
  for (std::size_t i = 0; i < items.size(); ++i)
    text += (i == 0 ? "" : i + 1 == items.size() ? " and " : ", ") + items[i];
  return text;
}

}  // namespace

std::string why_not(const StageNeeds& stage, const GpuProperties& gpu) {
  const Target& target = target_of(stage);
  std::vector<std::string> wanted, there;
  bool capability = target.only_there && !has(gpu, target.compute_capability, true);
  const bool elsewhere = capability;  // then its features need no word of their own
  if (elsewhere)
    wanted.push_back("compute capability " + dotted(target.compute_capability) + " exactly (" + target.name + ")");
  for (const Feature& feature : features_of(stage)) {
    if (elsewhere || has(gpu, feature.compute_capability, feature.only_there)) continue;
    wanted.push_back(joined(feature.word, " (compute capability ", dotted(feature.compute_capability),
                            feature.only_there ? " alone)" : ")"));
    capability = true;
  }
  if (capability) there.push_back("compute capability " + dotted(10 * gpu.major + gpu.minor));
  if (stage.smem > gpu.smem_per_block) {
    wanted.push_back(joined(stage.smem, " B of shared memory per block"));
    there.push_back(joined(gpu.smem_per_block, " B", capability ? "" : " of it"));
  }
  if (!wanted.empty()) return "needs " + listed(wanted) + "; " + gpu.name + " has " + listed(there);
  if (gpu.has_code) return "";
  return "has no code in this build for " + gpu.name + ", compute capability " + dotted(10 * gpu.major + gpu.minor) +
         ": built elsewhere, or nvcc no longer knows it";
}

std::string skip_line(const StageNeeds& stage, const GpuProperties& gpu) {
  const std::string why = why_not(stage, gpu);
  return why.empty() ? "" : "skipped: " + stage.stage + " " + why + "; backend=cpu runs it";
}

}  // namespace lab
