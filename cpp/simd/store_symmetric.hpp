// A symmetric matrix of W worlds, stored world by world as its rows are made.
//
// W rows at a time are enough: their blocks of W columns, transposed, give W numbers of a row of every world;
// the same packs taken down a column give W numbers of the mirrored row. The matrix of packs itself, eight or
// sixteen times as large as a world's, is then never written and read again.
#pragma once

#include "simd/transpose.hpp"

namespace pysim::simd {

/// Rows first … first + count, count ≤ W, of an n × n matrix at `out` whose worlds lie `stride` apart.
///
/// packs (count × n) holds them up to the diagonal; what is missing of the diagonal's block is filled in.
template <class S>
void store_symmetric(S* packs, int first, int count, int n, typename S::Real* out, std::ptrdiff_t stride) {
  for (int r = 0; r < count; ++r) {
    for (int c = r + 1; c < count; ++c) packs[r * n + first + c] = packs[c * n + first + r];
  }
  for (int r = 0; r < count; ++r) store_rows(packs + r * n, first + count, out + (first + r) * n, stride);
  for (int l = 0; l < first; ++l) {
    if (count == S::width) {
      store_block(packs + l, n, out + l * n + first, stride);
    } else {
      for (int r = 0; r < count; ++r) scatter(packs[r * n + l], out + l * n + first + r, stride);
    }
  }
}

}  // namespace pysim::simd
