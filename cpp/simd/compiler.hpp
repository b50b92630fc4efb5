// Built-ins and attributes of GCC and Clang: no other file names one.
//
// Kernels include no library: the functions that they need of one are here, too. Instructions of a processor
// are in simd/instructions.hpp.
#pragma once

#include <cstddef>

// Builds with sanitizers leave inlining to the compiler: the checks of all inlined code are too many.
#if !defined(PYSIM_INLINE)
#define PYSIM_INLINE inline __attribute__((always_inline))
#endif
#define PYSIM_NOINLINE __attribute__((noinline))
#define PYSIM_COLD __attribute__((noinline, cold))
// Calls save every register of packs: the compiler moves this to branches that it considers unlikely.
#define PYSIM_LIKELY(condition) __builtin_expect(condition, true)
#define PYSIM_UNLIKELY(condition) __builtin_expect(condition, false)
#define PYSIM_UNREACHABLE() __builtin_unreachable()
/// Whether the processor that runs the program has a feature of x86-64, a string literal.
#if defined(__x86_64__)
#define PYSIM_PROCESSOR_HAS(feature) __builtin_cpu_supports(feature)
#else
#define PYSIM_PROCESSOR_HAS(feature) false
#endif
/// Memory of this many bytes on the caller's stack.
#define PYSIM_STACK_BYTES(bytes, alignment) __builtin_alloca_with_align(bytes, 8 * (alignment))

namespace pysim::simd {

constexpr double infinity = __builtin_inf();
constexpr double not_a_number = __builtin_nan("");

template <class Real, int W>
struct Vector {
  typedef Real type __attribute__((vector_size(W * sizeof(Real))));
};

template <class Real>
struct Vector<Real, 1> {
  using type = Real;
};

/// The same bits as another type of the same size.
template <class To, class From>
PYSIM_INLINE To bit_cast(From x) {
  return __builtin_bit_cast(To, x);
}

/// Each lane converted to the number type of To.
template <class To, class From>
PYSIM_INLINE To convert(From x) {
  return __builtin_convertvector(x, To);
}

/// Lanes of a, and from W on of b, by number.
template <int... k, class V>
PYSIM_INLINE V shuffle(V a, V b) {
  return __builtin_shufflevector(a, b, k...);
}

PYSIM_INLINE void copy_bytes(void* to, const void* from, std::size_t count) {
  __builtin_memcpy(to, from, count);
}

template <class T>
PYSIM_INLINE void prefetch_to_write(T* p) {
  __builtin_prefetch(p, 1);
}

/// a·b + c with one rounding.
PYSIM_INLINE double fused(double a, double b, double c) {
  return __builtin_fma(a, b, c);
}

PYSIM_INLINE float fused(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}

PYSIM_INLINE double square_root(double x) {
  return __builtin_sqrt(x);
}

PYSIM_INLINE float square_root(float x) {
  return __builtin_sqrtf(x);
}

PYSIM_INLINE double magnitude_of(double x) {
  return __builtin_fabs(x);
}

PYSIM_INLINE double floor_of(double x) {
  return __builtin_floor(x);
}

PYSIM_INLINE double ceiling_of(double x) {
  return __builtin_ceil(x);
}

/// By the C library, in long double.
PYSIM_INLINE long double sine_of(long double x) {
  return __builtin_sinl(x);
}

PYSIM_INLINE long double cosine_of(long double x) {
  return __builtin_cosl(x);
}

PYSIM_INLINE int bit_count(unsigned long long x) {
  return __builtin_popcountll(x);
}

}  // namespace pysim::simd
