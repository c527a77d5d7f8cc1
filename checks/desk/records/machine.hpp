// A measurement's record of its machine and tree.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace lab::desk {

// One field of `nvidia-smi --query-gpu=` for the first GPU; "" where there is none.
std::string gpu_field(const std::string& field);

std::string nvcc_release();  // "13.0", or ""

// The commit of the tree, with -dirty behind it if it was; LAB_COMMIT in the environment stands for a copy without git.
std::string commit();

std::string utc_time();  // "2026-11-21T10:47:36Z"

std::string host();  // kernel, processor, cores

// All of it: date, commit, machine, gpu, driver, cuda.
std::vector<std::pair<std::string, std::string>> measured_on();

}  // namespace lab::desk
