// Full registers of numbers of one world, for operations that are the same for all of them.
//
// A pack of worlds fills its registers already. A single world fills its lanes with its coordinates; every
// lane does the arithmetic of the scalar code and gives the same bits.
#pragma once

#include "simd/partial_load.hpp"

namespace pysim::simd {

/// Doubles or floats of a full register.
template <class S>
constexpr int full_width() {
  return static_cast<int>(register_bytes<typename S::Isa>() / sizeof(typename S::Real));
}

/// Whether S is one number that shares a register with others: no pack, and none with a slope or a tape.
template <class S>
constexpr bool is_one_number = false;

template <class Real, class Isa>
constexpr bool is_one_number<Pack<Real, 1, Isa>> = true;

template <class S, bool alone>
struct WideOf {
  using type = S;
};

template <class S>
struct WideOf<S, true> {
  using type = Pack<typename S::Real, full_width<S>(), typename S::Isa>;
};

/// A pack of worlds, or numbers of one world.
template <class S>
using Wide = typename WideOf<S, is_one_number<S>>::type;

/// Number of consecutive S in one Wide<S>.
template <class S>
constexpr int at_once = Wide<S>::width / S::width;

/// The T, as many S as it holds, starting at p.
template <class T, class S>
PYSIM_INLINE T load_at(const S* p) {
  if constexpr (T::width == S::width) {
    return *p;
  } else {
    return load<T>(&p->lanes);
  }
}

template <class T, class S>
PYSIM_INLINE void store_at(const T& a, S* p) {
  if constexpr (T::width == S::width) {
    *p = a;
  } else {
    store(a, &p->lanes);
  }
}

/// The same number in all lanes of a world.
template <class T, class S>
PYSIM_INLINE T widen(S x) {
  if constexpr (T::width == S::width) {
    return x;
  } else {
    return all<T>(x.lanes);
  }
}

/// f(T, i) for n numbers: Wide<S> while there are enough of them, then S by S.
template <class S, class F>
PYSIM_INLINE void side_by_side(int n, F f) {
  int i = 0;
  for (; i + at_once<S> <= n; i += at_once<S>) f(Wide<S>{}, i);
  if constexpr (at_once<S> > 1) {
    for (; i < n; ++i) f(S{}, i);
  }
}

/// to = from, n numbers; they do not overlap.
template <class S>
PYSIM_INLINE void copy_each(const S* from, int n, S* to) {
  side_by_side<S>(n, [=](auto kind, int i) { store_at(load_at<decltype(kind)>(from + i), to + i); });
}

/// sum = a + b, n numbers; `sum` may be either.
template <class S>
PYSIM_INLINE void add_each(const S* a, const S* b, int n, S* sum) {
  side_by_side<S>(n, [=](auto kind, int i) {
    using T = decltype(kind);
    store_at(load_at<T>(a + i) + load_at<T>(b + i), sum + i);
  });
}

/// to = from where the mask holds, n numbers.
template <class S>
PYSIM_INLINE void copy_where(Mask<S> mask, const S* from, int n, S* to) {
  if constexpr (S::width == 1) {
    if (any(mask)) copy_each(from, n, to);
  } else {
    for (int i = 0; i < n; ++i) to[i] = select(mask, from[i], to[i]);
  }
}

}  // namespace pysim::simd
