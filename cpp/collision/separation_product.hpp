// Signed distance of two convex shapes with numbers on a tape: the search is made with their values, and its
// refinement, Newton's method, is recorded from where it ends.
//
//     F(n; X_A, X_B) = 0      a step of Newton's method from its root has the derivative of the root
#pragma once

#include "collision/separation.hpp"
#include "simd/reverse.hpp"

namespace pysim::collision {

template <class S>
Vec3<S> value_of(const Vec3<simd::Reverse<S>>& a) {
  return {a.x.value, a.y.value, a.z.value};
}

template <class S>
Vec3<simd::Reverse<S>> on_tape(const Vec3<S>& a) {
  using R = simd::Reverse<S>;
  return {R(a.x), R(a.y), R(a.z)};
}

template <class S>
PlacedShape<S> value_of(const PlacedShape<simd::Reverse<S>>& own) {
  return {value_of(own.size),
          {{value_of(own.X.R.x), value_of(own.X.R.y), value_of(own.X.R.z)}, value_of(own.X.p)},
          own.shape};
}

/// The distance of the surfaces from that of the cores of shapes with these radii, as convex_distance has it.
template <class R>
Distance<R> between_surfaces(Distance<R> found, R r_A, R r_B) {
  const R half = all<R>(typename R::Real(0.5));
  const Vec3<R> middle = half * (found.p_A + found.p_B);
  const R off = dot(found.n, found.p_B - middle) - half * found.d;
  const Vec3<R> p = fma(off, found.n, middle);
  found.p_A = fma(r_A, found.n, fnma(half * found.d, found.n, p));
  found.d = found.d - r_A - r_B;
  found.p_B = fma(found.d, found.n, found.p_A);
  return found;
}

/// Whether a unit normal is that of a flat face of a shape, which is nearest to directions nearby, too.
template <class S>
simd::Mask<S> is_on_face(const PlacedShape<S>& placed, const Vec3<S>& n) {
  using Real = typename S::Real;
  const Vec3<S> off = face_normal(placed, fma(all<S>(Real(1e-5)), tangent(n), n)) - n;
  return dot(off, off) < all<S>(sizeof(Real) == 8 ? Real(1e-24) : Real(1e-12));
}

/// Support points move with their shapes. The two cores are searched once more, moved apart along the normal,
/// for the points that it rests on. A face that has the normal carries it along; of what is not a normal,
/// only the points move.
template <class S>
Distance<simd::Reverse<S>> convex_distance(const PlacedShape<simd::Reverse<S>>& A,
                                           const PlacedShape<simd::Reverse<S>>& B,
                                           simd::Reverse<S> reach) {
  using R = simd::Reverse<S>;
  using Real = typename S::Real;
  constexpr int steps = 4;
  const PlacedShape<S> a = value_of(A), b = value_of(B);
  const S r_a = core_radius(a), r_b = core_radius(b), inf = all<S>(simd::infinity);
  const Distance<S> D = convex_distance(a, b, reach.value);
  const Vec3<S> between = b.X.p - a.X.p;
  const bool curved = is_curved(A.shape->kind) || is_curved(B.shape->kind);
  const S size = max(sqrt(dot(between, between)) - core_gap(a, b, D.n), all<S>(Real(1e-9)));
  const S margin = all<S>(Real(curved ? 0.15 : 0.005)) * size;
  CoreSearch<S> search(a, b, all<S>(1), D.n);
  search.move((margin - min(core_gap(a, b, D.n), margin)) * D.n, D.n);
  search.run(simd::everywhere<S>(), all<S>(fine<Real>), inf);
  Witness<S> at;
  search.keep(simd::everywhere<S>(), at);
  const auto carried = [](const PlacedShape<R>& own, const PlacedShape<S>& placed, const Vec3<S>& p) {
    return own.X * on_tape(transpose_times(placed.X.R, p - placed.X.p));
  };
  const auto turned = [](const PlacedShape<R>& own, const PlacedShape<S>& placed, const Vec3<S>& n) {
    return own.X.R * on_tape(transpose_times(placed.X.R, n));
  };
  Witness<R> witness;
  for (int k = 0; k < 3; ++k) {
    witness.a[k] = carried(A, a, at.a[k]);
    witness.b[k] = carried(B, b, at.b[k]);
    witness.weight[k] = R(at.weight[k]);
  }
  const auto on_a = is_on_face(a, D.n), on_b = is_on_face(b, -D.n) & !on_a;
  const auto mask = [](simd::Mask<S> m) { return simd::Mask<R>{m.lanes}; };
  const Vec3<R> n =
      select(mask(on_a), turned(A, a, D.n), select(mask(on_b), turned(B, b, D.n), on_tape(D.n)));
  NormalRefinement<R> refined(A, B, witness, R(size), n);
  refined.run(steps, mask(!(on_a | on_b)));
  const auto near = mask(dot(value_of(refined.n), D.n) > all<S>(Real(1 - 1e-6)));
  Distance<R> found = {R(),
                       select(near, refined.n, n),
                       select(near, refined.a, carried(A, a, fnma(r_a, D.n, D.p_A))),
                       select(near, refined.b, carried(B, b, fma(r_b, D.n, D.p_B)))};
  found.d = dot(found.n, found.p_B - found.p_A);
  return between_surfaces(found, R(r_a), R(r_b));
}

}  // namespace pysim::collision
