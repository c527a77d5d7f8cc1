// JSON as the lab keeps it: read strictly, written so that a diff of two files reads line by line.
#pragma once
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace lab::desk {

using Json = nlohmann::ordered_json;

// Throws BadInput "WHAT: not JSON: ..."; a member that comes twice is an error too.
Json parse_json(std::string_view text, const std::string& what);

// A results file of one schema. Throws BadInput where there is none, it is no JSON, or its schema differs;
// `remade_by` is the command that makes it.
Json load_results(const std::filesystem::path& path, std::string_view schema, std::string_view remade_by);

// {"a": 1, "b": [2, 3]}: a value on one line. Numbers that are not whole get as many digits as `digits` says.
std::string one_line(const Json& value, int digits = 6);

// The same with a line for each member or element of what lies less than `levels` deep.
std::string laid_out(const Json& value, int levels, int digits = 6);

}  // namespace lab::desk
