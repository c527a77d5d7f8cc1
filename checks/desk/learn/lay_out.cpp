#include "checks/desk/learn/learn.hpp"

namespace lab::desk {

// desk-work exercise, hint, solution.

namespace {

std::string state_of(const Exercise& e, const Progress& p) {
  std::string text = p.done ? "done" : p.gave_up ? "shown" : fs::exists(e.dir()) ? "begun" : "open";
  if (p.hints) text += ", " + std::to_string(p.hints) + (p.hints == 1 ? " hint" : " hints");
  return text;
}

// "v2c9" of v2c9_two_stripes; nothing of a drill.
std::string short_stage(const Exercise& e) { return e.is_drill() ? "" : short_stage_name(e.stage); }

void list(const std::vector<const Exercise*>& some, const State& state) {
  std::printf("%-4s %-6s %-36s %-11s %-7s %-16s %s\n", "n", "stage", "name", "kind", "minutes", "state", "after");
  int done = 0, minutes = 0, next = 0;
  for (const Exercise* e : some) {
    const Progress& p = state.seen(e->number());
    done += p.done, minutes += p.done ? 0 : e->minutes;
    if (next == 0 && !p.done) next = e->n;
    std::printf("%-4s %-6s %-36s %-11s %7d %-16s %s\n", e->number().c_str(), short_stage(*e).c_str(), e->name.c_str(),
                e->kind.c_str(), e->minutes, state_of(*e, p).c_str(), joined(e->after, " ").c_str());
  }
  std::printf("\n%d of %zu done; %d minutes left. ", done, some.size(), minutes);
  if (next) std::printf("make exercise n=%d lays one out, ", next);
  std::printf("n=v2c9 lists a stage's, n=faster a kind.\n");
}

// Those of a kind, or of a stage by either name; all of "".
std::vector<const Exercise*> listed(const Course& course, const std::string& word) {
  const Ladder ladder = read_ladder();
  const Stage* stage = word.empty() ? nullptr : ladder.stage(word);
  std::vector<const Exercise*> some;
  for (const Exercise& e : course.all)
    if (word.empty() || e.kind == word || (stage && e.stage == stage->dir)) some.push_back(&e);
  return some;
}

State read_state() {
  State state;
  if (!state.trouble.empty()) std::fprintf(stderr, "%s\n", state.trouble.c_str());
  return state;
}

// What is not worked on: the card, and a sheet for answers where there is none yet.
void lay_out_card(const Exercise& e) {
  write_text(e.dir() + "/CARD.md", card(e));
  if (!e.questions.empty() && !fs::exists(answers_file(e))) write_text(answers_file(e), answers_sheet(e));
}

void lay_out(const Exercise& e) {
  lay_out_card(e);
  if (!e.handed_in().empty()) write_text(e.file(), handed_out(e));
}

constexpr const char* BLANK = "checks/exercises/blank";

// Without `learned`, which is the ladder's; with the stage that it comes from, and the blank one's comments.
std::string own_conf(const std::string& conf, const std::string& idea, const std::string& from) {
  std::string text;
  for (const std::string& line : lines_of(read_text(std::string(BLANK) + "/stage.conf")))
    if (line.starts_with("#")) text += line + "\n";
  for (const std::string& line : lines_of(conf)) {
    if (line.starts_with("#") || line.starts_with("learned=") || line.starts_with("from=")) continue;
    text += (line.starts_with("idea=") ? "idea=\"" + idea + "\"" : line) + "\n";
  }
  return text + (from.empty() ? "" : "from=\"" + from + "\"\n");
}

}  // namespace

// What was worked on is kept beside it, under another name.
static void begin_again(const Exercise& e) {
  if (e.handed_in().empty() || !fs::exists(e.file())) return;
  if (read_text(e.file()) == handed_out(e)) return;
  std::string kept;
  int i = 1;
  do kept = e.file() + "." + std::to_string(i++);
  while (fs::exists(kept));
  fs::rename(e.file(), kept);
  std::printf("Yours is %s.\n", kept.c_str());
}

int exercise_command(const Args& args) {
  const Course course = read_course();
  const State state = read_state();
  const std::string word = args.empty() ? "" : args[0];
  if (const auto some = listed(course, word); !some.empty()) {
    list(some, state);
    return 0;
  }
  const Exercise& e = course.find(word);
  if (args.size() == 2) begin_again(e);
  const bool begun = !e.handed_in().empty() && fs::exists(e.file());
  if (begun)
    lay_out_card(e);
  else
    lay_out(e);
  std::printf("%s\n", card(e).c_str());
  if (begun)
    std::printf("%s is as you left it; make exercise n=%d again=1 begins anew.\n", e.file().c_str(), e.n);
  else
    std::printf("Laid out in %s.\n", e.dir().c_str());
  return 0;
}

int hint_command(const Args& args) {
  const Exercise e = exercise_named(args[0]);
  State state = read_state();
  Progress& p = state.of(e.number());
  if (p.hints < int(HINTS)) ++p.hints, state.save();
  std::printf("hint %d of %zu\n\n%s\n", p.hints, HINTS, e.hints.at(std::size_t(p.hints) - 1).c_str());
  return 0;
}

int solution_command(const Args& args) {
  const Exercise e = exercise_named(args[0]);
  State state = read_state();
  Progress& p = state.of(e.number());
  const bool give_up = args.size() == 2 && args[1] == "give-up";
  if (!p.done && !give_up)
    throw BadInput("exercise " + e.number() + " is not done; make solution n=" + std::to_string(e.n) +
                   " give-up=1 shows it all the same");
  if (!p.done && !p.gave_up) p.gave_up = true, state.save();
  std::printf("%s", solution_shown(e).c_str());
  return 0;
}

// desk-work own: a kernel of a learner's own, in work/own/NAME, which git ignores.

int own_command(const Args& args) {
  const std::string &name = args[0], from = args[1].empty() ? "blank" : args[1];
  const Ladder ladder = read_ladder();
  if (!is_own_name(name)) throw BadInput("name=" + name + ": made of a-z, 0-9, - and _, and begins with a letter");
  const std::vector<std::string> known = ladder.historical();
  if (ladder.stage(name) || std::ranges::find(known, name) != known.end())
    throw BadInput("name=" + name + " is the name of a stage; see 'make list'");
  const std::string dir = own_dir(name);
  if (fs::exists(dir)) throw BadInput(dir + " is there already; take another name, or rm -r " + dir);
  std::string source = BLANK, stage_dir;
  if (from != "blank") {
    const std::optional<Stage> own = own_kernel(from);
    const Stage* stage = own ? &*own : ladder.stage(from);
    if (!stage) ladder.bugs(from), throw BadInput("from=" + from + " never worked; see 'make list'");
    if (stage->is_backward())
      throw BadInput("from=" + from + ": an own kernel is one of the forward pass; begin with a v stage");
    source = own ? own_dir(from) : "stages/" + stage->dir;
    stage_dir = own ? stage->says("from") : stage->dir;
  }
  write_text(dir + "/kernel.cu", read_text(source + "/kernel.cu"));
  write_text(dir + "/stage.conf", own_conf(read_text(source + "/stage.conf"), "own: " + name, stage_dir));
  write_text(dir + "/notes.md", "");
  std::printf("Laid out in %s, %s: kernel.cu, stage.conf (target, needs, budgets), notes.md.\n", dir.c_str(),
              from == "blank" ? "an empty kernel (from=v2c8 copies a stage's)" : ("a copy of " + from + "'s").c_str());
  std::printf("    make stage=%s test         the acceptance and a short race check\n", name.c_str());
  std::printf("    make stage=%s racecheck    also: counters, trace, fuzz, run q= k= v= out=, resources, bench\n",
              name.c_str());
  return 0;
}

}  // namespace lab::desk
