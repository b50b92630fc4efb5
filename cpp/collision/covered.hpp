// Contact normals of shapes whose faces other shapes of the same body cover: flush boxes of a floor, planks,
// convex parts of a mesh.
//
// A body that slides over a seam has sunk into both shapes, into the next one by less along the covered face
// than along the floor: the separating axis of least overlap would be that of a wall. Where the normal leans
// towards a covered face,
//
//     shapes that overlap   touch along the uncovered face of least overlap
//     shapes that are apart do not touch: what covers the face is nearer
#pragma once

#include "collision/facets.hpp"

namespace pysim::collision {

/// Sine of the angle from which on a normal leans towards a covered face.
constexpr double covered_sine = 0.01;

/// Whether a shape's outward normal leans towards one of its covered faces.
template <class S>
simd::Mask<S> leans_to_covered(const PlacedShape<S>& placed, const Vec3<S>& normal) {
  auto leans = simd::nowhere<S>();
  if (placed.shape->covered == 0) return leans;
  visit_faces(placed, [&](const Vec3<S>& face, bool is_covered) {
    if (is_covered) leans |= dot(face, normal) > all<S>(typename S::Real(covered_sine));
  });
  return leans;
}

/// What covered faces make of a contact normal.
template <class S>
struct CoveredFaces {
  simd::Mask<S> leans, apart;  ///< towards a covered face; of these, shapes that do not touch
  simd::Mask<S> of_b;          ///< whether the new normal is one of B
  Vec3<S> n;                   ///< the new normal where shapes overlap, from A to B
  S gap;                       ///< along it [m]

  /// Of a normal from A to B, along which they have a gap.
  CoveredFaces(const PlacedShape<S>& A, const PlacedShape<S>& B, const Vec3<S>& normal, S normal_gap)
      : leans(simd::nowhere<S>()), apart(leans), of_b(leans), n(normal), gap(normal_gap) {
    using Real = typename S::Real;
    if (A.shape->covered == 0 && B.shape->covered == 0) return;
    leans = leans_to_covered(A, normal) | leans_to_covered(B, -normal);
    if (none(leans)) return;
    apart = leans & (normal_gap >= all<S>(0));
    const auto overlaps = leans & !apart;
    gap = select(overlaps, all<S>(-simd::infinity), normal_gap);
    const S radii = core_radius(A) + core_radius(B);
    const S extents = -(core_gap(A, B, -normal) + core_gap(A, B, normal));
    const S tie = all<S>(sizeof(Real) == 8 ? Real(1e-6) : Real(1e-5)) * extents;
    const auto offer = [&](simd::Mask<S> valid, const Vec3<S>& axis, bool b) {
      if (none(valid)) return;
      const S along = core_gap(A, B, axis) - radii;
      const auto better = valid & (along > gap + tie);
      gap = select(better, along, gap);
      n = select(better, axis, n);
      of_b = b ? of_b | better : of_b & !better;
    };
    visit_faces(A, [&](const Vec3<S>& face, bool is_covered) {
      if (!is_covered) offer(overlaps & !leans_to_covered(B, -face), face, false);
    });
    visit_faces(B, [&](const Vec3<S>& face, bool is_covered) {
      if (!is_covered) offer(overlaps & !leans_to_covered(A, -face), -face, true);
    });
    apart |= overlaps & !(gap > all<S>(-simd::infinity));
  }

  /// Whether shapes overlap, and touch along another normal.
  simd::Mask<S> turned() const { return leans & !apart; }
};

/// Leaves out the points of shapes that do not touch. A pair that may touch at any time keeps a point with
/// the gap 0 at most, so that it is tested again.
template <class S>
void leave_out_covered(const CoveredFaces<S>& covered, int points, ManifoldPoint<S>* point) {
  const S o = all<S>(0);
  auto some = simd::nowhere<S>();
  for (int k = 0; k < points; ++k) {
    point[k].feature = select(covered.apart, o, point[k].feature);
    some |= point[k].feature > o;
  }
  point[0].gap = select(covered.turned() & !some, o, point[0].gap);
}

}  // namespace pysim::collision
