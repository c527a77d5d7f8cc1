// Words for reports.
#pragma once
#include <cstdint>
#include <string>

namespace lab::cpu {

std::string hex(std::uint32_t value);
std::string lanes_text(std::uint32_t mask);  // "0..3,7"

}  // namespace lab::cpu
