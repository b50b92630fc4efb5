// Memory of records of worlds, and records as bytes: of every part the numbers of the world, one after the
// other, lists as far as they are in use.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "stepping/world_record.hpp"

namespace pysim::engine {

enum class NumberType { float32, float64, int64 };

/// An array of the records: a part, with a row of numbers for every world.
struct PartOfRecords {
  const char* name;
  NumberType type;
  std::ptrdiff_t worlds;
  int numbers;
};

/// Returns memory of zeros for a part, which lives as long as the worlds do.
using Allocate = std::function<void*(const PartOfRecords&)>;

/// Memory of worlds that nobody else owns. It is taken from the system where it is written.
class OwnedMemory {
 public:
  Allocate allocate();

 private:
  std::vector<std::unique_ptr<void, void (*)(void*)>> blocks_;
};

/// Type of the numbers of an array.
inline NumberType type_of(const float*) {
  return NumberType::float32;
}
inline NumberType type_of(const double*) {
  return NumberType::float64;
}
inline NumberType type_of(const std::int64_t*) {
  return NumberType::int64;
}

/// Takes memory for every part.
struct PartAllocation {
  const Allocate& allocate;
  std::ptrdiff_t worlds;

  template <class Number>
  void operator()(const char* name, Number*& part, int numbers) {
    part = static_cast<Number*>(allocate({name, type_of(part), worlds, numbers}));
  }

  void list(const char* name, double*& part, int numbers, const std::int64_t*, int) {
    (*this)(name, part, numbers);
  }
};

/// Adds up the bytes of a world's record.
struct RecordSize {
  std::size_t& size;
  std::ptrdiff_t world;

  template <class Number>
  void operator()(const char*, const Number*, int numbers) {
    size += static_cast<std::size_t>(numbers) * sizeof(Number);
  }

  void list(const char*, const double*, int, const std::int64_t* count, int an_entry) {
    size += static_cast<std::size_t>(count[world] * an_entry) * sizeof(double);
  }
};

/// Writes a world's record.
struct RecordWriter {
  char*& to;
  std::ptrdiff_t world;

  template <class Number>
  void operator()(const char*, const Number* part, int numbers) {
    put(part + world * numbers, static_cast<std::size_t>(numbers) * sizeof(Number));
  }

  void list(const char*, const double* part, int numbers, const std::int64_t* count, int an_entry) {
    put(part + world * numbers, static_cast<std::size_t>(count[world] * an_entry) * sizeof(double));
  }

  void put(const void* from, std::size_t size) {
    std::memcpy(to, from, size);
    to += size;
  }
};

/// Reads a world's record, which was checked (record_check.hpp).
struct RecordReader {
  const char*& at;
  std::ptrdiff_t world;

  template <class Number>
  void operator()(const char*, Number* part, int numbers) {
    take(part + world * numbers, static_cast<std::size_t>(numbers) * sizeof(Number));
  }

  void list(const char*, double* part, int numbers, const std::int64_t* count, int an_entry) {
    take(part + world * numbers, static_cast<std::size_t>(count[world] * an_entry) * sizeof(double));
  }

  void take(void* to, std::size_t size) {
    std::memcpy(to, at, size);
    at += size;
  }
};

}  // namespace pysim::engine
