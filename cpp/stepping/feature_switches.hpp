// Pairs of shapes that are within rounding of other features: there their points jump, and with them the
// force.
//
// A pair is placed twice more, with body b displaced to either side, by ε of its shape's size in a direction
// that no symmetry of a scene has. Where a point that pushes is then on another feature or elsewhere, a
// switch lies between, and where its normal is another.
#pragma once

#include "contact/deflections.hpp"
#include "contact/points.hpp"
#include "stepping/switch_counts.hpp"

namespace pysim::stepping {

using simd::all;
using spatial::Vec3;

/// A point of a pair as a step has it.
template <class S>
struct PlacedPoint {
  int index;  ///< among those of the pair
  S feature;
  Vec3<S> p, n;  ///< on the axes of b
  simd::Mask<S> pushes;
};

template <class S>
class FeatureSwitches {
 public:
  using Real = typename S::Real;
  using Pair = contact::ContactPair<typename S::Parameter>;

  /// `X_WA` is null for the world.
  FeatureSwitches(const Pair& pair, const spatial::Pose<S>* X_WA, const spatial::Pose<S>& X_WB)
      : pair_(pair), X_WA_(X_WA), X_WB_(X_WB), size_(all<S>(pair.shape_b->radius)) {}

  /// Worlds in which one of the points [count] is at a switch: `at(n)` is the n-th, and `stays(n)` room for a
  /// mask of it.
  template <class At, class Stays>
  simd::Mask<S> met(int count, const At& at, const Stays& stays) const {
    auto is_met = simd::nowhere<S>();
    for (const double side : {1.0, -1.0}) {
      for (int n = 0; n < count; ++n) stays(n) = simd::nowhere<S>();
      visit(side, [&](const contact::PairPoint<S>& from) {
        for (int n = 0; n < count; ++n) stays(n) |= is_same(at(n), from);
      });
      for (int n = 0; n < count; ++n) is_met |= at(n).pushes & !stays(n);
    }
    return is_met;
  }

 private:
  static constexpr double jump = 1e-3;  ///< of a point by the size of the shape, and of n; rims turn fast

  simd::Mask<S> is_same(const PlacedPoint<S>& point, const contact::PairPoint<S>& other) const {
    const Vec3<S> moved = other.p - point.p, turned = other.n - point.n;
    const S most = all<S>(Real(jump)), distance = most * size_;
    const auto near =
        other.exists & (dot(moved, moved) <= distance * distance) & (dot(turned, turned) <= most * most);
    if (contact::recalls_features(pair_)) return near & (other.feature == point.feature);
    return point.index == other.index ? near : simd::nowhere<S>();
  }

  template <class Visit>
  PYSIM_NOINLINE void visit(double side, const Visit& each) const {
    const S by = all<S>(Real(side * SwitchCounts<S>::rounding)), e = all<S>(1);
    const auto along = [&](double x, double y, double z) {
      return by * Vec3<S>{all<S>(Real(x)), all<S>(Real(y)), all<S>(Real(z))};
    };
    const Vec3<S> d = size_ * along(0.531, -0.613, 0.584), w = along(-0.479, 0.713, 0.512);
    const spatial::Pose<S> moved = {
        X_WB_.R * spatial::Mat3<S>{{e, w.z, -w.y}, {-w.z, e, w.x}, {w.y, -w.x, e}}, X_WB_ * d};
    contact::visit_points(pair_, contact::PairPose<S>{X_WA_, moved}, simd::everywhere<S>(), size_, each);
  }

  const Pair& pair_;
  const spatial::Pose<S>* const X_WA_;
  const spatial::Pose<S>& X_WB_;
  const S size_;
};

}  // namespace pysim::stepping
