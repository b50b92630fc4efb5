// Descriptions as bytes: what a model is made of, in a file that an engine reads without Python.
//
// A record lists its fields once, in `visit`; both directions are written over it. Numbers lie as in memory
// (little-endian), texts and lists behind their lengths. The reader does not trust a file: a length is
// compared with the bytes that are left before memory is taken, a truth value is 0 or 1, a kind one that
// exists, and NaN in lists alone, whose programs may hold it. What indices refer to is checked where models
// are built of them.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "tree/model.hpp"

namespace pysim::tree {

/// Last value of an enumeration.
constexpr int last_of(Shape) {
  return static_cast<int>(Shape::callback);
}
constexpr int last_of(Column) {
  return stored;
}
constexpr int last_of(Group) {
  return static_cast<int>(Group::pose);
}
constexpr int last_of(Op) {
  return static_cast<int>(Op::solve);
}
constexpr int last_of(LoopKind) {
  return static_cast<int>(LoopKind::wheel);
}
constexpr int last_of(ElementKind) {
  return static_cast<int>(ElementKind::coordinates);
}
constexpr int last_of(PathKind) {
  return static_cast<int>(PathKind::torus);
}
constexpr int last_of(SignalSource) {
  return static_cast<int>(SignalSource::reaction);
}
constexpr int last_of(SignalCallKind) {
  return static_cast<int>(SignalCallKind::inverse_at);
}
constexpr int last_of(SignalMotion) {
  return static_cast<int>(SignalMotion::port_rate);
}

/// Appends values to bytes.
class FileWriter {
 public:
  explicit FileWriter(std::string& bytes) : bytes_(bytes) {}

  template <class T>
  void operator()(const T& value) {
    if constexpr (std::is_enum_v<T>) {
      number(static_cast<std::int32_t>(value));
    } else if constexpr (std::is_same_v<T, bool>) {
      number(static_cast<std::uint8_t>(value));
    } else if constexpr (std::is_arithmetic_v<T>) {
      number(value);
    } else {
      T::visit(*this, value);
    }
  }
  template <class T, std::size_t n>
  void operator()(const T (&values)[n]) {
    for (const T& value : values) (*this)(value);
  }
  template <class T, std::size_t n>
  void operator()(const std::array<T, n>& values) {
    for (const T& value : values) (*this)(value);
  }
  template <class T>
  void operator()(const std::optional<T>& value) {
    (*this)(value.has_value());
    if (value) (*this)(*value);
  }
  template <class T>
  void operator()(const std::vector<T>& values) {
    number(static_cast<std::uint64_t>(values.size()));
    if constexpr (std::is_arithmetic_v<T>) {
      bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
    } else {
      for (const T& value : values) (*this)(value);
    }
  }
  void operator()(const std::string& text) {
    number(static_cast<std::uint64_t>(text.size()));
    bytes_ += text;
  }

 private:
  template <class Number>
  void number(Number x) {
    char raw[sizeof(Number)];
    std::memcpy(raw, &x, sizeof(Number));
    bytes_.append(raw, sizeof(Number));
  }

  std::string& bytes_;
};

/// Reads values from bytes that may be anyone's. Throws std::invalid_argument.
class FileReader {
 public:
  FileReader(const char* begin, std::size_t size) : at_(begin), left_(size) {}

  template <class T>
  void operator()(T& value) {
    if constexpr (std::is_enum_v<T>) {
      const auto read = number<std::int32_t>();
      if (read < 0 || read > last_of(T{})) fail("has a kind that does not exist");
      value = static_cast<T>(read);
    } else if constexpr (std::is_same_v<T, bool>) {
      const auto read = number<std::uint8_t>();
      if (read > 1) fail("has a truth value that is neither 0 nor 1");
      value = read == 1;
    } else if constexpr (std::is_floating_point_v<T>) {
      value = number<T>();
      if (value != value) fail("has a number that is NaN");
    } else if constexpr (std::is_arithmetic_v<T>) {
      value = number<T>();
    } else {
      T::visit(*this, value);
    }
  }
  template <class T, std::size_t n>
  void operator()(T (&values)[n]) {
    for (T& value : values) (*this)(value);
  }
  template <class T, std::size_t n>
  void operator()(std::array<T, n>& values) {
    for (T& value : values) (*this)(value);
  }
  template <class T>
  void operator()(std::optional<T>& value) {
    bool is_given = false;
    (*this)(is_given);
    if (is_given) (*this)(value.emplace());
  }
  template <class T>
  void operator()(std::vector<T>& values) {
    constexpr std::size_t least = std::is_arithmetic_v<T> ? sizeof(T) : 1;  // bytes of a value
    const auto count = length(least);
    values.clear();
    if constexpr (std::is_arithmetic_v<T>) {
      values.resize(count);
      if (count > 0) std::memcpy(values.data(), at_, count * sizeof(T));
      skip(count * sizeof(T));
    } else {
      for (std::size_t k = 0; k < count; ++k) (*this)(values.emplace_back());
    }
  }
  void operator()(std::string& text) {
    const auto count = length(1);
    text.assign(at_, count);
    skip(count);
  }

  /// Rejects bytes that are left.
  void finish() const {
    if (left_ > 0) fail("has " + std::to_string(left_) + " bytes too many");
  }

 private:
  [[noreturn]] static void fail(const std::string& problem) { throw std::invalid_argument(problem); }

  /// Number of values that take `least` bytes or more each.
  std::size_t length(std::size_t least) {
    const auto count = number<std::uint64_t>();
    if (count > left_ / least) fail("ends before a list does");
    return static_cast<std::size_t>(count);
  }

  template <class Number>
  Number number() {
    if (left_ < sizeof(Number)) fail("ends early");
    Number x;
    std::memcpy(&x, at_, sizeof(Number));
    skip(sizeof(Number));
    return x;
  }

  void skip(std::size_t bytes) {
    at_ += bytes;
    left_ -= bytes;
  }

  const char* at_;
  std::size_t left_;
};

}  // namespace pysim::tree
