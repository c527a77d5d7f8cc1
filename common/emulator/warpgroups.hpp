// wgmma on the CPU: the products that a block's warpgroups have issued, and when they happen. The four warps meet at a
// product's issue. From then on each warp's 16 rows are a matter of their own: at some moment up to the wait that
// covers the product (ExecOptions::products), they are computed from what the operands hold at that moment, after those
// of all earlier products of the warp. Until then the warp's D holds NaN.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/emulator/register_watch.hpp"
#include "common/emulator/wgmma_operands.hpp"

namespace lab::cpu {

class Block;
struct Warp;

// A lane's call of wgmma.mma_async.
struct WgmmaCall {
  float* d;
  int n;
  std::uint64_t a_descriptor;
  const unsigned* a_registers;  // null: A lies where the descriptor says
  std::uint64_t b_descriptor;
  bool a_mn_major, b_mn_major, accumulate;
  std::uintptr_t pc;
  bool bf16 = false;
};

class Warpgroups {
 public:
  explicit Warpgroups(Block& block) : block_(block) {}
  ~Warpgroups();
  Warpgroups(const Warpgroups&) = delete;
  void reset(std::uint64_t seed);

  // Called in the rendezvous of a warp, by its last lane.
  void arrive();  // at a product; the fourth warp issues it
  void fence();
  void commit();
  void wait(std::uint32_t groups_left);

  // How many products warp's group has issued: a lane that called before that waits for the other warps.
  std::uint32_t issued(int warp) const { return groups_[warp / 4].issued; }
  std::string waits_for(int warp) const;  // "warps 2,3 of the warpgroup"

  // The checker: whether the warp has products at all, and an access of the running thread to something that is neither
  // shared nor global memory.
  bool watches(int warp) const { return watched_ >> warp & 1; }
  void touched(const void* address, std::size_t bytes, bool write, std::uintptr_t pc);

  // ExecOptions::products random: whether there is anything in flight, and a call at which it may happen.
  bool may_happen() const;
  void maybe_happen();
  void warp_left(int warp);  // all its lanes have returned

 private:
  static constexpr int WARPS = wgmma_layout::WARPS, LANES = 32, MAX_WARPS = 32;

  // 16 rows of D, away from the lanes' registers.
  struct Accumulator {
    std::array<float*, LANES> d{};
    int n = 0;
    int products = 0;  // of it, issued and not yet executed; 0: free
    alignas(32) float tile[wgmma_layout::MAX_N / 8][16][8];
  };
  struct Product;
  struct Part {  // of a product: a warp's
    Product* of = nullptr;
    std::array<const unsigned*, LANES> a{};  // registers
    std::array<float*, LANES> d_lanes{};
    Accumulator* d = nullptr;
    std::uint32_t group = 0;
    // For the checker: A's contents at the issue, and whether a write to it has been told of.
    std::array<std::array<unsigned, 4>, LANES> a_issued{};
    bool a_told = false;
    bool fenced = false;       // the warp has fenced since
    bool passed_over = false;  // the warp has waited since, for groups that it was not in
  };
  struct Product {
    WgmmaCall call{};
    std::array<Part, WARPS> parts;
    std::uint32_t reading = 0;  // the last of its readings, for the checker
    int warps_left = 0;         // that have not waited for it
    std::vector<std::uint32_t> a_chunks;
    WgmmaB b;
  };
  struct WarpProducts {
    std::vector<Part*> open;           // issued, not yet waited for; in order
    std::size_t executed = 0;          // of those
    std::uint32_t committed = 0;       // groups
    bool fenced = false;               // ever
    std::vector<RegisterWatch> watch;  // a lane each
    std::vector<std::unique_ptr<Accumulator>> accumulators;
  };
  struct Group {
    std::uint32_t issued = 0;
    std::uint32_t arrived = 0;  // warps at the product that is being issued
  };

  void issue(int first_warp);
  void count(const WgmmaCall& call, int first_warp);
  void check_addresses(const Product& product);
  void tell_checker(Product& product, int first_warp);
  void join(Product& product, int warp);
  Accumulator& accumulator_of(int warp, const WgmmaCall& call);
  const WgmmaCall& call_of(int warp, int lane) const;
  void check_registers(const WgmmaCall& call, int warp);
  void watch_registers(const Part& part, int warp, bool issued);
  void check_a_unchanged(const Part& part, int warp);
  void let_go(WarpProducts& warp, std::size_t count);
  void start_watching(int warp);
  [[gnu::noinline]] void touched_in_flight(RegisterWatch::Hit hit, const void* address, std::size_t bytes, bool write,
                                           std::uintptr_t pc);
  void execute_next(int warp);
  void execute_all(int warp);
  const std::byte* window() const;

  Block& block_;
  std::array<WarpProducts, MAX_WARPS> warps_;
  std::array<Group, MAX_WARPS / WARPS> groups_;
  std::vector<std::unique_ptr<Product>> products_;
  std::vector<Product*> free_;
  int in_flight_ = 0;          // slabs of 16 rows, not yet executed
  std::uint32_t watched_ = 0;  // warps
  std::uint64_t dice_ = 1;
};

// "descriptor 0x... (address 0x400, leading 0, stride 1024, base offset 0, swizzle 128)"
std::string spelt(std::uint64_t descriptor);

}  // namespace lab::cpu
