// Coordinates with a stop or with dry friction, in their velocity.
#pragma once

#include "constraints/coordinate_law.hpp"
#include "contact/kinds/kind.hpp"

namespace pysim::contact {

using constraints::CoordinateImpulse;
using constraints::CoordinateState;

template <class S>
struct CoordinateIterate : Iterate<S> {
  CoordinateState<S> at;
  Mask<S> stuck;  ///< in the last step
  CoordinateImpulse<S> impulse;
  bool acts;  ///< whether the impulse, its slope, or γ̂ is not zero in some world
};

template <class S>
class CoordinateKind : public Kind<S> {
 public:
  using typename Kind<S>::Real;
  using typename Kind<S>::Parameter;

  explicit CoordinateKind(const KindContext<S>& c)
      : coordinate(tree::take<CoordinateIterate<S>>(c.w, c.contacts.coordinates)),
        contacts_(c.contacts),
        h_(c.h),
        tolerance_(all<S>(c.tolerance)),
        friction_(tree::take<FrictionLine>(c.w, c.contacts.coordinates)),
        stop_(tree::take<StopLine>(c.w, 2 * c.contacts.coordinates)) {}

  CoordinateIterate<S>* const coordinate;  ///< [coordinates]

  Mask<S> touched() const {
    const S o = all<S>(0);
    auto found = simd::nowhere<S>();
    for (int k = 0; k < contacts_.coordinates; ++k) {
      const auto& C = coordinate[k];
      if (simd::is_there(contacts_.coordinate[k].friction)) return simd::everywhere<S>();
      found |= (fma(h_, C.free, C.at.above) > o) | (fnma(h_, C.free, C.at.below) > o);
    }
    return found;
  }

  void start() {
    each([&](CoordinateIterate<S>& C, const Law& law) {
      // Joints that stuck in the last step begin within their range, which a projection onto loops leaves.
      C.now = simd::is_there(law.friction) ? select(C.stuck, -C.at.s / h_, C.start) : C.start;
      C.gamma_hat = all<S>(0);
    });
    largest_ = all<S>(0);
  }

  /// Impulses are those of the law relative to the largest one of a coordinate, and within rounding.
  void evaluate() {
    const S allowed = fma(tolerance_, largest_, all<S>(Kind<S>::vanished));
    converged_ = simd::everywhere<S>();
    each([&](CoordinateIterate<S>& C, const Law& law) {
      C.impulse = coordinate_impulse(law, C.at, h_, C.now);
      const S o = all<S>(0);
      C.acts = !simd::all((C.impulse.gamma == o) & (C.impulse.slope == o) & (C.gamma_hat == o));
      if (!C.acts) return;
      const S blurred = all<S>(Kind<S>::rounding) * C.impulse.slope * max(abs(C.now), abs(C.free));
      converged_ &= abs(C.impulse.gamma - C.gamma_hat) <= allowed + blurred;
    });
  }

  void load(const Iteration<S>& iteration, ContactMatrix<S>& matrix) {
    each([&](CoordinateIterate<S>& C, const Law& law) {
      if (!C.acts) return;
      const auto& I = C.impulse;
      matrix.add(law.v,
                 I.slope,
                 iteration.from_free ? fma(I.slope, C.now - C.free, I.gamma) : I.gamma - C.gamma_hat);
    });
  }

  void move(const Iteration<S>& iteration, const S* delta, bool aims) {
    each([&](CoordinateIterate<S>& C, const Law& law) {
      C.next = (iteration.from_free ? C.free : C.now) + delta[law.v];
      if (aims && C.acts) C.aimed = fma(C.impulse.slope, C.now - C.next, C.impulse.gamma);
    });
  }

  static int most_corners(const Contacts<Parameter>& contacts) { return 2 * contacts.coordinates; }

  /// Corners are those of dry friction, where y = ±h f. Between the two of a coordinate l' rises by 2 h f
  /// |Δv|, within some 10⁻⁷ of the way.
  void begin_search(Search<S>& search) {
    frictions_ = stops_ = 0;
    each([&](const CoordinateIterate<S>& C, const Law& law) {
      const S du = C.next - C.now;
      if (C.acts) search.add(du, C.gamma_hat, C.aimed, C.impulse.gamma);
      if (simd::is_there(law.friction)) {
        add_corners(fma(h_, C.now, C.at.s), fma(h_, C.next, C.at.s), search);
        const S rate = stretch(law, all<S>(0), h_, du), limit = h_ * all<S>(law.friction);
        friction_[frictions_++] = {stretch(law, C.at.s, h_, C.now), rate, limit, du};
      }
      if (law.q < 0) return;
      if (simd::is_finite(law.upper)) add_stop(law, C.at.above, C.now, C.next, du, -du);
      if (simd::is_finite(law.lower)) add_stop(law, C.at.below, -C.now, -C.next, -du, du);
    });
  }

  PYSIM_INLINE void add_slope_along(S alpha, S& sum) const {
    for (int n = 0; n < frictions_; ++n) {
      const FrictionLine& F = friction_[n];
      const S y = fma(alpha, F.rate, F.y);
      sum = fnma(F.du, max(min(y, F.limit), -F.limit), sum);
    }
    for (int n = 0; n < stops_; ++n) {
      const StopLine& L = stop_[n];
      sum = fma(L.along, max(fma(alpha, L.rate, L.push), all<S>(0)), sum);
    }
  }

  void advance(const Advance<S>& mix) {
    S most = all<S>(0);
    each([&](CoordinateIterate<S>& C, const Law&) {
      C.now = mix(C.now, C.next);
      if (!C.acts) return;
      C.gamma_hat = mix(C.gamma_hat, C.aimed);
      most = max(most, abs(C.gamma_hat));
    });
    largest_ = most;
  }

  Mask<S> converged() const { return converged_; }

  void note(NewtonIteration& last) const {
    each([&](const CoordinateIterate<S>& C, const Law& law) {
      this->add_cost(last, coordinate_potential(law, C.at, h_, C.now), (C.now - C.free) * C.gamma_hat);
      this->add_residual(last, abs(C.impulse.gamma - C.gamma_hat), largest_);
      const auto beyond =
          (fma(h_, C.now, C.at.above) > all<S>(0)) | (fnma(h_, C.now, C.at.below) > all<S>(0));
      last.stopped += any(beyond);
      last.sticking_joints += simd::is_there(law.friction) && any(C.impulse.sticks);
    });
  }

 private:
  using Law = constraints::CoordinateLaw<Parameter>;

  static constexpr Real sticking = constraints::sticking_deflection<Real>;

  /// y of friction on the way, and −P(y) Δu.
  struct FrictionLine {
    S y, rate, limit, du;
  };
  /// Impulse of a stop on the way before it is cut at 0, and its sign times Δu.
  struct StopLine {
    S push, rate, along;
  };

  /// Adds the corners between two deflections from which friction slides.
  PYSIM_INLINE void add_corners(S from, S to, Search<S>& search) const {
    add_corner(all<S>(-sticking), from, to, search);
    add_corner(all<S>(sticking), from, to, search);
  }

  PYSIM_INLINE void add_corner(S at, S from, S to, Search<S>& search) const {
    const auto passes = ((from < at) & (to > at)) | ((from > at) & (to < at));
    if (none(passes)) return;
    search.add_corner(select(passes, (at - from) / (to - from), all<S>(Real(simd::infinity))));
  }

  /// Records a stop on which some world pushes on the way, `from` and `to` velocities into it. Where it
  /// is beyond the stop at neither end, it pushes nowhere between.
  PYSIM_INLINE void add_stop(const Law& law, S x0, S from, S to, S into, S along) {
    const S o = all<S>(0);
    const auto beyond = (fma(h_, from, x0) > o) | (fma(h_, to, x0) > o);
    if (none(beyond)) return;
    const constraints::StopImpulse<S> line(law, x0, h_);
    stop_[stops_++] = {fma(line.slope, from, line.offset), line.slope * into, select(beyond, along, o)};
  }

  template <class Visit>
  PYSIM_INLINE void each(const Visit& visit) const {
    for (int k = 0; k < contacts_.coordinates; ++k) visit(coordinate[k], contacts_.coordinate[k]);
  }

  const Contacts<Parameter>& contacts_;
  const S h_, tolerance_;
  FrictionLine* const friction_;  ///< [frictions_] in a search
  StopLine* const stop_;          ///< [stops_]
  int frictions_ = 0, stops_ = 0;
  S largest_ = all<S>(0);  ///< |γ̂| of the coordinate that pushes most
  Mask<S> converged_ = simd::nowhere<S>();
};

}  // namespace pysim::contact
