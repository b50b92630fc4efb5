// Force that an actuator bounds, in a convex step: a spring and damper on a coordinate that saturate.
//
//     f(v) = clip(a − c v, lower, upper)      c = d + h k ≥ 0, v at the end of the step
//     γ = h (f(v) − f*(v))                    f* = a − c v within the bounds at the start, else the bound
//
// f* is what v* has seen: a force within its bounds is in the matrix A, so that it costs nothing until it
// reaches one; a saturated one is constant in v*, so that a stiff servo far from its target does not throw v*
// there. Either way the sum is a bounded spring and damper, whose potential is convex.
#pragma once

#include "contact/kinds/kind.hpp"

namespace pysim::contact {

template <class S>
struct BoundedForce {
  int v;  ///< the tree's coordinate
  S a, c, lower, upper;
  S saturated;              ///< f* where it is constant
  simd::Mask<S> is_within;  ///< where f* = a − c v
};

template <class S>
struct BoundedImpulse {
  S gamma, slope;
};

template <class S>
BoundedImpulse<S> bounded_impulse(const BoundedForce<S>& law, S h, S v) {
  const S o = simd::all<S>(0), force = fnma(law.c, v, law.a);
  const S clipped = max(min(force, law.upper), law.lower);
  const S hc = h * law.c;
  return {h * (clipped - select(law.is_within, force, law.saturated)),
          select(clipped == force, hc, o) - select(law.is_within, hc, o)};
}

/// Its potential: ∫ clip(f) df / c + the work of f*, with f = a − c v.
template <class S>
S bounded_potential(const BoundedForce<S>& law, S h, S v) {
  const S half = all<S>(typename S::Real(0.5)), force = fnma(law.c, v, law.a);
  const S clipped = max(min(force, law.upper), law.lower);
  const S clip = clipped * fnma(half, clipped, force) / law.c;
  const S seen = select(law.is_within, v * fnma(half * law.c, v, law.a), law.saturated * v);
  return h * (clip + seen);
}

template <class S>
struct BoundedIterate : Iterate<S> {
  BoundedForce<S> law;
  BoundedImpulse<S> impulse;
};

template <class S>
class BoundedKind : public Kind<S> {
 public:
  using typename Kind<S>::Real;

  explicit BoundedKind(const KindContext<S>& c)
      : bounded(tree::take<BoundedIterate<S>>(c.w, c.bounded_forces)), count_(c.bounded_forces), h_(c.h) {}

  BoundedIterate<S>* const bounded;  ///< [bounded forces]

  Mask<S> touched() const {
    auto found = simd::nowhere<S>();
    each([&](const BoundedIterate<S>& B) {
      found |= !(bounded_impulse(B.law, h_, B.free).gamma == all<S>(0));
    });
    return found;
  }

  void start() {
    each([](BoundedIterate<S>& B) {
      B.now = B.start;
      B.made = all<S>(0);
    });
  }

  void evaluate() {
    each([&](BoundedIterate<S>& B) { B.impulse = bounded_impulse(B.law, h_, B.now); });
  }

  void load(const Iteration<S>& iteration, ContactMatrix<S>& matrix) {
    each([&](const BoundedIterate<S>& B) {
      const auto& I = B.impulse;
      matrix.add(
          B.law.v, I.slope, iteration.whole ? fma(I.slope, B.now - B.free, I.gamma) : I.gamma - B.made);
    });
  }

  void move(const Iteration<S>& iteration, const S* delta, bool aims) {
    each([&](BoundedIterate<S>& B) {
      B.next = (iteration.whole ? B.free : B.now) + delta[B.law.v];
      if (aims) B.aimed = fma(B.impulse.slope, B.now - B.next, B.impulse.gamma);
    });
  }

  void add_slope_at_start(S& sum) const {
    each([&](const BoundedIterate<S>& B) { sum = fma(B.next - B.now, B.made - B.impulse.gamma, sum); });
  }

  void add_slope_along(S alpha, S& sum) const {
    each([&](const BoundedIterate<S>& B) {
      const S du = B.next - B.now;
      const auto I = bounded_impulse(B.law, h_, fma(alpha, du, B.now));
      sum = fma(du, fma(alpha, B.aimed - B.made, B.made) - I.gamma, sum);
    });
  }

  void advance(const Advance<S>& mix) {
    each([&](BoundedIterate<S>& B) {
      B.now = mix(B.now, B.next);
      B.made = mix(B.made, B.aimed);
    });
  }

  /// Relative to the range of the force, and within rounding.
  Mask<S> converged(Real tolerance) const {
    auto good = simd::everywhere<S>();
    each([&](const BoundedIterate<S>& B) {
      const BoundedForce<S>& law = B.law;
      const S size = fma(law.c, max(abs(B.now), abs(B.free)), abs(law.a));
      const S off = abs(B.impulse.gamma - B.made);
      good &= off <= h_ * fma(all<S>(tolerance), law.upper - law.lower, all<S>(Kind<S>::rounding) * size);
    });
    return good;
  }

  void note(NewtonIteration& last) const {
    each([&](const BoundedIterate<S>& B) {
      const BoundedForce<S>& law = B.law;
      const S range = h_ * (law.upper - law.lower), force = fnma(law.c, B.now, law.a);
      this->add_cost(last, bounded_potential(law, h_, B.now), (B.now - B.free) * B.made);
      this->add_residual(last, abs(B.impulse.gamma - B.made), range);
      last.bounded += any((force < law.lower) | (force > law.upper));
    });
  }

 private:
  template <class Visit>
  void each(const Visit& visit) const {
    for (int n = 0; n < count_; ++n) visit(bounded[n]);
  }

  const int count_;
  const S h_;
};

}  // namespace pysim::contact
