#include <random>

#include "checks/desk/learn/learn.hpp"
#include "common/number.hpp"

namespace lab::desk {
namespace {

// Local names of the stages' kernels, and what else they are called. A name that a card or a hint mentions stays.
struct Name {
  std::string_view is;
  std::string_view other[2];
};
constexpr Name NAMES[] = {
    {"q0", {"first_query", "query_begin"}},         {"first_row", {"top_row", "row_begin"}},
    {"quad_row", {"lane_row", "row_of_quad"}},      {"first_column", {"lane_column", "column_begin"}},
    {"tile_max", {"largest", "max_of_tile"}},       {"old_max", {"max_before", "previous_max"}},
    {"new_max", {"max_after", "next_max"}},         {"rescale", {"shrink", "old_factor"}},
    {"scale_log2", {"log2_scale", "scale_base_2"}},
};
constexpr int CHOICES = 3;  // for each name: as it is, and two others
constexpr int NAMINGS = 19683;
static_assert(std::size(NAMES) == 9);  // 3 to the power of 9
constexpr int LEAST_LEAD = 2, LEADS = 40;
constexpr int SHORTEST = 192, LENGTHS = 8;  // the keys of a block that is counted, in steps of 64

// `old` as a whole word; what stands for it, if anything, and how often it is there.
int replace_word(std::string& text, std::string_view old, std::string_view by) {
  int found = 0;
  for (std::size_t at = 0; (at = text.find(old, at)) != text.npos;) {
    const std::size_t end = at + old.size();
    const bool whole = (at == 0 || !in_name(text[at - 1])) && (end == text.size() || !in_name(text[end]));
    if (whole) ++found, text.replace(at, old.size(), by);
    at += whole ? by.size() : old.size();
  }
  return found;
}

bool mentions(const std::string& text, std::string_view word) {
  std::string copy = text;
  return replace_word(copy, word, word) > 0;
}

int whole(const std::string& text, int most) {
  if (const auto value = number_in<int>(text, 0, most)) return *value;
  throw BadInput("'" + text + "' is no whole number from 0 to " + std::to_string(most));
}

bool kernel_varies(const Exercise& e) { return e.handed_in() == "kernel.cu" && !e.is_drill(); }

// Of "RIGHT :: OLD => NEW": both parts.
std::pair<std::string, std::string> parts_of(const std::string& text, const std::string& between,
                                             const std::string& path) {
  const std::size_t at = text.find(between);
  if (at == text.npos) throw BadInput(path + ": `variant: " + text + "`: must be RIGHT :: OLD => NEW");
  return {text.substr(0, at), text.substr(at + between.size())};
}

// A name a line, as a folder can have it.
std::vector<std::string> students_in(const std::string& file) {
  std::vector<std::string> all;
  for (const std::string& line : lines_of(read_text(file))) {
    const std::string name = trimmed(line, " \t\r");
    if (name.empty()) continue;
    const auto allowed = [](unsigned char c) {
      return std::isalnum(c) || c == '_' || c == '-' || c == '@' || c == '.';
    };
    if (!std::ranges::all_of(name, allowed) || name[0] == '.')
      throw BadInput(file + ": '" + name + "': a student's name here is made of letters, digits, . _ - @");
    if (std::ranges::find(all, name) != all.end()) throw BadInput(file + ": " + name + " is there twice");
    all.push_back(name);
  }
  if (all.empty()) throw BadInput(file + " names no student");
  return all;
}

// The same for the same seed and name, on every machine.
std::mt19937_64 dice(std::uint64_t seed, const std::string& name) {
  std::vector<std::uint32_t> from = {std::uint32_t(seed), std::uint32_t(seed >> 32)};
  for (const char c : name) from.push_back(std::uint8_t(c));
  std::seed_seq mixed(from.begin(), from.end());
  return std::mt19937_64(mixed);
}

// "20/21": one of them.
const Exercise& drawn_from(const Course& course, const std::string& alternatives, std::uint64_t drawn) {
  std::string words = alternatives;
  std::ranges::replace(words, '/', ' ');
  const std::vector<std::string> all = words_of(words);
  if (all.empty()) throw BadInput("'" + alternatives + "' names no exercise");
  for (const std::string& word : all) course.find(word);
  return course.find(all[drawn % all.size()]);
}

}  // namespace

std::string variant_of(const Exercise& e, std::uint64_t drawn) {
  const auto draw = [&](std::uint64_t among) {
    const std::uint64_t one = drawn % among;
    drawn /= among;
    return std::to_string(one);
  };
  std::string words;
  if (kernel_varies(e)) {
    words = " lead=" + std::to_string(LEAST_LEAD + std::stoi(draw(LEADS))) + " names=" + draw(NAMINGS);
    if (!e.variants.empty()) words += " edit=" + draw(e.variants.size());
  }
  // Never the length that the file asks for: its answer is in the repository.
  if (e.predict == "counts") {
    const std::string shape = "1,1," + std::to_string(SHORTEST + 64 * std::stoi(draw(LENGTHS))) + ",64";
    words += " shape=" + (shape == e.shape ? "1,1," + std::to_string(SHORTEST + 64 * LENGTHS) + ",64" : shape);
  }
  return words.empty() ? "" : e.number() + words;
}

void vary(Exercise& e, const std::string& words) {
  for (const std::string& word : words_of(words)) {
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string key = word.substr(0, equals), value = word.substr(std::min(equals + 1, word.size()));
    if (key == "lead" && kernel_varies(e)) {
      e.lead = whole(value, LEAST_LEAD + LEADS);
    } else if (key == "names" && kernel_varies(e)) {
      std::string said = e.symptom + " " + e.right + " " + e.asks;
      for (const std::string& text : e.questions) said += " " + text;
      for (const std::string& text : e.hints) said += " " + text;
      int rest = whole(value, NAMINGS - 1);
      for (const Name& name : NAMES) {
        const int choice = rest % CHOICES;
        rest /= CHOICES;
        if (choice > 0 && !mentions(said, name.is)) e.renamed.emplace_back(name.is, name.other[choice - 1]);
      }
    } else if (key == "edit" && !e.variants.empty()) {
      const auto [right, edit] =
          parts_of(e.variants[std::size_t(whole(value, int(e.variants.size()) - 1))], " :: ", e.path);
      e.right = right, e.edit = parts_of(edit, " => ", e.path);
    } else if (key == "shape" && e.predict == "counts") {
      const std::size_t at = e.symptom.find("(" + e.shape + ")");
      if (at != e.symptom.npos) e.symptom.replace(at + 1, e.shape.size(), value);
      for (std::string& hint : e.hints) hint = "(A hint for shape=" + e.shape + "; yours is " + value + ".)\n" + hint;
      e.shape = value;
    } else {
      throw BadInput("'" + word + "' is no variant of exercise " + e.number());
    }
  }
}

std::string varied(const Exercise& e, const std::string& source) {
  std::string text = source;
  if (!e.edit.first.empty()) {
    const std::size_t at = place_of(e.edit.first, text, e.path + ": `variant:`");
    text.replace(at, e.edit.first.size(), e.edit.second);
  }
  for (const auto& [old, by] : e.renamed)
    if (!mentions(text, by)) replace_word(text, old, by);
  std::string lead;
  for (int line = 0; line < e.lead; ++line)
    lead += line == 0 ? "// One student's own: names and lines differ.\n" : "\n";
  return lead + text;
}

Course varied_course(const std::string& file) {
  Course course = read_course();
  if (!fs::exists(file)) return course;
  int line = 0;
  for (const std::string& text : lines_of(read_text(file))) {
    ++line;
    const std::vector<std::string> words = words_of(text);
    if (words.empty()) continue;
    try {
      const int n = course.find(words[0]).n;
      Exercise& e = *std::ranges::find(course.all, n, &Exercise::n);
      vary(e, text.substr(text.find(words[0]) + words[0].size()));
    } catch (const BadInput& wrong) {
      throw BadInput(file + ":" + std::to_string(line) + ": " + wrong.what());
    }
  }
  return course;
}

// desk-work variants: a hand-out per student, each with variants of its own, and the key apart from them.

Exercise exercise_named(const std::string& word) { return varied_course().find(word); }

int variants_command(const Args& args) {
  const std::string &make = args[0], &out = args[4];
  const std::vector<std::string> students = students_in(args[1]);
  const std::uint64_t seed = seed_of(args[2]);
  const Course course = read_course();
  const std::string assigned = fs::is_regular_file(args[3]) ? read_text(args[3]) : args[3];
  std::string key = "student\texercise\tgrade with\tvariant\tprediction\n";
  std::vector<std::pair<std::string, std::string>> files;
  for (const std::string& student : students) {
    std::mt19937_64 random = dice(seed, student);
    const std::string own = "variant=" + out + "/key/" + student + " seed=" + std::to_string(random() % 1'000'000'000u);
    std::string lines;
    std::set<int> given;
    for (const std::string& word : words_of(assigned)) {
      const std::uint64_t which = random(), how = random();
      Exercise e = drawn_from(course, word, which);
      if (!given.insert(e.n).second) throw BadInput("exercise " + e.number() + " is assigned twice");
      const std::string line = variant_of(e, how);
      if (!line.empty()) vary(e, line.substr(line.find(' ')));
      // With no variant it is named all the same: the list of what this student has.
      lines += (line.empty() ? e.number() : line) + "\n";
      const std::string folder = out + "/students/" + student + "/" + e.number() + "/";
      files.emplace_back(folder + "CARD.md", card(e));
      if (!e.handed_in().empty()) files.emplace_back(folder + e.handed_in(), handed_out(e));
      if (!e.questions.empty()) files.emplace_back(folder + "ANSWERS.md", answers_sheet(e));
      key += student + "\t" + e.number() + "\t" + own + "\t" + (line.empty() ? "-" : line) + "\t" +
             (e.predict == "none"     ? "-"
              : e.predict == "counts" ? counted(e, make)
                                      : as_typed(e, e.right)) +
             "\n";
    }
    files.emplace_back(out + "/students/" + student + "/variant", lines);
    files.emplace_back(out + "/key/" + student, lines);
  }
  if (fs::exists(out)) throw BadInput(out + " is there already; take another folder, or delete it");
  for (const auto& [path, text] : files) write_text(path, text);
  write_text(out + "/key/key.tsv", key);
  std::printf("%zu students: each one's folder %s/students/NAME is the folder work/ of a clone.\n", students.size(),
              out.c_str());
  std::printf("%s/key is yours: key.tsv has every prediction, and the words that grade a student's work.\n",
              out.c_str());
  return 0;
}

}  // namespace lab::desk
