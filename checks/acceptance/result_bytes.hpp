// A case's result as bytes, for the process that reports it.
#pragma once
#include <string>
#include <string_view>

#include "checks/acceptance/acceptance.hpp"

namespace lab {

std::string bytes_of(const CaseResult& result);
CaseResult result_of(std::string_view bytes, const Case& test);

}  // namespace lab
