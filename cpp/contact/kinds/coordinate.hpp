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
};

template <class S>
class CoordinateKind : public Kind<S> {
 public:
  using typename Kind<S>::Real;
  using typename Kind<S>::Parameter;

  explicit CoordinateKind(const KindContext<S>& c)
      : coordinate(tree::take<CoordinateIterate<S>>(c.w, c.contacts.coordinates)),
        contacts_(c.contacts),
        h_(c.h) {}

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
      C.made = all<S>(0);
    });
  }

  void evaluate() {
    each([&](CoordinateIterate<S>& C, const Law& law) {
      C.impulse = coordinate_impulse(law, C.at, h_, C.now);
    });
  }

  void load(const Iteration<S>& iteration, ContactMatrix<S>& matrix) {
    each([&](CoordinateIterate<S>& C, const Law& law) {
      const auto& I = C.impulse;
      matrix.add(law.v, I.slope, iteration.whole ? fma(I.slope, C.now - C.free, I.gamma) : I.gamma - C.made);
    });
  }

  void move(const Iteration<S>& iteration, const S* delta, bool aims) {
    each([&](CoordinateIterate<S>& C, const Law& law) {
      C.next = (iteration.whole ? C.free : C.now) + delta[law.v];
      if (aims) C.aimed = fma(C.impulse.slope, C.now - C.next, C.impulse.gamma);
    });
  }

  void add_slope_at_start(S& sum) const {
    each([&](const CoordinateIterate<S>& C, const Law&) {
      sum = fma(C.next - C.now, C.made - C.impulse.gamma, sum);
    });
  }

  void add_slope_along(S alpha, S& sum) const {
    each([&](const CoordinateIterate<S>& C, const Law& law) {
      const S du = C.next - C.now;
      const auto I = coordinate_impulse(law, C.at, h_, fma(alpha, du, C.now));
      sum = fma(du, fma(alpha, C.aimed - C.made, C.made) - I.gamma, sum);
    });
  }

  static int most_corners(const Contacts<Parameter>& contacts) { return 2 * contacts.coordinates; }

  /// Those of dry friction: where y = ±h f. Between the two corners of a coordinate l' rises by 2 h f |Δv|,
  /// within some 10⁻⁷ of the way.
  void add_corners(Corners<S>& corners) const {
    each([&](const CoordinateIterate<S>& C, const Law& law) {
      if (!simd::is_there(law.friction)) return;
      const S inverse =
          all<S>(1) / (h_ * (C.next - C.now));  // infinite or NaN corners are never in a bracket
      const S middle = -fma(h_, C.now, C.at.s) * inverse;
      const S half_width = all<S>(constraints::sticking_deflection<Real>) * inverse;
      corners.alpha[corners.count++] = middle - half_width;
      corners.alpha[corners.count++] = middle + half_width;
    });
  }

  void advance(const Advance<S>& mix) {
    each([&](CoordinateIterate<S>& C, const Law&) {
      C.now = mix(C.now, C.next);
      C.made = mix(C.made, C.aimed);
    });
  }

  /// Relative to the largest impulse of a coordinate, and within rounding.
  Mask<S> converged(Real tolerance) const {
    S most = all<S>(0);
    each([&](const CoordinateIterate<S>& C, const Law&) { most = max(most, abs(C.made)); });
    const S allowed = fma(all<S>(tolerance), most, all<S>(Kind<S>::vanished));
    auto good = simd::everywhere<S>();
    each([&](const CoordinateIterate<S>& C, const Law&) {
      const S blurred = all<S>(Kind<S>::rounding) * C.impulse.slope * max(abs(C.now), abs(C.free));
      good &= abs(C.impulse.gamma - C.made) <= allowed + blurred;
    });
    return good;
  }

  void note(NewtonIteration& last) const {
    S most = all<S>(0);
    each([&](const CoordinateIterate<S>& C, const Law&) { most = max(most, abs(C.made)); });
    each([&](const CoordinateIterate<S>& C, const Law& law) {
      this->add_cost(last, coordinate_potential(law, C.at, h_, C.now), (C.now - C.free) * C.made);
      this->add_residual(last, abs(C.impulse.gamma - C.made), most);
      const auto beyond =
          (fma(h_, C.now, C.at.above) > all<S>(0)) | (fnma(h_, C.now, C.at.below) > all<S>(0));
      last.stopped += any(beyond);
      last.sticking_joints += simd::is_there(law.friction) && any(C.impulse.sticks);
    });
  }

 private:
  using Law = constraints::CoordinateLaw<Parameter>;

  template <class Visit>
  void each(const Visit& visit) const {
    for (int k = 0; k < contacts_.coordinates; ++k) visit(coordinate[k], contacts_.coordinate[k]);
  }

  const Contacts<Parameter>& contacts_;
  const S h_;
};

}  // namespace pysim::contact
