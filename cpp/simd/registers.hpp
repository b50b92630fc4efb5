// Registers of an instruction set, as the compiler's vectors.
#pragma once

#include <cstddef>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#define PYSIM_INLINE inline __attribute__((always_inline))

namespace pysim::simd {

/// Bytes of a register; Isa is the tag of the instruction set that is compiled for.
template <class Isa>
constexpr std::size_t register_bytes() {
#if defined(__AVX512F__)
  return 64;
#elif defined(__AVX__)
  return 32;
#else
  return 16;
#endif
}

template <class Real, int W>
struct Register {
  typedef Real type __attribute__((vector_size(W * sizeof(Real))));
};

template <class Real>
struct Register<Real, 1> {
  using type = Real;
};

/// The integer as wide as a number, for its bits.
template <std::size_t bytes>
struct IntegerOf {
  using type = long long;
};

template <>
struct IntegerOf<4> {
  using type = int;
};

/// The number of so many bytes.
template <std::size_t bytes>
struct RealOf {
  using type = double;
};

template <>
struct RealOf<4> {
  using type = float;
};

template <class Vector>
using ElementOf = decltype(Vector{}[0] + Vector{}[0]);

}  // namespace pysim::simd
