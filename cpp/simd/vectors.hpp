// Vector types of the compiler: of numbers, of their bits, and of register width.
#pragma once

#include <cstddef>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

// Builds with sanitizers leave inlining to the compiler: the checks of all inlined code are too many.
#if !defined(PYSIM_INLINE)
#define PYSIM_INLINE inline __attribute__((always_inline))
#endif
#define PYSIM_NOINLINE __attribute__((noinline))
// Calls save every register of packs: the compiler moves this to branches that it considers unlikely.
#define PYSIM_LIKELY(condition) __builtin_expect(condition, true)

namespace pysim::simd {

/// Bytes of a register. Isa is the tag of the instruction set being compiled: without it all sets would
/// share one body.
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
struct Vector {
  typedef Real type __attribute__((vector_size(W * sizeof(Real))));
};

template <class Real>
struct Vector<Real, 1> {
  using type = Real;
};

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
