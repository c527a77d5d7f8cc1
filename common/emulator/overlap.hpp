// The CPU's side of common/overlap.hpp: each call runs on an OS thread of its own, and one of them at a time. Its launch
// hands the turn on before each block.
#pragma once

namespace lab::cpu {

// The call that the running thread belongs to: a launch's workers belong to the caller's. -1: none overlap.
int overlapping_call();
void join_overlapping_call(int call);
// Another call's blocks may run first.
void before_block();

}  // namespace lab::cpu
