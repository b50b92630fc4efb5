// Numbers and integers of the same size, for the bits of packs.
#pragma once

#include "simd/compiler.hpp"

namespace pysim::simd {

/// The integer as wide as a number, for its bits.
template <std::size_t bytes>
struct IntegerOf {
  using type = long long;
  using unsigned_type = unsigned long long;
};

template <>
struct IntegerOf<4> {
  using type = int;
  using unsigned_type = unsigned int;
};

/// The number type of that many bytes.
template <std::size_t bytes>
struct RealOf {
  using type = double;
};

template <>
struct RealOf<4> {
  using type = float;
};

template <class V>
using ElementOf = decltype(V{}[0] + V{}[0]);

}  // namespace pysim::simd
