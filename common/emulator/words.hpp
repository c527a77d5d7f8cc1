// Words for reports.
#pragma once
#include <cstdint>
#include <string>

#include "common/hang.hpp"

namespace lab::cpu {

std::string hex(std::uint32_t value);

}  // namespace lab::cpu
