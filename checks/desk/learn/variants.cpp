// desk-work variants: a hand-out per student, each with variants of its own, and the key apart from them.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <random>
#include <set>

#include "checks/desk/desk.hpp"
#include "checks/desk/learn/checks.hpp"
#include "checks/desk/learn/handout.hpp"
#include "checks/desk/learn/points.hpp"
#include "checks/desk/learn/prediction.hpp"
#include "checks/desk/learn/variant.hpp"

namespace lab::desk {
namespace {

namespace fs = std::filesystem;

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
