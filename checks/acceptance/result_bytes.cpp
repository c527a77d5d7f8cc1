#include "checks/acceptance/result_bytes.hpp"

#include <cstring>
#include <stdexcept>
#include <type_traits>

namespace lab {
namespace {

// All that run_case() finds out; the case itself is known to both sides.
template <class Result, class Each>
void for_fields(Result& r, Each& each) {
  each(r.problems), each(r.compared), each(r.tiles_checked), each(r.tiles_repeated), each(r.tiles_total),
      each(r.skipped);
  each(r.note), each(r.hang), each(r.launches), each(r.microseconds);
}

struct Writer {
  std::string bytes;
  template <class T>
  void operator()(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void operator()(const std::string& text) { (*this)(text.size()), bytes += text; }
  void operator()(const std::vector<Fault>& faults) {
    (*this)(faults.size());
    for (const Fault& fault : faults) (*this)(fault.tells), (*this)(fault.what), (*this)(fault.again);
  }
};

struct Reader {
  std::string_view left;
  std::string_view next(std::size_t bytes) {
    if (bytes > left.size()) throw std::runtime_error("a case's result is cut off");
    const std::string_view taken = left.substr(0, bytes);
    left.remove_prefix(bytes);
    return taken;
  }
  template <class T>
  void operator()(T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::memcpy(&value, next(sizeof value).data(), sizeof value);
  }
  void operator()(std::string& text) {
    std::size_t size = 0;
    (*this)(size);
    text = next(size);
  }
  void operator()(std::vector<Fault>& faults) {
    std::size_t size = 0;
    (*this)(size);
    for (; size > 0; --size) {
      Fault& fault = faults.emplace_back();
      (*this)(fault.tells), (*this)(fault.what), (*this)(fault.again);
    }
  }
};

}  // namespace

std::string bytes_of(const CaseResult& result) {
  Writer writer;
  for_fields(result, writer);
  return writer.bytes;
}

CaseResult result_of(std::string_view bytes, const Case& test) {
  CaseResult result;
  result.test = test;
  Reader reader{bytes};
  for_fields(result, reader);
  if (!reader.left.empty()) throw std::runtime_error("a case's result is longer than it should be");
  return result;
}

}  // namespace lab
