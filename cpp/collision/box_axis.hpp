// Separating axis of two boxes: of the face normals and the products of edges, the one of least overlap
// [Ericson 2005, section 4.4.1]; of boxes that are apart, the one of the greatest gap.
#pragma once

#include "collision/covered.hpp"

namespace pysim::collision {

/// Edges whose product is nearer to a face normal than this cosine give way to the face: points on a face
/// carry boxes that lie on each other and lean by their load.
constexpr double face_cosine = 0.99;

/// Separating axis of two boxes: the one of least overlap, or of the greatest gap.
template <class S>
struct BoxAxis {
  S gap;
  Vec3<S> n;                  ///< unit, from A to B
  simd::Mask<S> of_b, edges;  ///< whether it is a normal of B, or the product of two edges
  S edge;                     ///< their number, 0 … 8
  Vec3<S> p, u, q, v;         ///< middles and directions of the edges
  S g, h;                     ///< their half lengths

  /// Takes a face normal if it separates the boxes better; `along` is r on it.
  void offer_face(const Vec3<S>& axis, S along, S separation, bool b, S tie) {
    const auto better = separation > gap + tie;
    gap = select(better, separation, gap);
    n = collision::select(better, collision::select(along < all<S>(0), -axis, axis), n);
    of_b = b ? of_b | better : of_b & !better;
  }

  /// Takes the normal of an uncovered face where the normal leans towards a covered one.
  void take(const CoveredFaces<S>& covered) {
    const auto turned = covered.turned();
    if (none(turned)) return;
    gap = select(turned, covered.gap, gap);
    n = collision::select(turned, covered.n, n);
    of_b = simd::select(turned, covered.of_b, of_b);
    edges &= !turned;
  }

  /// Takes the product of edges of another axis `where` it is one.
  void take_edges(simd::Mask<S> where, const BoxAxis& axis) {
    const auto better = where & axis.edges;
    gap = select(better, axis.gap, gap);
    n = collision::select(better, axis.n, n);
    edges |= better;
    edge = select(better, axis.edge, edge);
    p = collision::select(better, axis.p, p);
    q = collision::select(better, axis.q, q);
    u = collision::select(better, axis.u, u);
    v = collision::select(better, axis.v, v);
    g = select(better, axis.g, g);
    h = select(better, axis.h, h);
  }

  /// Takes the product of edges i of A and j of B.
  void take_edges(simd::Mask<S> better,
                  const Core<S, 3>& A,
                  const Core<S, 3>& B,
                  int i,
                  int j,
                  const Vec3<S>& axis,
                  S separation) {
    gap = select(better, separation, gap);
    n = collision::select(better, axis, n);
    edges |= better;
    edge = select(better, all<S>(typename S::Real(3 * i + j)), edge);
    p = collision::select(better, supporting_edge(A, i, axis), p);
    q = collision::select(better, supporting_edge(B, j, -axis), q);
    u = collision::select(better, A.axis[i], u);
    v = collision::select(better, B.axis[j], v);
    g = select(better, A.half[i], g);
    h = select(better, B.half[j], h);
  }

 private:
  /// Middle of the edge along axis i that is farthest along n.
  static Vec3<S> supporting_edge(const Core<S, 3>& box, int i, const Vec3<S>& n) {
    Vec3<S> middle = box.centre;
    for (int k = 0; k < 3; ++k) {
      if (k == i) continue;
      const auto backward = dot(n, box.axis[k]) < all<S>(0);
      middle = fma(select(backward, -box.half[k], box.half[k]), box.axis[k], middle);
    }
    return middle;
  }
};

/// A gap of `reach` or more in all worlds may be smaller than the greatest one. Edges give way to faces that
/// they lean to, but in `all_edges`.
///
///     C_ij = a_i · b_j    r = p_B − p_A    α, β  half lengths
///
///     along a_i        |a_i · r| − α_i − Σ_j β_j |C_ij|
///     along a_i × b_j  (|C_kj (a_l · r) − C_lj (a_k · r)| − α_k |C_lj| − α_l |C_kj| − β_m |C_in| − β_n
///     |C_im|)
///                      / √(C_kj² + C_lj²)    with i, k, l and j, m, n cyclic
template <class S>
BoxAxis<S> box_axis(const PlacedShape<S>& A, const PlacedShape<S>& B, S reach, bool all_edges = false) {
  using Real = typename S::Real;
  const S o = all<S>(0), e = all<S>(1);
  const Vec3<S> z = spatial::zero3<S>();
  const auto nowhere = simd::nowhere<S>();
  const S least = min(min(min(A.size.x, A.size.y), A.size.z), min(min(B.size.x, B.size.y), B.size.z));
  BoxAxis<S> best = {all<S>(-simd::infinity), z, nowhere, nowhere, o, z, z, z, z, o, o};
  const S tie = all<S>(sizeof(Real) == 8 ? Real(1e-5) : Real(1e-4)) * least;
  const Core<S, 3> a = A.box(), b = B.box();
  const Vec3<S> r = b.centre - a.centre;
  S C[3][3], size[3][3], on_a[3], on_b[3];
  for (int i = 0; i < 3; ++i) {
    on_a[i] = dot(a.axis[i], r);
    on_b[i] = dot(b.axis[i], r);
    for (int j = 0; j < 3; ++j) {
      C[i][j] = dot(a.axis[i], b.axis[j]);
      size[i][j] = abs(C[i][j]);
    }
  }
  for (int i = 0; i < 3; ++i) {
    const S reach_b = fma(size[i][2], b.half[2], fma(size[i][1], b.half[1], size[i][0] * b.half[0]));
    best.offer_face(a.axis[i], on_a[i], abs(on_a[i]) - a.half[i] - reach_b, false, tie);
  }
  for (int j = 0; j < 3; ++j) {
    const S reach_a = fma(size[2][j], a.half[2], fma(size[1][j], a.half[1], size[0][j] * a.half[0]));
    best.offer_face(b.axis[j], on_b[j], abs(on_b[j]) - reach_a - b.half[j], true, tie);
  }
  if (none(best.gap < reach)) return best;
  for (int i = 0; i < 3; ++i) {
    const int k = (i + 1) % 3, l = (i + 2) % 3;
    for (int j = 0; j < 3; ++j) {
      const int m = (j + 1) % 3, n = (j + 2) % 3;
      const S square = fma(C[k][j], C[k][j], C[l][j] * C[l][j]);
      const S most = max(max(size[k][j], size[l][j]), max(size[i][m], size[i][n]));
      const auto leans = most * most < all<S>(face_cosine * face_cosine) * square;
      const auto crossing = (all_edges ? simd::everywhere<S>() : leans) & (square > all<S>(Real(1e-6)));
      if (none(crossing)) continue;
      const S inverse = e / sqrt(select(crossing, square, e));
      const S along = C[k][j] * on_a[l] - C[l][j] * on_a[k];
      const S reach_a = fma(a.half[k], size[l][j], a.half[l] * size[k][j]);
      const S reach_b = fma(b.half[m], size[i][n], b.half[n] * size[i][m]);
      const S separation = inverse * (abs(along) - reach_a - reach_b);
      const auto better = crossing & (separation > best.gap + tie);
      if (none(better)) continue;
      const Vec3<S> axis = select(along < o, -inverse, inverse) * cross(a.axis[i], b.axis[j]);
      best.take_edges(better, a, b, i, j, axis, separation);
    }
  }
  return best;
}

}  // namespace pysim::collision
