// What the runner's commands on results and the search share: texts, words, one-line errors. They run from the repository's
// root, and are listed in commands.cpp. They bring the standard headers that nearly every file here uses.
#pragma once
#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reference/bad_input.hpp"

namespace lab::desk {

namespace fs = std::filesystem;

// The words after the command's name.
using Args = std::vector<std::string>;

// The whole file. Throws BadInput if it cannot be read.
std::string read_text(const std::string& path);

// Writes a file as a whole or not at all: a new file beside it takes its place. Makes the directories it needs.
void write_text(const std::string& path, const std::string& text);

// The same where the file does not hold just that already: what is older than it stays up to date.
void write_if_changed(const std::string& path, const std::string& text);

// The lines of a text, without their ends.
std::vector<std::string> lines_of(const std::string& text);

// The pieces between separators, each without blanks at its ends.
std::vector<std::string> split(const std::string& text, const std::string& separator);

// The pieces between blanks.
std::vector<std::string> words_of(const std::string& text);

// Without what `blanks` names at either end.
std::string trimmed(const std::string& text, const char* blanks = " ");

std::string joined(const std::vector<std::string>& pieces, const std::string& between);

// The text with every `old` replaced.
std::string replaced(std::string text, const std::string& old, const std::string& by);

// Where a piece stands in a text, which must be one place. Throws BadInput "WHO: 'PIECE' is not in WHERE".
std::size_t place_of(const std::string& piece, const std::string& text, const std::string& who,
                     const std::string& where = "kernel.cu");

// Lines "NAME REST", by name; of two of a name the last.
std::map<std::string, std::string> facts_in(const std::string& text);

// Of a log: its last line that is not empty, without blanks around it; its first line with one of some pieces. "" if there is none.
std::string last_line(const std::string& log);
std::string line_with(const std::string& log, const std::vector<std::string>& pieces);

// Adds a word that the list does not have.
void add_once(std::vector<std::string>& list, const std::string& word);

// The files of a folder with that ending, such as ".patch", sorted; none where there is no such folder.
std::vector<fs::path> files_in(const fs::path& folder, std::string_view ending);

// How many times a character is put in, taken out, replaced or swapped with its neighbour to turn one word into the
// other (optimal string alignment: no piece is edited twice).
std::size_t edit_distance(const std::string& a, const std::string& b);

// The `count` nearest of `names` to `word`, nearest first, equally near ones by name; each name once.
std::vector<std::string> nearest(const std::string& word, std::vector<std::string> names, std::size_t count = 3);

// The order of version numbers, as sort -V has it: runs of digits compare as numbers, so that v2 < v2b < v2c3 < v10. A name
// that is no version comes last: a stage's directory that was copied to stages/mine grows out of every stage.
bool version_less(const std::string& a, const std::string& b);

// A command of a program. Returns the exit status: 0 good, 1 red. Throws BadInput for what becomes one line on standard error and
// status 2.
using Run = int(const Args& args);
struct Command {
  const char* name;
  Run* run;
  const char* usage;  // its words: NAME one, [NAME] one or none, NAME... one or more
  const char* help;
};

// The first of `args` names the command. Exit status 0 good, 1 red, 2 bad input, with one line on standard error.
int dispatch(const char* program, std::span<const Command> commands, std::span<char*> args);

}  // namespace lab::desk
