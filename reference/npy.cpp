#include "reference/npy.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <string_view>

#include "reference/bad_input.hpp"

namespace lab {
namespace {

static_assert(std::endian::native == std::endian::little, "'<f2' is read and written as it lies in memory");

constexpr std::string_view MAGIC{"\x93NUMPY", 6};

// The header is the text of a Python dict with three keys. This reads just that: strings, True or False, and a tuple of
// whole numbers, in any order and spacing.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  void parse() {
    expect('{');
    while (!accept('}')) {
      const std::string key = string();
      expect(':');
      if (key == "descr" && !has_descr_) {
        if (peek() != '\'' && peek() != '"') bad("its descr is not a plain type; the lab takes '<f2' (fp16)");
        descr = string(), has_descr_ = true;
      } else if (key == "fortran_order" && !has_order_) {
        fortran = boolean(), has_order_ = true;
      } else if (key == "shape" && !has_shape_) {
        shape = tuple(), has_shape_ = true;
      } else {
        bad("its header has an unexpected or repeated key '" + key.substr(0, 40) + "'");
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (!has_descr_ || !has_order_ || !has_shape_) bad("its header lacks descr, fortran_order or shape");
    space();
    if (at_ != text_.size()) bad("its header goes on after the dict");
  }

  std::string descr;
  bool fortran = false;
  std::vector<std::uint64_t> shape;

 private:
  [[noreturn]] void bad(const std::string& what) const { throw BadInput(name_ + ": " + what); }
  void space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r')) ++at_;
  }
  char peek() {
    space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c || at_ >= text_.size()) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) bad(std::string("its header is malformed: '") + c + "' expected at byte " + std::to_string(at_));
  }
  std::string string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') bad("its header is malformed: a string expected at byte " + std::to_string(at_));
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == text_.npos) bad("its header is malformed: a string has no end");
    const std::string value(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return value;
  }
  bool boolean() {
    space();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(at_, word.size()) != word) continue;
      at_ += word.size();
      return value;
    }
    bad("its fortran_order is neither True nor False");
  }
  std::vector<std::uint64_t> tuple() {
    std::vector<std::uint64_t> values;
    expect('(');
    while (!accept(')')) {
      if (peek() < '0' || peek() > '9') bad("its shape is not a tuple of whole numbers");
      std::uint64_t value = 0;
      while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
        value = value * 10 + std::uint64_t(text_[at_++] - '0');
        if (value > std::uint64_t(std::numeric_limits<int>::max())) bad("its shape has a dimension over 2147483647");
      }
      values.push_back(value);
      if (values.size() > 32) bad("its shape has more than 32 dimensions");
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return values;
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 0;
  bool has_descr_ = false, has_order_ = false, has_shape_ = false;
};

std::string shape_text(const std::vector<std::uint64_t>& shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i ? "," : "") + std::to_string(shape[i]);
  return text + ")";
}

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

}  // namespace

NpyTensor parse_npy(std::span<const std::byte> bytes, const std::string& name) {
  const auto bad = [&](const std::string& what) -> BadInput { return BadInput(name + ": " + what); };
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.size() < MAGIC.size() || text.substr(0, MAGIC.size()) != MAGIC)
    throw bad("not a .npy file (it does not start with \\x93NUMPY)");
  if (text.size() < 10) throw bad("truncated in its header");
  const auto byte = [&](std::size_t i) { return std::size_t(std::uint8_t(text[i])); };
  const int major = int(byte(6)), minor = int(byte(7));
  if ((major != 1 && major != 2) || minor != 0)
    throw bad(".npy version " + std::to_string(major) + "." + std::to_string(minor) + "; the lab reads 1.0 and 2.0");
  const std::size_t header_at = major == 1 ? 10 : 12;
  if (text.size() < header_at) throw bad("truncated in its header");
  const std::size_t header_size = byte(8) | byte(9) << 8 | (major == 2 ? byte(10) << 16 | byte(11) << 24 : 0);
  if (header_size > text.size() - header_at) throw bad("truncated in its header");
  HeaderParser header(text.substr(header_at, header_size), name);
  header.parse();
  if (header.descr != "<f2")
    throw bad("its type is '" + header.descr.substr(0, 40) + "'; the lab takes '<f2' (fp16: x.astype(np.float16))");
  if (header.fortran) throw bad("it is in Fortran order; the lab takes C order (np.ascontiguousarray)");
  if (header.shape.size() != 4)
    throw bad("its shape " + shape_text(header.shape) + " has " + std::to_string(header.shape.size()) +
              " dimensions; the lab takes 4, [B,H,S,D]");
  NpyTensor tensor;
  std::uint64_t elements = 1;
  for (std::size_t i = 0; i < 4; ++i) {
    const std::uint64_t extent = header.shape[i];
    if (extent == 0) throw bad("its shape " + shape_text(header.shape) + " has a zero; every dimension is at least 1");
    tensor.shape[i] = int(extent);
    if (__builtin_mul_overflow(elements, extent, &elements)) throw bad("its shape " + shape_text(header.shape) + " is too large");
  }
  const std::size_t data = text.size() - header_at - header_size;
  if (elements > std::numeric_limits<std::uint64_t>::max() / 2 || elements * 2 != data)
    throw bad((elements > data / 2 ? "truncated: " : "too long: ") + std::to_string(data) + " bytes of data, its shape " +
              shape_text(header.shape) + " needs " + std::to_string(elements) + " x 2");
  tensor.values.resize(elements);
  std::memcpy(tensor.values.data(), bytes.data() + header_at + header_size, data);
  return tensor;
}

NpyTensor read_npy(const std::string& path) {
  const auto fail = [&](const char* what) -> BadInput { return BadInput(path + ": " + what + ": " + std::strerror(errno)); };
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rb"));
  if (!file) throw fail("cannot be opened");
  struct stat info{};
  if (fstat(fileno(file.get()), &info) != 0) throw fail("cannot be read");
  if (!S_ISREG(info.st_mode)) throw BadInput(path + ": not a regular file");
  std::vector<std::byte> bytes(std::size_t(info.st_size));
  if (std::fread(bytes.data(), 1, bytes.size(), file.get()) != bytes.size()) throw fail("cannot be read to its end");
  return parse_npy(bytes, path);
}

void write_npy(const std::string& path, const std::array<int, 4>& shape, std::span<const fp16> values) {
  std::string header = "{'descr': '<f2', 'fortran_order': False, 'shape': (" + std::to_string(shape[0]) + ", " +
                       std::to_string(shape[1]) + ", " + std::to_string(shape[2]) + ", " + std::to_string(shape[3]) + "), }";
  header.append(63 - (10 + header.size()) % 64, ' ');  // the data start on 64 bytes, as NumPy has them
  header += '\n';
  std::string start(MAGIC);
  start += {'\x01', '\x00', char(header.size() & 0xFF), char(header.size() >> 8)};
  start += header;
  // Beside the target, so that the rename cannot cross file systems.
  std::string temporary = path + ".XXXXXX";
  const int descriptor = mkstemp(temporary.data());
  if (descriptor < 0) throw BadInput(path + ": cannot be written: " + std::strerror(errno));
  std::FILE* file = fdopen(descriptor, "wb");
  bool good = file && std::fwrite(start.data(), 1, start.size(), file) == start.size() &&
              std::fwrite(values.data(), sizeof(fp16), values.size(), file) == values.size();
  good = file && std::fflush(file) == 0 && good;
  int error = errno;
  if (file) std::fclose(file);
  const mode_t mask = umask(0);  // mkstemp makes a private file; an output is an ordinary one
  umask(mask);
  if (good && (chmod(temporary.c_str(), 0666 & ~mask) != 0 || std::rename(temporary.c_str(), path.c_str()) != 0))
    good = false, error = errno;
  if (good) return;
  unlink(temporary.c_str());
  throw BadInput(path + ": cannot be written: " + std::strerror(error));
}

}  // namespace lab
