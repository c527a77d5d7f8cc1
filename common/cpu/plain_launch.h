// Launches and __shared__ declarations, as the front end (common/frontend) writes them.
#pragma once
#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>

#include "common/emulator/launch.hpp"
#include "cuda_runtime.h"

namespace lab::plain {

template <class... T>
struct Types {};

// The kernel's address, by which its attributes are known: of the one function of that name, or of the one instance of a
// template that takes these arguments.
template <class Any, class... Parameters>
const void* address_of_one(Any, void (*kernel)(Parameters...)) {
  return reinterpret_cast<const void*>(kernel);
}
template <class... Arguments>
const void* address_of_instance(Types<Arguments...>, std::type_identity_t<void (*)(Arguments...)> kernel) {
  return reinterpret_cast<const void*>(kernel);
}

// A kernel that is asked for its __cluster_dims__ answers and returns.
inline thread_local dim3* asking = nullptr;
inline bool asked(dim3 cluster) {
  if (asking) *asking = cluster;
  return asking != nullptr;
}

// kernel<<<grid, block, smem, stream>>>(arguments...). The error stays for cudaGetLastError().
class Launch {
 public:
  Launch(const char* name, dim3 cluster, dim3 grid, dim3 block, std::size_t smem = 0, cudaStream_t stream = nullptr,
         bool overlaps_previous = false)
      : config_{name, nullptr, grid, block, smem, cluster, overlaps_previous, stream} {}
  template <class Call, class Address, class... Arguments>
  cudaError_t run(Call call, Address address, Arguments... arguments) const {
    cpu::LaunchConfig config = config_;
    if (config.cluster.x == 0) asking = &config.cluster, call(arguments...), asking = nullptr;
    config.kernel = address(Types<Arguments...>{});
    config.arguments = {cpu::pointer_or_null(arguments)...};
    return start(config, [=] { call(arguments...); });
  }

 private:
  static cudaError_t start(const cpu::LaunchConfig& config, const std::function<void()>& thread);
  cpu::LaunchConfig config_;
};

// "attention<64>", of the kernel as the source spells it, attention<D>, in a function whose __PRETTY_FUNCTION__ ends in
// "[with int D = 64]". What is returned stays.
const char* instance(const char* kernel, const char* function);

// An array, as reports name its elements: K[1][0][17][40].
struct ArrayType {
  std::size_t element, bytes;
  const int* extents;
  int rank;
};
template <class Variable, std::size_t... I>
inline constexpr int extents_of[] = {int(std::extent_v<Variable, I>)..., 0};
template <class Variable>
ArrayType array_type() {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    return ArrayType{sizeof(std::remove_all_extents_t<Variable>), sizeof(Variable), extents_of<Variable, I...>,
                     int(sizeof...(I))};
  }
  (std::make_index_sequence<std::rank_v<Variable>>{});
}

void* place_shared(const void* declaration, const char* name, const ArrayType& type, std::size_t align);
void* place_dynamic(const char* name, std::size_t element);
void tell_member(const void* at, const char* name, const ArrayType& type);

template <class Declaration>
inline constexpr char of_declaration = 0;
// A static variable of shared memory. `Declaration` is a struct with it as its only member: a type of the place where
// it is declared, and with its alignment.
template <class Declaration, class Variable>
Variable& shared_variable(const char* name) {
  return *static_cast<Variable*>(
      place_shared(&of_declaration<Declaration>, name, array_type<Variable>(), alignof(Declaration)));
}
// extern __shared__ T name[]: where the launch's dynamic shared memory begins.
template <class T>
T* dynamic_shared(const char* name) {
  return static_cast<T*>(place_dynamic(name, sizeof(T)));
}

// reinterpret_cast<T>(shared), of a struct that shared memory is read as: its members get their names.
template <class T, class From>
T members_told(From&& from) {
  const T to = reinterpret_cast<T>(from);
  using Struct = std::remove_pointer_t<T>;
  if constexpr (std::is_class_v<Struct>)
    Struct::lab_members([&]<class Of, class Member>(const char* name, Member Of::*member) {
      tell_member(&(to->*member), name, array_type<Member>());
    });
  return to;
}

// So many blocks fit a multiprocessor that a persistent kernel gets one for each piece of work: then a sample of blocks is
// a sample of pieces. Where ExecOptions::multiprocessors says how many there are, a GPU's number fits.
bool any_number_of_blocks();

void written(const void* to, std::size_t bytes);  // by the host, or perhaps
void returns();                                   // the thread leaves its kernel by a return statement
void at_site(int site);  // the thread comes to this __syncthreads of the source; they are numbered from 1
void looked(const void* word, std::size_t bytes);   // by a volatile load of inline PTX: it may be a spin's
void released();                                    // by an atomic of inline PTX with .release: another block may go on
std::uint32_t shared_address(const void* pointer);  // in the block's window, as a 32-bit register holds it
void* shared_pointer(std::uint32_t address);        // the other way
void* shared_of_rank(void* mine, unsigned rank);    // the same place in another block of the cluster

}  // namespace lab::plain

inline std::size_t __cvta_generic_to_shared(const void* pointer) { return lab::plain::shared_address(pointer); }
inline void* __cvta_shared_to_generic(std::size_t address) {
  return lab::plain::shared_pointer(std::uint32_t(address));
}
inline std::size_t __cvta_generic_to_global(const void* pointer) { return reinterpret_cast<std::size_t>(pointer); }
