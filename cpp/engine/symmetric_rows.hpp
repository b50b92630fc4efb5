// Symmetric matrices of states, which leave for the caller's arrays some rows at a time.
#pragma once

#include "engine/batch.hpp"
#include "simd/store_symmetric.hpp"

namespace pysim::engine {

/// Stores the n × n matrix whose rows `make(first, count, packs)` makes up to their diagonals, a pack's width of
/// them at a time; the odd ones come first.
template <class S, class Make>
PYSIM_INLINE void save_symmetric(States<S>& at, int n, Make make) {
  const std::ptrdiff_t size = std::ptrdiff_t{1} * n * n;
  S* const packs = at.w.template take<S>(std::ptrdiff_t{S::width} * n);
  for (int first = 0, count; first < n; first += count) {
    count = (n - first) % S::width == 0 ? S::width : (n - first) % S::width;
    make(first, count, packs);
    simd::store_symmetric(packs, first, count, n, at.batch.out + at.first * size, size);
  }
}

}  // namespace pysim::engine
