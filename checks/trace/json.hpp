// A picture of steps as a Chrome trace-event JSON, which ui.perfetto.dev and chrome://tracing open.
#pragma once
#include <cstdint>
#include <string>

#include "checks/trace/steps.hpp"

namespace lab::trace {

struct Head {
  std::string stage, bug, shape;
  std::uint32_t tile = 0;
};

// The whole file. One step stands as one microsecond, the unit of the format.
std::string to_json(const Picture& picture, const Head& head);

}  // namespace lab::trace
