// The checker's rules of wgmma: each kernel of test_wgmma_kernels.cpp under every schedule, and whenever products
// happen.
#include "checks/tests/instrumented.hpp"
#include "checks/tests/test_exec.hpp"
#include "checks/tests/test_sm80.hpp"
#include "checks/tests/test_wgmma_kernels.hpp"

using namespace lab;
using sm80_tests::findings;
using sm80_tests::texts;
using Kind = Finding::Kind;

namespace {

const std::string FILE_NAME = "checks/tests/test_wgmma_kernels.cpp";

struct Run {
  const char* name;
  wgmma_kernels::Kernel* kernel;
};
#define WGMMA(kernel) #kernel, lab::wgmma_kernels::kernel

template <class Body>
void under_everything(Body body) {
  for (const Copies products : {Copies::at_wait, Copies::at_issue, Copies::random})
    under_all_schedules([&](ExecOptions options) {
      options.products = products;
      CAPTURE(std::string(name(products)));
      body(options);
    });
}

std::vector<Finding> findings_of(const Run& run, const ExecOptions& options) {
  return findings({run.name, run.kernel, 128, wgmma_kernels::SMEM}, options);
}

void silent(const Run& run) {
  under_everything([&](const ExecOptions& options) {
    const auto found = findings_of(run, options);
    CHECK_MESSAGE(found.empty(), run.name << ":\n" << texts(found));
  });
}

struct Expected {
  Kind kind;
  const char* first;  // mark of the earlier side; "" if there is none
  const char* second;
  const char* where;
  const char* words;
};

// One finding, the same whatever the schedule.
void told(const Run& run, const Expected& expected) {
  under_everything([&](const ExecOptions& options) {
    const auto found = findings_of(run, options);
    CAPTURE(run.name);
    CAPTURE(texts(found));
    REQUIRE(found.size() == 1);
    const Finding& f = found[0];
    CHECK(std::string(name(f.kind)) == name(expected.kind));
    CHECK(f.second.line == line_of(run.name, expected.second, FILE_NAME));
    CHECK(f.second.file == FILE_NAME);
    CHECK(f.first.valid == (expected.first[0] != 0));
    if (f.first.valid) CHECK(f.first.line == line_of(run.name, expected.first, FILE_NAME));
    CHECK(f.where == expected.where);
    CHECK_CONTAINS(f.text, expected.words);
  });
}

// At least this one, always.
void told_somehow(const Run& run, Kind kind, const char* first, const char* second) {
  under_everything([&](const ExecOptions& options) {
    const auto found = findings_of(run, options);
    CAPTURE(run.name);
    CAPTURE(texts(found));
    bool seen = false;
    for (const Finding& f : found)
      seen = seen || (f.kind == kind && f.first.line == line_of(run.name, first, FILE_NAME) &&
                      f.second.line == line_of(run.name, second, FILE_NAME));
    CHECK(seen);
  });
}

}  // namespace

TEST_CASE("wgmma rules: what is right is silent" * instrumented()) {
  silent({WGMMA(one_product)});
  silent({WGMMA(two_groups_in_flight)});
  silent({WGMMA(accumulators_untouched)});
  silent({WGMMA(scores_become_operand)});
  silent({WGMMA(products_in_turn)});
  silent({WGMMA(a_shared_then_changed)});
}

TEST_CASE("wgmma rules: neither D nor A may be read or changed before the wait" * instrumented()) {
  const char* const writes = "a wgmma that no thread has waited for may still write this register";
  told({WGMMA(read_at_once)}, {Kind::read_before_wait, "product", "touch", "D[5]", writes});
  told({WGMMA(wait_one_too_few)}, {Kind::read_before_wait, "product", "touch", "D[5]", writes});
  told({WGMMA(wait_before_commit)},
       {Kind::read_before_wait, "product", "touch", "D[5]", "the wait came before its group was committed"});
  told({WGMMA(d_overwritten)}, {Kind::changed_before_wait, "product", "touch", "D[7]", writes});
  const char* const reads = "a wgmma that no thread has waited for may still read this register";
  told({WGMMA(a_overwritten)}, {Kind::changed_before_wait, "product", "touch", "A[0]", reads});
  told({WGMMA(a_place_reused)}, {Kind::changed_before_wait, "product", "touch", "A[2]", reads});
  told({WGMMA(a_read_in_flight)}, {Kind::read_before_wait, "product", "touch", "A[3]", reads});
  told({WGMMA(a_changed_unwatched)},
       {Kind::changed_before_wait, "", "product", "A[1]", "does not hold what it held at the issue"});
}

TEST_CASE("wgmma rules: a fence before the first product, and after registers were touched" * instrumented()) {
  told({WGMMA(no_fence_at_all)}, {Kind::fence_missing, "", "product", "", "before the warp's first product"});
  told({WGMMA(d_touched_after_fence)},
       {Kind::fence_missing, "touch", "product", "D", "no wgmma_fence between this access to D and the product"});
  told({WGMMA(a_packed_after_fence)},
       {Kind::fence_missing, "touch", "product", "A", "no wgmma_fence between this access to A and the product"});
  told({WGMMA(d_read_then_product)}, {Kind::fence_missing, "touch", "product", "D", "this access to D"});
  told({WGMMA(shape_changed)}, {Kind::fence_missing, "touch", "product", "D", "different shape"});
}

TEST_CASE("wgmma rules: every product is committed and waited for" * instrumented()) {
  told({WGMMA(never_waited)}, {Kind::in_flight, "", "product", "", "returns without having waited for this product"});
  told({WGMMA(never_committed)}, {Kind::in_flight, "", "product", "", "whose group was never committed"});
}

TEST_CASE("wgmma rules: shared operands are being read until the wait" * instrumented()) {
  const Run run{WGMMA(operand_overwritten)};
  under_everything([&](const ExecOptions& options) {
    const auto found = findings_of(run, options);
    CAPTURE(texts(found));
    REQUIRE(found.size() == 1);
    CHECK(found[0].kind == Kind::race_inter_warp);
    CHECK(found[0].hazard == "WAR");
    CHECK(found[0].first.line == line_of(run.name, "product", FILE_NAME));
    CHECK(found[0].second.line == line_of(run.name, "write", FILE_NAME));
  });
}

TEST_CASE("wgmma rules: operands that threads wrote are fenced, by all who wrote, and then a barrier" *
          instrumented()) {
  told_somehow({WGMMA(no_proxy_fence)}, Kind::proxy, "write", "product");
  told_somehow({WGMMA(no_barrier)}, Kind::race_inter_warp, "write", "product");
}
