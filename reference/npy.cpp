#include "reference/npy.hpp"

#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <regex>

#include "common/number.hpp"
#include "reference/bad_input.hpp"

namespace lab {
namespace {

static_assert(std::endian::native == std::endian::little, "'<f2' is read and written as it lies in memory");

const std::string MAGIC{"\x93NUMPY\x01\x00", 8};  // and the version
constexpr std::size_t LONGEST_HEADER = 1000;      // four dimensions need about 80 bytes

// One line, whatever a hostile header or file name holds.
BadInput bad_npy(const std::string& name, const std::string& what) {
  std::string line = name + ": " + what;
  for (char& c : line)
    if (std::uint8_t(c) < ' ' || c == '\x7F') c = '?';
  return BadInput(line);
}

// The header is the text of a Python dict: of the value of `key`, the part in parentheses; "" where it is none.
std::string value_of(const std::string& header, const std::string& key, const std::string& value) {
  std::smatch found;
  std::regex_search(header, found, std::regex("'" + key + "'\\s*:\\s*" + value));
  return found.empty() ? "" : found[1].str();
}

std::string text_of(const std::array<int, 4>& shape) {
  std::string text;
  for (const int extent : shape) text += (text.empty() ? "(" : ", ") + std::to_string(extent);
  return text + ")";
}

}  // namespace

NpyTensor read_npy(const std::string& path) {
  namespace fs = std::filesystem;
  if (fs::exists(path) && !fs::is_regular_file(path)) throw bad_npy(path, "not a regular file");
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) throw bad_npy(path, std::string("cannot be opened: ") + std::strerror(errno));
  const auto read = [&](std::size_t bytes) {
    std::string text(bytes, '\0');
    return file.read(text.data(), std::streamsize(bytes)) ? text : "";
  };
  if (read(MAGIC.size()) != MAGIC) throw bad_npy(path, "not a .npy file of version 1.0");
  const std::string size = read(2);
  const std::size_t length = size.empty() ? 0 : std::uint8_t(size[0]) | std::uint8_t(size[1]) << 8;
  if (length > LONGEST_HEADER) throw bad_npy(path, "its header has " + std::to_string(length) + " bytes");
  const std::string header = read(length);
  if (header.empty()) throw bad_npy(path, "truncated in its header");
  const std::string type = value_of(header, "descr", "'([^']*)'"), shape = value_of(header, "shape", "(\\([^)]*\\))");
  if (type != "<f2")
    throw bad_npy(path, "its type is '" + type + "'; the lab takes '<f2' (fp16: x.astype(np.float16))");
  if (value_of(header, "fortran_order", "(False)").empty())
    throw bad_npy(path, "not in C order (np.ascontiguousarray)");

  static const std::regex FOUR(R"(\(\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*,?\s*\))");
  std::smatch extents;
  std::regex_match(shape, extents, FOUR);
  NpyTensor tensor;
  std::uint64_t bytes = sizeof(fp16);
  for (std::size_t i = 0; i < 4; ++i) {
    const auto extent = extents.empty() ? std::nullopt : number_in<int>(extents[i + 1].str(), 1);
    if (!extent || __builtin_mul_overflow(bytes, std::uint64_t(*extent), &bytes))
      throw bad_npy(path, "its shape is " + shape + "; the lab takes four whole numbers from 1, (B, H, S, D)");
    tensor.shape[i] = *extent;
  }
  const std::uint64_t data = fs::file_size(path) - std::uint64_t(file.tellg());
  if (data != bytes)
    throw bad_npy(path, (data < bytes ? "truncated: " : "too long: ") + std::to_string(data) +
                            " bytes of data, its shape " + shape + " needs " + std::to_string(bytes));
  tensor.values.resize(bytes / sizeof(fp16));
  if (!file.read(reinterpret_cast<char*>(tensor.values.data()), std::streamsize(bytes)))
    throw bad_npy(path, "cannot be read");
  return tensor;
}

void write_npy(const std::string& path, const std::array<int, 4>& shape, std::span<const fp16> values) {
  std::string header = "{'descr': '<f2', 'fortran_order': False, 'shape': " + text_of(shape) + ", }";
  header.append(63 - (MAGIC.size() + 2 + header.size()) % 64, ' ');  // the data start on 64 bytes, as NumPy has them
  header += '\n';
  const std::string fresh = path + ".new";  // beside the target, so that the rename cannot cross file systems
  errno = 0;
  std::ofstream file(fresh, std::ios::binary);
  file << MAGIC << char(header.size()) << '\0' << header;
  file.write(reinterpret_cast<const char*>(values.data()), std::streamsize(values.size_bytes()));
  file.close();
  if (file && std::rename(fresh.c_str(), path.c_str()) == 0) return;
  const std::string why = std::strerror(errno);
  std::remove(fresh.c_str());
  throw bad_npy(path, "cannot be written: " + why);
}

}  // namespace lab
