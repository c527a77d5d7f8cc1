#include "reference/npy.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <limits>
#include <memory>
#include <new>
#include <string_view>

#include "reference/bad_input.hpp"

namespace lab {
namespace {

static_assert(std::endian::native == std::endian::little, "'<f2' is read and written as it lies in memory");

constexpr std::string_view MAGIC{"\x93NUMPY", 6};
constexpr std::size_t MAX_PREAMBLE = 12;    // magic, version, header length
constexpr std::size_t MAX_HEADER = 0xFFFF;  // all that version 1.0 can hold; four dimensions need about 80 bytes

// One line, whatever a hostile header or file name holds.
BadInput bad_npy(const std::string& name, const std::string& what) {
  std::string line = name + ": " + what;
  for (char& c : line)
    if (std::uint8_t(c) < ' ' || c == '\x7F') c = '?';
  return BadInput(line);
}

// The header is the text of a Python dict with three keys. This reads just that: strings, True or False, and
// a tuple of whole numbers, in any order and spacing.
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
  [[noreturn]] void bad(const std::string& what) const { throw bad_npy(name_, what); }
  void space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
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
      if (peek() == '-') bad("its shape has a negative dimension; every dimension is at least 1");
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
using File = std::unique_ptr<std::FILE, CloseFile>;

struct Layout {
  std::array<int, 4> shape{};
  std::size_t elements = 0, data_at = 0;  // data_at counts bytes
};

// Everything about a file of `size` bytes except its values, from its first bytes: all of them, or at least
// MAX_PREAMBLE + MAX_HEADER. What it returns fits `size` exactly, so it is safe to allocate.
Layout parse_layout(std::string_view text, std::size_t size, const std::string& name) {
  const auto bad = [&](const std::string& what) { return bad_npy(name, what); };
  if (text.substr(0, MAGIC.size()) != MAGIC) throw bad("not a .npy file (it does not start with \\x93NUMPY)");
  if (text.size() < 10) throw bad("truncated in its header");
  const auto byte = [&](std::size_t i) { return std::size_t(std::uint8_t(text[i])); };
  const int major = int(byte(6)), minor = int(byte(7));
  if ((major != 1 && major != 2) || minor != 0)
    throw bad(".npy version " + std::to_string(major) + "." + std::to_string(minor) + "; the lab reads 1.0 and 2.0");
  const std::size_t header_at = major == 1 ? 10 : MAX_PREAMBLE;
  if (text.size() < header_at) throw bad("truncated in its header");
  const std::size_t header_size = byte(8) | byte(9) << 8 | (major == 2 ? byte(10) << 16 | byte(11) << 24 : 0);
  if (header_size > MAX_HEADER)
    throw bad("its header claims " + std::to_string(header_size) + " bytes; the lab reads up to " +
              std::to_string(MAX_HEADER));
  if (header_size > text.size() - header_at) throw bad("truncated in its header");
  HeaderParser header(text.substr(header_at, header_size), name);
  header.parse();
  if (header.descr != "<f2")
    throw bad("its type is '" + header.descr.substr(0, 40) + "'; the lab takes '<f2' (fp16: x.astype(np.float16))");
  if (header.fortran) throw bad("it is in Fortran order; the lab takes C order (np.ascontiguousarray)");
  if (header.shape.size() != 4)
    throw bad("its shape " + shape_text(header.shape) + " has " + std::to_string(header.shape.size()) +
              " dimensions; the lab takes 4, [B,H,S,D]");
  Layout layout;
  std::uint64_t elements = 1;
  for (std::size_t i = 0; i < 4; ++i) {
    const std::uint64_t extent = header.shape[i];
    if (extent == 0) throw bad("its shape " + shape_text(header.shape) + " has a zero; every dimension is at least 1");
    layout.shape[i] = int(extent);
    if (__builtin_mul_overflow(elements, extent, &elements))
      throw bad("its shape " + shape_text(header.shape) + " is too large");
  }
  layout.data_at = header_at + header_size;
  const std::size_t data = size - layout.data_at;
  // Halved, because twice `elements` may overflow.
  if (elements != data / sizeof(fp16) || data % sizeof(fp16) != 0)
    throw bad((elements > data / sizeof(fp16) ? "truncated: " : "too long: ") + std::to_string(data) +
              " bytes of data, its shape " + shape_text(header.shape) + " needs " + std::to_string(elements) + " x 2");
  layout.elements = elements;
  return layout;
}

}  // namespace

NpyTensor parse_npy(std::span<const std::byte> bytes, const std::string& name) {
  const Layout layout = parse_layout({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, bytes.size(), name);
  NpyTensor tensor{layout.shape, std::vector<fp16>(layout.elements)};
  std::memcpy(tensor.values.data(), bytes.data() + layout.data_at, layout.elements * sizeof(fp16));
  return tensor;
}

NpyTensor read_npy(const std::string& path) {
  const auto fail = [&](const char* what) { return bad_npy(path, std::string(what) + ": " + std::strerror(errno)); };
  // Not blocking: opening a FIFO would otherwise wait for a writer.
  const int descriptor = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) throw fail("cannot be opened");
  const File file(fdopen(descriptor, "rb"));
  if (!file) {
    close(descriptor);
    throw fail("cannot be read");
  }
  struct stat info {};
  if (fstat(descriptor, &info) != 0) throw fail("cannot be read");
  if (!S_ISREG(info.st_mode)) throw bad_npy(path, "not a regular file");
  const auto read = [&](void* to, std::size_t bytes) {
    if (std::fread(to, 1, bytes, file.get()) == bytes) return;
    throw std::ferror(file.get()) ? fail("cannot be read")
                                  : bad_npy(path, "cannot be read: it became shorter meanwhile");
  };
  const std::size_t size = std::size_t(info.st_size);
  std::string start(std::min(size, MAX_PREAMBLE + MAX_HEADER), '\0');
  read(start.data(), start.size());
  const Layout layout = parse_layout(start, size, path);
  if (fseeko(file.get(), off_t(layout.data_at), SEEK_SET) != 0) throw fail("cannot be read");
  NpyTensor tensor{layout.shape, {}};
  try {
    tensor.values.resize(layout.elements);
  } catch (const std::exception&) {  // bad_alloc or length_error: the file is honest, and too much
    throw bad_npy(path, "its " + std::to_string(layout.elements) + " elements do not fit into memory");
  }
  read(tensor.values.data(), layout.elements * sizeof(fp16));
  return tensor;
}

void write_npy(const std::string& path, const std::array<int, 4>& shape, std::span<const fp16> values) {
  std::uint64_t elements = 1;
  bool overflow = false;
  for (const int extent : shape)
    overflow |= extent < 1 || __builtin_mul_overflow(elements, std::uint64_t(extent), &elements);
  const std::string extents = std::to_string(shape[0]) + ", " + std::to_string(shape[1]) + ", " +
                              std::to_string(shape[2]) + ", " + std::to_string(shape[3]);
  if (overflow || elements != values.size())
    throw bad_npy(path,
                  "not written: " + std::to_string(values.size()) + " values do not fill the shape (" + extents + ")");
  std::string header = "{'descr': '<f2', 'fortran_order': False, 'shape': (" + extents + "), }";
  header.append(63 - (10 + header.size()) % 64, ' ');  // the data start on 64 bytes, as NumPy has them
  header += '\n';
  std::string start(MAGIC);
  start += {'\x01', '\x00', char(header.size() & 0xFF), char(header.size() >> 8)};
  start += header;
  const std::string fresh = path + ".new";  // beside the target, so that the rename cannot cross file systems
  errno = 0;
  std::ofstream file(fresh, std::ios::binary);
  file.write(start.data(), std::streamsize(start.size()));
  file.write(reinterpret_cast<const char*>(values.data()), std::streamsize(values.size_bytes()));
  file.close();
  if (file && std::rename(fresh.c_str(), path.c_str()) == 0) return;
  const std::string why = std::strerror(errno);
  std::remove(fresh.c_str());
  throw bad_npy(path, "cannot be written: " + why);
}

}  // namespace lab
