// The checker's hooks for wgmma, without wgmma: a reading of shared memory by the asynchronous proxy, and its wait.
#pragma once
namespace lab::async_tests {

// All lanes of `warps` warps, the caller's the first of them, call both. One number per block.
void product_issue(const void* shared, int bytes, int warps);
void product_wait(int warps);
void reset_products();  // between launches

}  // namespace lab::async_tests
