// The desk: host programs for what parses, formats, keeps state or decides; the Makefile and the shell only start
// things. They run from the repository's root. build/desk stays quick to build and to start: make asks it at every
// call; build/desk-work and build/desk-records are built where a target needs them. To add a command: declare its
// function and give it a line in main.cpp, work/main.cpp or records/main.cpp, and a test_desk_*.cpp.
#pragma once
#include <string>
#include <vector>

#include "reference/bad_input.hpp"

namespace lab::desk {

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

// Whether a name in C++ may have it.
bool in_name(char c);

// Without what `blanks` names at either end.
std::string trimmed(const std::string& text, const char* blanks = " ");

std::string joined(const std::vector<std::string>& pieces, const std::string& between);

// FNV-1a of the texts, one after the other, in 16 digits.
std::string hash_of(const std::vector<std::string>& texts);

}  // namespace lab::desk
