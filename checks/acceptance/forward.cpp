// The forward pass as a subject.
#include "checks/acceptance/subject.hpp"
#include "common/stage.hpp"

namespace lab {

const Subject& forward_subject() {
  static const Subject subject{
      false,
      {"q", "k", "v"},
      {"out"},
      [](const Call& c) {
        return stage().launch({c.in[0], c.in[1], c.in[2], c.out[0], c.shape, c.scale, c.stream, c.workspace});
      },
      [](const Shape& shape) { return stage().plan(shape).workspace; },
      stage_says("half_p") == "yes",
      stage_says("empty_tile") == "nan"};
  return subject;
}

}  // namespace lab
