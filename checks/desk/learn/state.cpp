#include "checks/desk/learn/state.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "checks/desk/desk.hpp"

namespace lab::desk {
namespace {

using Json = nlohmann::ordered_json;
constexpr const char* SCHEMA = "exercises-1";

}  // namespace

State::State(const std::string& path) : path_(path) {
  if (!std::filesystem::exists(path)) return;
  try {
    const Json json = Json::parse(read_text(path));
    if (json.at("schema") != SCHEMA) throw BadInput("another schema");
    std::map<std::string, Progress> all;
    for (const auto& [number, one] : json.at("exercises").items()) {
      all[number] = {one.at("hints"), one.at("tries"),   one.at("predictions"), one.at("predicted"),
                     one.at("done"),  one.at("gave_up"), one.at("prediction")};
      for (const Json& a : one.value("attempts", Json::array()))
        all[number].attempts.push_back({a.at("say"), a.at("right"), a.at("late")});
    }
    all_ = std::move(all);
  } catch (const std::exception&) {
    const std::string aside = path + ".unreadable";
    std::error_code failed;
    std::filesystem::rename(path, aside, failed);
    trouble = path + " could not be read: it is " + aside +
              " now, and what was done is forgotten (make grade finds out again)";
  }
}

const Progress& State::seen(const std::string& number) const {
  static const Progress NONE;
  const auto found = all_.find(number);
  return found == all_.end() ? NONE : found->second;
}

void State::save() const {
  Json json = {{"schema", SCHEMA}, {"exercises", Json::object()}};
  for (const auto& [number, p] : all_) {
    Json attempts = Json::array();
    for (const Attempt& a : p.attempts) attempts.push_back({{"say", a.say}, {"right", a.right}, {"late", a.late}});
    json["exercises"][number] = {{"hints", p.hints},           {"tries", p.tries},    {"predictions", p.predictions},
                                 {"predicted", p.predicted},   {"done", p.done},      {"gave_up", p.gave_up},
                                 {"prediction", p.prediction}, {"attempts", attempts}};
  }
  write_text(path_, json.dump(1) + "\n");
}

}  // namespace lab::desk
