// Force that an actuator bounds, in a convex step: a spring and damper on a coordinate that saturate.
//
//     f(v) = clip(a − c v, lower, upper)      c = d + h k ≥ 0, v at the end of the step
//     γ = h (f(v) − f*(v))                    f* = σ (a − c v) + (1 − σ) f₀
//
// f* is what v* has seen: a force within its bounds is in the matrix A, so that it costs nothing until it
// reaches one; a saturated one is constant in v*, the force f₀ at the start, so that a stiff servo far from
// its target does not throw v* there. Near a bound it is so in part, by the share σ that `share_within`
// gives: what follows from v*, as the velocity terms do, has no jump where a force reaches its bound. The sum
// is a bounded spring and damper, whose potential is convex, whatever σ is.
#pragma once

#include "contact/kinds/kind.hpp"

namespace pysim::contact {

template <class S>
struct BoundedForce {
  int v;  ///< the tree's coordinate
  S a, c, lower, upper;
  S constant;  ///< f₀, within the bounds
  S share;     ///< σ of a − c v in f*

  /// σ x + (1 − σ) y.
  S mix(S x, S y) const { return select(share == all<S>(1), x, fma(share, x - y, y)); }
};

/// 1 for a force x well within its bounds, which falls to 0 over the last hundredth of their range.
template <class S>
S share_within(S x, S lower, S upper) {
  const S o = all<S>(0), e = all<S>(1), room = min(x - lower, upper - x);
  const S width = all<S>(typename S::Real(0.01)) * (upper - lower);
  return select(room >= width, e, select(room > o, room / select(width > o, width, e), o));
}

template <class S>
struct BoundedImpulse {
  S gamma, slope;
};

template <class S>
BoundedImpulse<S> bounded_impulse(const BoundedForce<S>& law, S h, S v) {
  const S o = simd::all<S>(0), force = fnma(law.c, v, law.a);
  const S clipped = max(min(force, law.upper), law.lower);
  const S hc = h * law.c;
  return {h * (clipped - law.mix(force, law.constant)), select(clipped == force, hc, o) - law.share * hc};
}

/// Adds the cotangents of the force's numbers, but for its coordinate, for that of its impulse.
template <class S>
void bounded_impulse_product(const BoundedForce<S>& law, S h, S v, S bar, BoundedForce<S>& sums) {
  const S o = all<S>(0), e = all<S>(1), force = fnma(law.c, v, law.a), pushed = h * bar;
  const auto over = force > law.upper, clipped = over | (force < law.lower), mixes = !(law.share == e);
  sums.upper += select(over, pushed, o);
  sums.lower += select(clipped & !over, pushed, o);
  const S by_force = select(clipped, o, pushed) - law.share * pushed;
  sums.constant = sums.constant - select(mixes, (e - law.share) * pushed, o);
  sums.share = sums.share - select(mixes, (force - law.constant) * pushed, o);
  sums.a += by_force;
  sums.c = fnma(v, by_force, sums.c);
}

/// Its potential: ∫ clip(f) df / c + the work of f*, with f = a − c v.
template <class S>
S bounded_potential(const BoundedForce<S>& law, S h, S v) {
  const S half = all<S>(typename S::Real(0.5)), force = fnma(law.c, v, law.a);
  const S clipped = max(min(force, law.upper), law.lower);
  const S clip = clipped * fnma(half, clipped, force) / law.c;
  const S seen = law.mix(v * fnma(half * law.c, v, law.a), law.constant * v);
  return h * (clip + seen);
}

template <class S>
struct BoundedIterate : Iterate<S> {
  BoundedForce<S> law;
  BoundedImpulse<S> impulse;
  bool acts;  ///< whether the impulse, its slope, or γ̂ is not zero in some world
};

template <class S>
class BoundedKind : public Kind<S> {
 public:
  using typename Kind<S>::Real;

  explicit BoundedKind(const KindContext<S>& c)
      : bounded(tree::take<BoundedIterate<S>>(c.w, c.bounded_forces)),
        count_(c.bounded_forces),
        h_(c.h),
        tolerance_(all<S>(c.tolerance)),
        line_(tree::take<Line>(c.w, c.bounded_forces)) {}

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
      B.gamma_hat = all<S>(0);
    });
  }

  /// Impulses are those of the law relative to the range of the force, but no wider than the force needs, and
  /// within rounding.
  void evaluate() {
    converged_ = simd::everywhere<S>();
    each([&](BoundedIterate<S>& B) {
      const BoundedForce<S>& law = B.law;
      const S o = all<S>(0);
      B.acts = !simd::all(is_within(law, B.now) & (B.gamma_hat == o));
      if (!B.acts) {
        B.impulse = {o, o};
        return;
      }
      B.impulse = bounded_impulse(law, h_, B.now);
      const S size = fma(law.c, max(abs(B.now), abs(B.free)), abs(law.a));
      const S off = abs(B.impulse.gamma - B.gamma_hat);
      converged_ &= off <= h_ * fma(tolerance_, range(law, B.now), all<S>(Kind<S>::rounding) * size);
    });
  }

  void load(const Iteration<S>& iteration, ContactMatrix<S>& matrix) {
    each([&](const BoundedIterate<S>& B) {
      if (!B.acts) return;
      const auto& I = B.impulse;
      matrix.add(B.law.v,
                 I.slope,
                 iteration.from_free ? fma(I.slope, B.now - B.free, I.gamma) : I.gamma - B.gamma_hat);
    });
  }

  void move(const Iteration<S>& iteration, const S* delta, bool aims) {
    each([&](BoundedIterate<S>& B) {
      B.next = (iteration.from_free ? B.free : B.now) + delta[B.law.v];
      if (aims && B.acts) B.aimed = fma(B.impulse.slope, B.now - B.next, B.impulse.gamma);
    });
  }

  void begin_search(Search<S>& search) {
    lines_ = 0;
    each([&](const BoundedIterate<S>& B) {
      const BoundedForce<S>& law = B.law;
      const S du = B.next - B.now, o = all<S>(0);
      if (B.acts) search.add(du, B.gamma_hat, B.aimed, B.impulse.gamma);
      const auto within = is_within(law, B.now) & is_within(law, B.next);
      if (simd::all(within)) return;  // the impulse is zero at both ends, and so between them
      const S force = fnma(law.c, B.now, law.a), rate = -law.c * du;
      line_[lines_++] = {
          force, rate, law.lower, law.upper, law.mix(force, law.constant), law.mix(rate, o), h_ * du};
    });
  }

  PYSIM_INLINE void add_slope_along(S alpha, S& sum) const {
    for (int n = 0; n < lines_; ++n) {
      const Line& L = line_[n];
      const S clipped = max(min(fma(alpha, L.rate, L.force), L.upper), L.lower);
      sum = fma(L.along, clipped - fma(alpha, L.seen_rate, L.seen), sum);
    }
  }

  void advance(const Advance<S>& mix) {
    each([&](BoundedIterate<S>& B) {
      B.now = mix(B.now, B.next);
      if (B.acts) B.gamma_hat = mix(B.gamma_hat, B.aimed);
    });
  }

  Mask<S> converged() const { return converged_; }

  void note(NewtonIteration& last) const {
    each([&](const BoundedIterate<S>& B) {
      const BoundedForce<S>& law = B.law;
      const S range = h_ * this->range(law, B.now), force = fnma(law.c, B.now, law.a);
      this->add_cost(last, bounded_potential(law, h_, B.now), (B.now - B.free) * B.gamma_hat);
      this->add_residual(last, abs(B.impulse.gamma - B.gamma_hat), range);
      last.bounded += any((force < law.lower) | (force > law.upper));
    });
  }

 private:
  /// Range of the force, which may be infinite: at most twice the size of the forces at v and at the start.
  static S range(const BoundedForce<S>& law, S v) {
    const S clipped = max(min(fnma(law.c, v, law.a), law.upper), law.lower);
    return min(law.upper - law.lower, all<S>(2) * (abs(clipped) + abs(law.constant)));
  }

  /// Whether the force at v is that of A, without an impulse.
  static Mask<S> is_within(const BoundedForce<S>& law, S v) {
    const S force = fnma(law.c, v, law.a);
    return (law.share == all<S>(1)) & (force <= law.upper) & (force >= law.lower);
  }

  /// f and f* on the way, and h Δu.
  struct Line {
    S force, rate, lower, upper, seen, seen_rate, along;
  };

  template <class Visit>
  void each(const Visit& visit) const {
    for (int n = 0; n < count_; ++n) visit(bounded[n]);
  }

  const int count_;
  const S h_, tolerance_;
  Line* const line_;  ///< [lines_] in a search
  int lines_ = 0;
  Mask<S> converged_ = simd::nowhere<S>();
};

}  // namespace pysim::contact
