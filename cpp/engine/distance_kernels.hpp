// Distances of pairs of shapes, row by row: sizes (3) and pose (12) of each, rotation column-major, then
// position.
#pragma once

#include "collision/pairs.hpp"
#include "engine/contact_kernels.hpp"

namespace pysim::engine {

template <class S>
collision::PlacedShape<S> load_shape(const collision::Shape<double>& shape, const typename S::Real* rows) {
  constexpr int stride = DistanceMap::in;
  S x[stride];
  for (int i = 0; i < stride; ++i) x[i] = simd::gather<S>(rows + i, stride);
  const auto vector = [&](int i) { return spatial::Vec3<S>{x[i], x[i + 1], x[i + 2]}; };
  return {vector(0), {{vector(3), vector(6), vector(9)}, vector(12)}, &shape};
}

template <class S>
void distance_rows(int pair,
                   const collision::Shape<double>& shape_a,
                   const collision::Shape<double>& shape_b,
                   const typename S::Real* a,
                   const typename S::Real* b,
                   typename S::Real* y) {
  const auto D = collision::distance(
      collision::DistancePair{pair}, load_shape<S>(shape_a, a), load_shape<S>(shape_b, b));
  const S out[] = {D.d, D.n.x, D.n.y, D.n.z, D.p_A.x, D.p_A.y, D.p_A.z, D.p_B.x, D.p_B.y, D.p_B.z};
  constexpr int numbers = DistanceMap::out;
  for (int i = 0; i < numbers; ++i) simd::scatter(out[i], y + i, numbers);
}

/// Whole packs first, then the remaining rows one at a time through the same code.
template <class S, class Tail>
void distances(int pair,
               const collision::Shape<double>& shape_a,
               const collision::Shape<double>& shape_b,
               const typename S::Real* a,
               const typename S::Real* b,
               typename S::Real* y,
               std::ptrdiff_t rows) {
  using Map = DistanceMap;
  std::ptrdiff_t k = 0;
  for (; k + S::width <= rows; k += S::width) {
    distance_rows<S>(pair, shape_a, shape_b, a + k * Map::in, b + k * Map::in, y + k * Map::out);
  }
  for (; k < rows; ++k) {
    distance_rows<Tail>(pair, shape_a, shape_b, a + k * Map::in, b + k * Map::in, y + k * Map::out);
  }
}

}  // namespace pysim::engine
