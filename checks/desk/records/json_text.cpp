#include "checks/desk/records/json_text.hpp"

#include <set>
#include <vector>

#include "checks/acceptance/format.hpp"
#include "checks/desk/desk.hpp"
#include "reference/bad_input.hpp"

namespace lab::desk {
namespace {

std::string quoted(const std::string& text) { return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace); }

template <class Items, class Text>
std::string joined_by(const Items& items, Text text) {
  std::string out;
  for (const auto& item : items) out += (out.empty() ? "" : ", ") + text(item);
  return out;
}

}  // namespace

Json parse_json(std::string_view text, const std::string& what) {
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  const auto seen = [&](int, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second)
      throw BadInput(what + ": not JSON: '" + value.get<std::string>() + "' twice in one object");
    return true;
  };
  try {
    return Json::parse(text, seen);
  } catch (const Json::parse_error& e) {
    throw BadInput(what + ": not JSON: an error at byte " + std::to_string(e.byte));
  }
}

Json load_results(const std::filesystem::path& path, std::string_view schema, std::string_view remade_by) {
  const std::string name = path.string(), remade = "; " + std::string(remade_by) + " writes it";
  if (!std::filesystem::exists(path)) throw BadInput("no " + name + remade);
  Json value = parse_json(read_text(path.string()), name);
  if (!value.is_object() || !value.contains("schema") || value["schema"] != schema)
    throw BadInput(name + ": its schema is not " + std::string(schema) + remade);
  return value;
}

std::string one_line(const Json& value, int digits) {
  if (value.is_object()) return "{" + members(value, digits) + "}";
  if (value.is_array()) return "[" + joined_by(value, [&](const Json& v) { return one_line(v, digits); }) + "]";
  if (value.is_string()) return quoted(value.get<std::string>());
  if (value.is_number_float()) return format("%.*g", digits, value.get<double>());
  return value.dump();
}

std::string members(const Json& object, int digits) {
  return joined_by(object.items(),
                   [&](const auto& item) { return quoted(item.key()) + ": " + one_line(item.value(), digits); });
}

}  // namespace lab::desk
