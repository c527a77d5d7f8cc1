// One case of the acceptance: its launches, what they did beside computing, and the comparison with the oracle.
#pragma once
#include <string>
#include <vector>

#include "checks/acceptance/cases.hpp"
#include "checks/acceptance/comparison.hpp"
#include "checks/acceptance/launch.hpp"

namespace lab {

struct CaseResult {
  Case test;
  std::vector<Fault> problems;                       // empty: green
  std::vector<std::string> map;                      // of the first output with wrong numbers
  Comparison compared;                               // with the oracle
  std::size_t checked = 0, repeated = 0, total = 0;  // clusters of the launch, blocks mostly
  bool skipped = false;  // this machine cannot run it, or the kernel does not take it; `note` says why
  std::string note;      // or what else its line says
  std::string hang;      // the first wait of a launch that hangs, as data
  int launches = 0;
  bool green() const { return problems.empty(); }
};

// `number` is the case's place among all, for turns. Throws StillRuns.
CaseResult run_case(const Subject& subject, const Case& test, std::size_t number, const AcceptanceOptions& options);

// What is reported of a result, as text of one line, for the process that does so, which knows the case.
std::string text_of(const CaseResult& result);
CaseResult result_of(std::string text, const Case& test);

}  // namespace lab
