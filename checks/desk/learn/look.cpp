// desk-work look: what the lab's tools see of the kernel of an exercise that is laid out.
#include <filesystem>

#include "checks/desk/desk.hpp"
#include "checks/desk/learn/checks.hpp"
#include "checks/desk/learn/variant.hpp"
#include "checks/desk/process.hpp"

namespace lab::desk {

int look_command(const Args& args) {
  const Course course = varied_course();
  const Exercise& e = course.find(args[1]);
  const std::string& tool = args[2];
  if (e.is_drill())
    throw BadInput("exercise " + e.number() + " has no tool of its own: make try n=" + std::to_string(e.n) +
                   " runs it with the race check on, and says what it counts");
  if (e.handed_in() != "kernel.cu")
    throw BadInput("exercise " + e.number() + " has no kernel of its own for make " + tool +
                   "; make exercise n=" + std::to_string(e.n) + " says what it has");
  if (e.backward && tool != "racecheck")
    throw BadInput("make " + tool + " is for stages of the forward pass; make racecheck n=" + std::to_string(e.n) +
                   " takes this one");
  if (!std::filesystem::exists(e.file()))
    throw BadInput("there is no " + e.file() + "; make exercise n=" + std::to_string(e.n) + " lays it out");
  // A learner's binary has the race check; the other tools are the lab's.
  const std::string program =
      tool == "racecheck" ? learner_path(e.stage, e.number()) : learner_dir(e.stage, e.number()) + "/lab";
  place_source(e.stage, read_text(e.file()), e.number(), e.file());
  if (run({args[0], "backend=cpu", "-s", program}).status != 0) return 1;
  Argv argv = {program, tool};
  argv.insert(argv.end(), args.begin() + 3, args.end());
  return run(argv).status;
}

}  // namespace lab::desk
