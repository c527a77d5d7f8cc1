#include "checks/acceptance/fault.hpp"

#include <algorithm>

#include "checks/acceptance/format.hpp"

namespace lab {

static std::string error_text(cudaError_t error) {
  return format("%s (%s)", cudaGetErrorName(error), cudaGetErrorString(error));
}

std::vector<Fault> faults_of(const Ran& ran, std::size_t blocks) {
  const std::string message = ran.report.message.empty() ? "" : ": " + ran.report.message;
  std::vector<Fault> faults;
  if (ran.returned != cudaSuccess)
    faults.push_back({Tells::failure, "launch refused: " + error_text(ran.returned) + message});
  else if (ran.last != cudaSuccess)
    faults.push_back(
        {Tells::failure, "launch() returned success, but cudaGetLastError() " + error_text(ran.last) + message});
  else if (ran.finished != cudaSuccess)
    faults.push_back({Tells::failure, "kernel failed: " + error_text(ran.finished) + message});
  else if (!message.empty())
    faults.push_back({Tells::failure, "no error code, yet the backend says" + message});
  // The launch that a deadlock ends has said so.
  for (const Finding& finding : ran.report.findings)
    faults.push_back({Tells::finding, finding.text, !faults.empty() && finding.kind == Finding::Kind::deadlock});
  if (ran.ok() && blocks && ran.report.blocks_run != blocks)
    faults.push_back({Tells::failure, format("%llu blocks ran, not the %zu asked for",
                                             (unsigned long long)ran.report.blocks_run, blocks)});
  faults.insert(faults.end(), ran.strays.begin(), ran.strays.end());
  return faults;
}

std::string launched_elsewhere(const ExecReport& report, cudaStream_t given) {
  const auto elsewhere = std::ranges::count_if(report.launched, [&](const Launched& l) { return l.stream != given; });
  return elsewhere == 0 ? ""
                        : format("%td of %zu kernels were launched on another stream than the one given", elsewhere,
                                 report.launched.size());
}

std::string written_elsewhere(const Shape& shape, std::span<const RowBlock> rows, std::span<const fp16> out) {
  const std::size_t D = std::size_t(shape.D);
  std::size_t written = 0, row = 0, first = 0;
  const auto skip_to = [&](std::size_t end) {
    for (; row < end; ++row)
      for (std::size_t col = 0; col < D; ++col)
        if (out[row * D + col] != FP16_NAN && written++ == 0) first = row;
  };
  for (const RowBlock& block : rows) {
    skip_to(std::size_t(block.head) * std::size_t(shape.S) + std::size_t(block.first));
    row += std::size_t(block.rows);
  }
  skip_to(shape.rows());
  if (written == 0) return "";
  return format("%zu elements written that belong to blocks that did not run, first in row %zu of [B*H*S]", written,
                first);
}

}  // namespace lab
