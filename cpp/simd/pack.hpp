// Pack: W simulations in the lanes of one number type.
//
// Everything above this folder is written once, over a type S that behaves like a number; the lanes of S are
// independent worlds. Instructions without an operator in the vector extensions of GCC and Clang are in
// instructions.hpp.
#pragma once

#include "simd/mask.hpp"

namespace pysim::simd {

template <class Real, int W, class Isa>
struct Pack;

/// Tag in place of an instruction set: the worlds of a pack have models with different numbers.
template <class Isa>
struct Varied;

/// A number of the model: one for all worlds of a pack, or a pack with one for each.
template <class Real, int W, class Isa>
struct ParameterOf {
  using type = Real;
};

template <class Real, int W, class Isa>
struct ParameterOf<Real, W, Varied<Isa>> {
  using type = Pack<Real, W, Varied<Isa>>;
};

/// Whether a pack of W numbers takes two registers.
template <class Real, int W, class Isa>
constexpr bool take_two = W > 1 && W * sizeof(Real) > register_bytes<Isa>();

template <class Real, int W, class Isa, bool two = take_two<Real, W, Isa>>
struct LanesOf : Vector<Real, W> {};

template <class Real, int W, class Isa>
struct LanesOf<Real, W, Isa, true> {
  static_assert(W * sizeof(Real) == 2 * register_bytes<Isa>(), "a pack takes one register or two");
  using type = Twin<typename Vector<Real, W / 2>::type, Isa>;
};

/// W simulations: lane k of every Pack belongs to world k.
///
/// Isa is a tag. It makes this type, and so every template instantiated on it, distinct for
/// each instruction set; the linker can then never hand an AVX2 body to a baseline caller.
/// A single world is Pack<double, 1, Isa>, never plain double, for the same reason.
template <class RealType, int W, class IsaTag>
struct Pack {
  using Real = RealType;
  using Isa = IsaTag;
  using Parameter = typename ParameterOf<RealType, W, IsaTag>::type;
  using Lanes = typename LanesOf<Real, W, Isa>::type;
  static constexpr int width = W;

  /// The bits of the lanes as integers.
  using Integer = typename IntegerOf<sizeof(Real)>::type;
  using Bits = typename LanesOf<Integer, W, Isa>::type;

  Lanes lanes;

  PYSIM_INLINE friend Pack operator-(Pack a) { return {-a.lanes}; }
  PYSIM_INLINE friend Pack operator+(Pack a, Pack b) { return {a.lanes + b.lanes}; }
  PYSIM_INLINE friend Pack operator-(Pack a, Pack b) { return {a.lanes - b.lanes}; }
  PYSIM_INLINE friend Pack operator*(Pack a, Pack b) { return {a.lanes * b.lanes}; }
  PYSIM_INLINE friend Pack operator/(Pack a, Pack b) { return {a.lanes / b.lanes}; }
  PYSIM_INLINE friend Mask<Pack> operator<(Pack a, Pack b) { return {a.lanes < b.lanes}; }
  PYSIM_INLINE friend Mask<Pack> operator>(Pack a, Pack b) { return {a.lanes > b.lanes}; }
  PYSIM_INLINE friend Mask<Pack> operator<=(Pack a, Pack b) { return {a.lanes <= b.lanes}; }
  PYSIM_INLINE friend Mask<Pack> operator>=(Pack a, Pack b) { return {a.lanes >= b.lanes}; }
  PYSIM_INLINE friend Mask<Pack> operator==(Pack a, Pack b) { return {a.lanes == b.lanes}; }
  PYSIM_INLINE Pack& operator+=(Pack b) { return *this = *this + b; }
  PYSIM_INLINE Pack& operator-=(Pack b) { return *this = *this - b; }
  PYSIM_INLINE Pack& operator*=(Pack b) { return *this = *this * b; }
};

template <class S>
constexpr bool in_two = take_two<typename S::Real, S::width, typename S::Isa>;

/// A pack for one of two registers.
template <class S>
using HalfOf = Pack<typename S::Real, S::width / 2, typename S::Isa>;

template <class S>
PYSIM_INLINE HalfOf<S> low(const S& a) {
  return {a.lanes.low};
}

template <class S>
PYSIM_INLINE HalfOf<S> high(const S& a) {
  return {a.lanes.high};
}

template <class Real, int W, class Isa>
PYSIM_INLINE Pack<Real, 2 * W, Isa> join(Pack<Real, W, Isa> low, Pack<Real, W, Isa> high) {
  return {{low.lanes, high.lanes}};
}

/// The same number in every lane.
template <class S>
PYSIM_INLINE S all(typename S::Real x) {
  if constexpr (S::width == 1) {
    return S{x};
  } else {
    return S{x - typename S::Lanes{}};
  }
}

/// A number that is given per world already.
template <class S>
PYSIM_INLINE S all(S x) {
  return x;
}

template <class S>
PYSIM_INLINE Mask<HalfOf<S>> low(Mask<S> a) {
  return {a.lanes.low};
}

template <class S>
PYSIM_INLINE Mask<HalfOf<S>> high(Mask<S> a) {
  return {a.lanes.high};
}

/// a where the mask holds, b elsewhere; both are evaluated.
template <class Real, int W, class Isa>
PYSIM_INLINE Pack<Real, W, Isa> select(Mask<Pack<Real, W, Isa>> mask,
                                       Pack<Real, W, Isa> a,
                                       Pack<Real, W, Isa> b) {
  if constexpr (in_two<Pack<Real, W, Isa>>) {
    return join(select(low(mask), low(a), low(b)), select(high(mask), high(a), high(b)));
  } else {
    return {mask.lanes ? a.lanes : b.lanes};
  }
}

/// The same for masks.
template <class S>
PYSIM_INLINE Mask<S> select(Mask<S> mask, Mask<S> a, Mask<S> b) {
  return (mask & a) | ((!mask) & b);
}

/// 1 where the mask holds, 0 elsewhere.
template <class S>
PYSIM_INLINE S number(Mask<S> mask) {
  return select(mask, all<S>(1), all<S>(0));
}

template <class S>
PYSIM_INLINE typename S::Real lane(const S& a, int k) {
  if constexpr (S::width == 1) {
    return a.lanes;
  } else if constexpr (in_two<S>) {
    return k < S::width / 2 ? a.lanes.low[k] : a.lanes.high[k - S::width / 2];
  } else {
    return a.lanes[k];
  }
}

template <class S>
PYSIM_INLINE void set_lane(S& a, int k, typename S::Real x) {
  if constexpr (S::width == 1) {
    a.lanes = x;
  } else if constexpr (in_two<S>) {
    (k < S::width / 2 ? a.lanes.low : a.lanes.high)[k % (S::width / 2)] = x;
  } else {
    a.lanes[k] = x;
  }
}

/// a·b + c with one rounding where the processor has it; a·b + c on the baseline.
///
/// Called explicitly for all sums of products: contraction is off, so that AVX2 and AVX-512 give the
/// same bits.
template <class Real, int W, class Isa>
PYSIM_INLINE Pack<Real, W, Isa> fma(Pack<Real, W, Isa> a, Pack<Real, W, Isa> b, Pack<Real, W, Isa> c) {
  if constexpr (in_two<Pack<Real, W, Isa>>) {
    return join(fma(low(a), low(b), low(c)), fma(high(a), high(b), high(c)));
  } else {
    return {fma_lanes<Real, W, Isa>(a.lanes, b.lanes, c.lanes)};
  }
}

/// c − a·b.
template <class S>
PYSIM_INLINE S fnma(S a, S b, S c) {
  return fma(-a, b, c);
}

/// a·b − c.
template <class S>
PYSIM_INLINE S fms(S a, S b, S c) {
  return fma(a, b, -c);
}

template <class Real, int W, class Isa>
PYSIM_INLINE Pack<Real, W, Isa> sqrt(Pack<Real, W, Isa> a) {
  if constexpr (in_two<Pack<Real, W, Isa>>) {
    return join(sqrt(low(a)), sqrt(high(a)));
  } else {
    return {sqrt_lanes<Real, W, Isa>(a.lanes)};
  }
}

template <class S>
PYSIM_INLINE S abs(S a) {
  return select(a < all<S>(0), -a, a);
}

template <class S>
PYSIM_INLINE S min(S a, S b) {
  return select(a < b, a, b);
}

template <class S>
PYSIM_INLINE S max(S a, S b) {
  return select(a > b, a, b);
}

/// The smaller number, NaN where one of them is NaN; `min` returns b there, and takes fewer operations.
template <class S>
PYSIM_INLINE S minimum(S a, S b) {
  return select(a == a, min(a, b), a);
}

/// The larger number, NaN where one of them is NaN.
template <class S>
PYSIM_INLINE S maximum(S a, S b) {
  return select(a == a, max(a, b), a);
}

/// The largest |x_i|, world by world.
template <class S>
PYSIM_INLINE S largest(const S* x, int n) {
  S size = all<S>(0);
  for (int i = 0; i < n; ++i) size = max(size, abs(x[i]));
  return size;
}

/// Lane k from p[k·stride]: one number of W worlds, from one row per world.
template <class S>
PYSIM_INLINE S gather(const typename S::Real* p, std::ptrdiff_t stride) {
  if constexpr (S::width == 1) {
    return S{*p};
  } else {
    S a;
    for (int k = 0; k < S::width; ++k) set_lane(a, k, p[k * stride]);
    return a;
  }
}

/// Lane k from p[k].
template <class S>
PYSIM_INLINE S load(const typename S::Real* p) {
  S a;
  simd::copy_bytes(&a.lanes, p, sizeof(a.lanes));
  return a;
}

/// Lane k to p[k].
template <class S>
PYSIM_INLINE void store(const S& a, typename S::Real* p) {
  simd::copy_bytes(p, &a.lanes, sizeof(a.lanes));
}

/// Lane k to p[k·stride].
template <class S>
PYSIM_INLINE void scatter(S a, typename S::Real* p, std::ptrdiff_t stride) {
  if constexpr (S::width == 1) {
    *p = a.lanes;
  } else {
    for (int k = 0; k < S::width; ++k) p[k * stride] = lane(a, k);
  }
}

}  // namespace pysim::simd
