// Symmetric matrices of states, of which one triangle is made.
#pragma once

#include "engine/batch.hpp"
#include "simd/store_symmetric.hpp"

namespace pysim::engine {

/// Whether a matrix of packs is large enough for its mirror image to be made while it is stored. A smaller
/// one stays in the first-level cache, and leaves in one piece.
template <class S>
constexpr bool by_triangle(int n) {
  return std::ptrdiff_t{1} * n * n * static_cast<std::ptrdiff_t>(sizeof(S)) > 24 * 1024;
}

/// Stores the n × n matrix one of whose triangles `rows(first, count)` points at, a group of rows at a time.
/// The odd ones of a lower triangle come first, those of an upper one last: where rows are shortest.
template <simd::Triangle side, class S, class Rows>
PYSIM_INLINE void save_symmetric(const States<S>& at, int n, int group, Rows rows) {
  const std::ptrdiff_t size = std::ptrdiff_t{1} * n * n;
  for (int first = 0, count; first < n; first += count) {
    const int left = n - first, odd = left % group;
    count = side == simd::Triangle::lower && odd > 0 ? odd : left < group ? left : group;
    simd::store_symmetric<side>(rows(first, count), first, count, n, at.batch.out + at.first * size, size);
  }
}

}  // namespace pysim::engine
