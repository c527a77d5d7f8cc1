#include "checks/desk/records/json_text.hpp"

#include <set>
#include <vector>

#include "checks/acceptance/format.hpp"
#include "checks/desk/desk.hpp"
#include "reference/bad_input.hpp"

namespace lab::desk {
namespace {

std::string quoted(const std::string& text) { return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace); }

// The pieces of an array, or "key": piece of an object, between brackets.
template <class Text>
std::string bracketed(const Json& value, const std::string& before, const std::string& end, Text text) {
  std::string out;
  for (const auto& item : value.items())
    out += (out.empty()                ? ""
            : before.starts_with('\n') ? ","
                                       : ", ") +
           before + (value.is_object() ? quoted(item.key()) + ": " : "") + text(item.value());
  return (value.is_object() ? "{" : "[") + out + end + (value.is_object() ? "}" : "]");
}

std::string laid_out(const Json& value, int levels, int digits, const std::string& indent) {
  if (levels == 0 || !value.is_structured() || value.empty()) return one_line(value, digits);
  return bracketed(value, indent + "  ", indent,
                   [&](const Json& one) { return laid_out(one, levels - 1, digits, indent + "  "); });
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
  if (value.is_structured()) return bracketed(value, "", "", [&](const Json& one) { return one_line(one, digits); });
  if (value.is_string()) return quoted(value.get<std::string>());
  if (value.is_number_float()) return format("%.*g", digits, value.get<double>());
  return value.dump();
}

std::string laid_out(const Json& value, int levels, int digits) { return laid_out(value, levels, digits, "\n") + "\n"; }

}  // namespace lab::desk
