// Common normal of two convex cores to rounding, from one that is nearly right.
#pragma once

#include "collision/core_search.hpp"

namespace pysim::collision {

/// Newton's method for a normal and the points where it is one, from a normal that is nearly right: support
/// points stay on the corner, rim or surface that they are on.
///
///     n·u = 0                  u  from one support point of a shape to another: along an edge or a face
///     t·(b − a − g n) = 0      t  across n and all u,  da = D_A dn,  db = −D_B dn,  g = n·(b − a)
///
/// The normal is then exact to rounding; the search of the distance alone leaves an error of about the root
/// of its accuracy.
template <class S>
class NormalRefinement {
 public:
  using Real = typename S::Real;

  Vec3<S> n, a, b;  ///< the normal, and the points

  NormalRefinement(const PlacedShape<S>& A,
                   const PlacedShape<S>& B,
                   const Witness<S>& witness,
                   S size,
                   const Vec3<S>& normal)
      : n(normal), A_(A), B_(B), at_(witness), least_(all<S>(rounding) * size * size) {}

  /// Improves the normal where it is `wanted` by some steps, and places the points.
  void run(int steps, simd::Mask<S> wanted) {
    for (int k = 0; k < steps && any(wanted); ++k) {
      place(wanted);
      step(wanted);
    }
    place(simd::everywhere<S>());
    slide();
  }

 private:
  /// An edge or a face of a shape: a direction along it.
  struct Edge {
    Vec3<S> u, flat;  ///< and its part across n
    S square;         ///< of that part, 0 for none
    simd::Mask<S> of_a;

    void take(simd::Mask<S> where, const Edge& e) {
      u = select(where, e.u, u);
      flat = select(where, e.flat, flat);
      square = simd::select(where, e.square, square);
      of_a = (where & e.of_a) | (of_a & !where);
    }
  };

  /// Support points along n, which move `where` worlds want it, and edges between them: the longest, and what
  /// is most across it. A point that follows twice moves by rounding: how often it does must not depend on
  /// other worlds.
  void place(simd::Mask<S> where) {
    const S o = all<S>(0);
    for (int k = 0; k < 3; ++k) {
      at_.a[k] = select(where, follow(A_, at_.a[k], n), at_.a[k]);
      at_.b[k] = select(where, follow(B_, at_.b[k], -n), at_.b[k]);
    }
    a = b = spatial::zero3<S>();
    for (int k = 0; k < 3; ++k) {
      a = fma(at_.weight[k], at_.a[k], a);
      b = fma(at_.weight[k], at_.b[k], b);
    }
    const Vec3<S> zero = spatial::zero3<S>();
    first_ = second_ = {zero, zero, o, simd::nowhere<S>()};
    constexpr int ends[3][2] = {{0, 1}, {0, 2}, {1, 2}};
    Edge edges[6];
    for (int k = 0; k < 6; ++k) {
      const auto [from, to] = ends[k % 3];
      const Vec3<S>* const p = k < 3 ? at_.a : at_.b;
      const auto exists = (at_.weight[from] > o) & (at_.weight[to] > o);
      const Vec3<S> u = select(exists, p[to] - p[from], zero), flat = fnma(dot(n, u), n, u);
      edges[k] = {u, flat, dot(flat, flat), k < 3 ? simd::everywhere<S>() : simd::nowhere<S>()};
      first_.take(edges[k].square > max(first_.square, least_), edges[k]);
    }
    const S inverse = all<S>(1) / max(first_.square, least_);
    S widest = o;
    for (const Edge& e : edges) {
      const Vec3<S> across = fnma(inverse * dot(first_.flat, e.flat), first_.flat, e.flat);
      const S wide = dot(across, across);
      const auto better = (wide > max(widest, least_)) & (wide > all<S>(parallel<Real>) * e.square);
      second_.take(better, e);
      widest = simd::select(better, wide, widest);
    }
  }

  void step(simd::Mask<S> wanted) {
    const S o = all<S>(0), e = all<S>(1);
    const auto has_first = first_.square > o, has_second = second_.square > o;
    const Vec3<S> any_across = tangent(n);
    const Vec3<S> t1 = select(has_first, (e / sqrt(max(first_.square, least_))) * first_.flat, any_across);
    const Vec3<S> t2 = cross(n, t1);
    const Vec3<S> w = b - a;
    const S g = dot(n, w);
    const auto bends = [&](const Vec3<S>& t) {
      Vec3<S> sum = spatial::zero3<S>();
      for (int k = 0; k < 3; ++k) {
        sum = fma(at_.weight[k], bend(A_, at_.a[k], n, t) + bend(B_, at_.b[k], -n, t), sum);
      }
      return sum;
    };
    const Vec3<S> D1 = bends(t1), D2 = bends(t2);
    const S d11 = dot(t1, D1) + g, d12 = dot(t1, D2), d22 = dot(t2, D2) + g;
    const S r1 = dot(t1, w), r2 = dot(t2, w);
    // along the first edge, or both by curvature
    const S det = d11 * d22 - d12 * d12;
    const auto solvable = abs(det) > least_ * all<S>(Real(1e-4));
    const S by_det = e / simd::select(solvable, det, e);
    const S free1 = simd::select(solvable, (r1 * d22 - r2 * d12) * by_det, o);
    const S free2 = simd::select(solvable, (r2 * d11 - r1 * d12) * by_det, o);
    const S x1 = simd::select(has_first, -dot(n, first_.u) / sqrt(max(first_.square, least_)), free1);
    const S second1 = dot(second_.flat, t1), second2 = dot(second_.flat, t2);
    const auto curves = d22 * d22 > least_;
    const S by_curve = simd::select(curves, fnma(d12, x1, r2) / simd::select(curves, d22, e), o);
    const S by_edge = -fma(second1, x1, dot(n, second_.u)) / simd::select(has_second, second2, e);
    const S x2 = simd::select(has_first, simd::select(has_second, by_edge, by_curve), free2);
    const Vec3<S> next = fma(x2, t2, fma(x1, t1, n));
    n = select(wanted, (e / sqrt(dot(next, next))) * next, n);
  }

  /// Moves the points along the edges until they are opposite to each other.
  void slide() {
    const S o = all<S>(0), e = all<S>(1);
    const Vec3<S> w = b - a, across = fnma(dot(n, w), n, w);
    const auto has_first = first_.square > o, has_second = second_.square > o;
    const S g11 = first_.square, g22 = second_.square, g12 = dot(first_.flat, second_.flat);
    const S det = simd::select(has_second, g11 * g22 - g12 * g12, e);
    const S r1 = dot(first_.flat, across), r2 = dot(second_.flat, across);
    const S alone = r1 / simd::select(has_first, g11, e);
    const S x1 = simd::select(has_first, simd::select(has_second, (r1 * g22 - r2 * g12) / det, alone), o);
    const S x2 = simd::select(has_second, (r2 * g11 - r1 * g12) / det, o);
    const auto move = [&](S x, const Edge& edge) {
      a = fma(simd::select(edge.of_a, x, o), edge.u, a);
      b = fnma(simd::select(edge.of_a, o, x), edge.u, b);
    };
    move(x1, first_);
    move(x2, second_);
  }

  /// Square of the length, relative to the size, of what is no edge but rounding.
  static constexpr Real rounding = sizeof(Real) == 8 ? Real(1e-24) : Real(1e-10);

  const PlacedShape<S>&A_, &B_;
  Witness<S> at_;
  const S least_;  ///< [m²]
  Edge first_, second_;
};

/// Refines a normal of cores of some `size` [m], and the points: it is that of a face if it is nearly so and
/// their overlap along the face is no larger. The cosine of the angle by which it turns is 1 − `most` or
/// more.
template <class S>
void refine(const PlacedShape<S>& A,
            const PlacedShape<S>& B,
            const Witness<S>& witness,
            simd::Mask<S> wanted,
            S size,
            Distance<S>& nearest,
            typename S::Real most = 1e-6) {
  using Real = typename S::Real;
  constexpr int steps = 4;
  const S least = fnma(all<S>(sizeof(Real) == 8 ? Real(1e-13) : Real(1e-6)), size, core_gap(A, B, nearest.n));
  const S near = all<S>(1 - most), same = all<S>(sizeof(Real) == 8 ? Real(1e-28) : Real(1e-12));
  Vec3<S> n = nearest.n;
  auto on_face = simd::nowhere<S>();
  const auto offer_face = [&](const Vec3<S>& face) {
    const Vec3<S> off = face - nearest.n;  // shapes without a face there give the normal itself
    const auto better = wanted & !on_face & (dot(face, nearest.n) > near) & (dot(off, off) > same) &
                        (core_gap(A, B, face) >= least);
    n = select(better, face, n);
    on_face |= better;
  };
  offer_face(face_normal(A, n));
  offer_face(-face_normal(B, -n));
  NormalRefinement<S> refined(A, B, witness, size, n);
  refined.run(steps, !on_face);
  const S gap = core_gap(A, B, refined.n);
  const auto taken = wanted & (gap >= least) & (dot(refined.n, nearest.n) > near);
  nearest.n = select(taken, refined.n, nearest.n);
  nearest.d = simd::select(taken, gap, nearest.d);
  nearest.p_A = select(taken, refined.a, nearest.p_A);
  nearest.p_B = select(taken, refined.b, nearest.p_B);
}

}  // namespace pysim::collision
