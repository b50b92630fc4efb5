// Conversion of records of doubles to records of floats.
#pragma once

#include <algorithm>
#include <vector>

#include "tree/model_view.hpp"

namespace pysim::tree {

template <class To, class From>
void copy_numbers(const From* from, std::size_t n, To* to) {
  std::transform(from, from + n, to, [](From x) { return static_cast<To>(x); });
}

/// Rounds numbers, and copies fields that belong to the structure.
struct Rounding {
  void operator()(float& to, const double& from) const { to = static_cast<float>(from); }
  template <std::size_t n>
  void operator()(float (&to)[n], const double (&from)[n]) const {
    copy_numbers(from, n, to);
  }
  template <class Same>
  void operator()(Same& to, const Same& from) const {
    to = from;
  }
};

/// Bytes of the fields that a record lists.
template <class Record>
constexpr std::size_t visited_bytes() {
  const Record record = {};
  std::size_t bytes = 0;
  Record::visit([&bytes](const auto& field) { bytes += sizeof(field); }, record);
  return bytes;
}

inline std::vector<float> rounded(const std::vector<double>& from) {
  std::vector<float> to(from.size());
  copy_numbers(from.data(), from.size(), to.data());
  return to;
}

template <template <class> class Record>
std::vector<Record<float>> rounded(const std::vector<Record<double>>& from) {
  static_assert(visited_bytes<Record<float>>() == sizeof(Record<float>), "visit must list every field");
  std::vector<Record<float>> to(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) Record<float>::visit(Rounding{}, to[i], from[i]);
  return to;
}

}  // namespace pysim::tree
