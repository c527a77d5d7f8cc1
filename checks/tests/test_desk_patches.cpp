// The desk on patches: shown, renewed, and written back from a working copy. In a scratch tree of its own.
#include <doctest/doctest.h>
#include <unistd.h>

#include "checks/desk/ladder.hpp"
#include "checks/tests/scratch.hpp"

using lab::has;
using namespace lab::desk;

namespace {

const std::string KERNEL = "stages/v1_s/kernel.cu", PATCH = "stages/v1_s/bugs/slip.patch";
const std::string SOURCE = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nm\nn\n";

struct ScratchTree : lab::Scratch {
  ScratchTree() : Scratch("patches") {
    write("stages/v1_s/stage.conf", "idea=\"one\"\n");
    write(KERNEL, SOURCE);
    write(PATCH, "plants: D for d\npredicted: D\nalso: v0 v0b\n\n" + unified_diff(SOURCE, planted(), KERNEL));
  }
  static std::string planted() { return replaced(replaced(SOURCE, "d\n", "D\n"), "m\n", "M\n"); }
  std::vector<Surveyed> survey(bool renew = false) const { return survey_patches(root.string(), renew); }
  Workbench open(const std::string& bug = "slip", bool fresh = false) const {
    return open_workbench(root.string(), "v1_s", bug, fresh);
  }
  std::string save(const std::string& bug = "slip") const { return save_workbench(root.string(), "v1_s", bug); }
};

const std::string COPY = "build/edit/v1_s-slip/kernel.cu", HEAD = "build/edit/v1_s-slip/head";

}  // namespace

TEST_CASE("a diff names the kernel and nothing else; none of equal texts") {
  CHECK(unified_diff(SOURCE, SOURCE, KERNEL) == "");
  CHECK(unified_diff("a\n", "b\n", "stages/v1_s/kernel.cu") ==
        "--- a/stages/v1_s/kernel.cu\n+++ b/stages/v1_s/kernel.cu\n@@ -1 +1 @@\n-a\n+b\n");
}

TEST_CASE("lines that moved are renewed on request, and the head is kept") {
  const ScratchTree tree;
  tree.write(KERNEL, "new\n" + SOURCE);
  const std::string before = tree.read(PATCH);
  REQUIRE(before.find("@@ -1,") != before.npos);
  CHECK(tree.survey()[0].moved);
  CHECK(tree.survey()[0].wrong == "");
  CHECK(tree.read(PATCH) == before);
  tree.survey(true);
  CHECK_FALSE(tree.survey()[0].moved);
  const Patch renewed = read_patch(tree.path(PATCH));
  CHECK(renewed.head == "plants: D for d\npredicted: D\nalso: v0 v0b\n");
  CHECK(patched_text(renewed, tree.read(KERNEL)) == "new\n" + ScratchTree::planted());
}

TEST_CASE("the working copy is the patched kernel, and an edit of it goes back into the patch") {
  const ScratchTree tree;
  const Workbench bench = tree.open();
  CHECK(bench.kernel == COPY);
  CHECK_FALSE(bench.continued);
  CHECK(bench.rejected.empty());
  CHECK(tree.read(COPY) == ScratchTree::planted());
  tree.write(COPY, replaced(ScratchTree::planted(), "M\n", "MM\n"));
  CHECK(tree.save() == PATCH);
  const Patch saved = read_patch(tree.path(PATCH));
  CHECK(saved.head == "plants: D for d\npredicted: D\nalso: v0 v0b\n");
  CHECK(patched_text(saved, SOURCE) == tree.read(COPY));
  CHECK(tree.read(KERNEL) == SOURCE);
}

TEST_CASE("unsaved work is never overwritten") {
  const ScratchTree tree;
  tree.open();
  const std::string work = replaced(ScratchTree::planted(), "a\n", "A\n");
  tree.write(COPY, work);
  CHECK(tree.open().continued);
  CHECK(tree.read(COPY) == work);
  tree.write(KERNEL, SOURCE + "o\n");
  CHECK_THROWS_WITH_AS(tree.open(), doctest::Contains("unsaved work"), lab::BadInput);
  const std::string before = tree.read(PATCH);
  CHECK_THROWS_WITH_AS(tree.save(), doctest::Contains("has changed since"), lab::BadInput);
  CHECK(tree.read(COPY) == work);
  CHECK(tree.read(PATCH) == before);
}

TEST_CASE("a copy nobody edited follows its kernel and its patch") {
  const ScratchTree tree;
  tree.open();
  tree.write(KERNEL, "new\n" + SOURCE);
  CHECK_FALSE(tree.open().continued);
  CHECK(tree.read(COPY) == "new\n" + ScratchTree::planted());
}

TEST_CASE("of a stale patch the copy has what still applies, and the rest is named") {
  const ScratchTree tree;
  tree.write(KERNEL, replaced(SOURCE, "m\n", "other\n"));
  const Workbench bench = tree.open();
  REQUIRE(bench.rejected.size() == 1);
  CHECK(has(bench.rejected[0], "slip.patch:16: "));
  CHECK(tree.read(COPY) == replaced(replaced(SOURCE, "d\n", "D\n"), "m\n", "other\n"));
}

TEST_CASE("nothing is saved that is no patch") {
  const ScratchTree tree;
  CHECK_THROWS_WITH_AS(tree.save(), doctest::Contains("edit-bug bug=slip makes it"), lab::BadInput);
  tree.open();
  const std::string before = tree.read(PATCH);
  tree.write(COPY, SOURCE);
  CHECK_THROWS_WITH_AS(tree.save(), doctest::Contains("nothing to save"), lab::BadInput);
  tree.write(COPY, ScratchTree::planted());
  tree.write(HEAD, "plants: x\n");
  CHECK_THROWS_WITH_AS(tree.save(), doctest::Contains("predicted"), lab::BadInput);
  tree.write(HEAD, "plants: x\npredicted: y\nnonsense\n");
  CHECK_THROWS_WITH_AS(tree.save(), doctest::Contains("head:3: "), lab::BadInput);
  CHECK(tree.read(PATCH) == before);
}

TEST_CASE("a new bug begins from the correct kernel with a head to fill in") {
  const ScratchTree tree;
  CHECK_THROWS_WITH_AS(tree.open("slip", true), doctest::Contains("is there already"), lab::BadInput);
  CHECK_THROWS_WITH_AS(tree.open("../slip", true), doctest::Contains("a bug's name"), lab::BadInput);
  tree.open("trip", true);
  const std::string copy = "build/edit/v1_s-trip/kernel.cu", head = "build/edit/v1_s-trip/head";
  CHECK(tree.read(copy) == SOURCE);
  tree.write(copy, replaced(SOURCE, "a\n", "A\n"));
  CHECK_THROWS_WITH_AS(tree.save("trip"), doctest::Contains("head:1: "), lab::BadInput);
  CHECK_FALSE(std::filesystem::exists(tree.path("stages/v1_s/bugs/trip.patch")));
  tree.write(head, "plants: A for a\npredicted: A\n");
  CHECK(tree.save("trip") == "stages/v1_s/bugs/trip.patch");
  CHECK(tree.survey().size() == 2);
  CHECK(tree.survey()[1].wrong == "");
}

TEST_CASE("a patch for reading: the head in words, the diff as it is, colours only where asked") {
  const ScratchTree tree;
  const Patch patch = read_patch(tree.path(PATCH));
  const std::string text = tree.read(PATCH), plain = readable(patch, text, "v1_s", "slip", false);
  CHECK(plain.starts_with("slip, a bug of v1_s\n"));
  CHECK(has(plain, "  plants:    D for d\n"));
  CHECK(has(plain, "  also in:   v0, v0b of the source notes\n"));
  CHECK(plain.ends_with(text.substr(text.find("--- a/"))));
  CHECK(!has(plain, "\033"));
  const std::string coloured = readable(patch, text, "v1_s", "slip", true);
  CHECK(has(coloured, "\033[31m-d\033[0m"));
  CHECK(has(coloured, "\033[32m+D\033[0m"));
}
