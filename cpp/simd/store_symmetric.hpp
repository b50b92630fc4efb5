// A symmetric matrix of W worlds, stored world by world from the rows of one of its triangles.
//
// Blocks of W columns, transposed, give W numbers of a row of every world; the same packs taken down a column
// give W numbers of the mirrored row. The other triangle of packs, and its strided stores, are never made.
#pragma once

#include "simd/transpose.hpp"

namespace pysim::simd {

/// Which side of the diagonal a matrix's rows hold, the diagonal included.
enum class Triangle { lower, upper };

/// Rows first … first + count of an n × n matrix at `out` whose worlds lie `stride` apart, and
/// the columns of the same numbers. What `packs` (count × n) lacks of the diagonal's block is filled in.
template <Triangle side, class S>
void store_symmetric(S* packs, int first, int count, int n, typename S::Real* out, std::ptrdiff_t stride) {
  constexpr bool lower = side == Triangle::lower;
  const int last = first + count;
  S* const block = packs + first;
  for (int r = 0; r < count; ++r) {
    for (int c = r + 1; c < count; ++c) {
      if (lower) block[r * n + c] = block[c * n + r];
      if (!lower) block[c * n + r] = block[r * n + c];
    }
  }
  const int begin = lower ? 0 : first, end = lower ? last : n;
  for (int r = 0; r < count; ++r) {
    store_rows(packs + r * n + begin, end - begin, out + (first + r) * n + begin, stride);
  }
  for (int l = lower ? 0 : last; l < (lower ? first : n); ++l) {
    int r = 0;
    for (; r + S::width <= count; r += S::width) {
      store_block(packs + r * n + l, n, out + l * n + first + r, stride);
    }
    for (; r < count; ++r) scatter(packs[r * n + l], out + l * n + first + r, stride);
  }
}

}  // namespace pysim::simd
