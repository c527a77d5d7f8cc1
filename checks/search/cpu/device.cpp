// The validator's machine is the CPU execution: it has no clock to believe, and all else of the protocol.
#include "checks/search/validator.hpp"

#include "checks/acceptance/format.hpp"
#include "common/backend.hpp"
#include "common/emulator/launch.hpp"
#include "common/fp16.hpp"
#include "reference/inputs.hpp"

namespace lab::search {
namespace {

const fp16* values(const half* from) { return reinterpret_cast<const fp16*>(from); }

// A stream of its own, so that who launches elsewhere is seen; on the CPU it is a name and nothing else.
cudaStream_t own_stream() {
  static char name;
  return reinterpret_cast<cudaStream_t>(&name);
}

class CallsBatch final : public Batch {
 public:
  CallsBatch(int calls, std::function<void(int)> call) : calls_(calls), call_(std::move(call)) {}
  std::optional<double> run() override {
    std::uint64_t each = 0;
    for (int i = 0; i < calls_; ++i) {
      const std::uint64_t here = cpu::launches_on(own_stream()), all = cpu::launches();
      call_(i);
      const std::uint64_t own = cpu::launches_on(own_stream()) - here;
      if (own == 0 || cpu::launches() - all != own)
        throw Refused("stream", format("call %d launched %llu kernels on the stream that it was given, %llu elsewhere",
                                       i, static_cast<unsigned long long>(own),
                                       static_cast<unsigned long long>(cpu::launches() - all - own)));
      if (i == 0) each = own;
      if (own != each) throw Refused("stream", format("call %d launched another number of kernels than the first", i));
    }
    return std::nullopt;
  }

 private:
  int calls_;
  std::function<void(int)> call_;
};

class Cpu final : public Device {
 public:
  Cpu() {
    ExecOptions options = exec_options();
    options.check = can_check();  // races, and what lies outside of what was asked for
    set_exec_options(options);
  }
  cudaStream_t stream() override { return own_stream(); }
  bool has_clock() const override { return false; }

  void fill(half* to, std::size_t size, std::uint64_t seed, float factor, float offset) override {
    const Shape flat{1, 1, int(size / 64), 64, false};
    const Inputs in = make_inputs(Family::unit, flat, seed);
    fp16* out = reinterpret_cast<fp16*>(to);
    for (std::size_t i = 0; i < size; ++i) out[i] = to_fp16(to_float(in.q[i]) * factor + offset);
  }

  std::vector<std::uint64_t> digests(const std::vector<const half*>& tensors, std::size_t size) override {
    std::vector<std::uint64_t> all;
    for (const half* tensor : tensors) {
      std::uint64_t bits = 0xCBF29CE484222325ull;  // FNV-1a
      for (std::size_t i = 0; i < size; ++i) bits = (bits ^ values(tensor)[i].bits) * 0x100000001B3ull;
      all.push_back(bits);
    }
    return all;
  }

  Expected oracle(const Shape& shape, double scale, const half* q, const half* k, const half* v,
                  const std::vector<RowBlock>& rows, bool half_p) override {
    const auto copy = [&](const half* from) {
      return std::vector<fp16>(values(from), values(from) + shape.elements());
    };
    return expected(shape, scale, {copy(q), copy(k), copy(v), {}}, rows, half_p);
  }

  std::unique_ptr<Batch> gather(int calls, const std::function<void(int)>& call) override {
    return std::make_unique<CallsBatch>(calls, call);
  }

  std::string settings_changed() override {
    std::size_t persisting = 0;
    cudaDeviceGetLimit(&persisting, cudaLimitPersistingL2CacheSize);
    return persisting == 0 ? "" : format("it has set %zu bytes of the L2 aside to persist", persisting);
  }
};

}  // namespace

std::unique_ptr<Device> make_device() { return std::make_unique<Cpu>(); }

}  // namespace lab::search
