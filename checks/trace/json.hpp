// A picture of steps as a Chrome trace-event JSON, which ui.perfetto.dev and chrome://tracing open.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "checks/trace/steps.hpp"

namespace lab::trace {

struct Head {
  std::string stage, bug, shape;
  std::uint32_t tile = 0;
};

// The whole file. One step stands as one microsecond, the unit of the format.
std::string to_json(const Picture& picture, const Head& head);

// Faults of a picture, a line each: a warp's slices that overlap, copies that never land, counts that are not
// `counts` (as `runner KERNEL counts` has them). `failed`: of a launch that did, where copies may be left in flight.
std::vector<std::string> wrong_with(const Picture& picture, const std::map<std::string, long>& counts, bool failed);

}  // namespace lab::trace
