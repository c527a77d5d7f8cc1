// The .npy reader under libFuzzer: whatever the bytes, parse_npy gives a tensor that is exactly as long as it says, or
// throws BadInput with one line that starts with the file's name. AddressSanitizer watches for a read past the end.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "reference/bad_input.hpp"
#include "reference/npy.hpp"

namespace {

void require(bool good, const char* what, const std::string& message = "") {
  if (good) return;
  std::fprintf(stderr, "fuzz-npy: %s: %s\n", what, message.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // A copy of exactly this size: a byte past it is a red zone.
  const std::unique_ptr<std::byte[]> bytes(new std::byte[size]);
  if (size) std::memcpy(bytes.get(), data, size);
  try {
    const lab::NpyTensor tensor = lab::parse_npy({bytes.get(), size}, "file.npy");
    std::size_t elements = 1;
    for (const int extent : tensor.shape) {
      require(extent >= 1, "an extent below 1");
      elements *= std::size_t(extent);
    }
    require(elements == tensor.values.size(), "the values are not as many as the shape says");
    require(elements * 2 < size, "more values than the file holds");
    require(std::memcmp(tensor.values.data(), bytes.get() + size - elements * 2, elements * 2) == 0,
            "the values are not the file's");
  } catch (const lab::BadInput& e) {
    const std::string line = e.what();
    require(line.rfind("file.npy: ", 0) == 0, "the message does not start with the file", line);
    require(line.size() > 12 && line.size() < 1000, "the message is empty or endless", line);
    for (const unsigned char c : line) require(c >= 0x20 && c != 0x7F, "the message is not one printable line", line);
  }
  return 0;
}
