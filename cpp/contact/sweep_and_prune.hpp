// Pairs of balls that are near each other, by sweep and prune [Cohen et al. 1995]: balls are sorted along an
// axis, and each is compared with those that begin before it ends.
//
// The order of the last sweep is kept, so that sorting takes time in proportion to the balls.
#pragma once

#include "contact/run.hpp"
#include "simd/sorting.hpp"
#include "tree/workspace.hpp"

namespace pysim::contact {

/// In one world.
template <class S>
class SweepAndPrune {
 public:
  using Real = typename S::Real;
  using Parameter = typename S::Parameter;

  SweepAndPrune(const Contacts<Parameter>& contacts, tree::Workspace<S>& w)
      : contacts_(contacts),
        order_(tree::take<int>(w, contacts.balls)),
        low_(tree::take<S>(w, contacts.balls)) {
    for (int i = 0; i < contacts.balls; ++i) order_[i] = i;
  }

  /// Lists the pairs of shapes whose balls, at `centre` [balls], have a gap of no more than `reach` [m], and
  /// all with planes, in `pairs` by ascending index; returns how many there are.
  int list(const spatial::Vec3<S>* centre, S reach, int* pairs) {
    const int n = contacts_.balls;
    for (int i = 0; i < n; ++i) low_[i] = centre[i].x - simd::all<S>(contacts_.ball[i].radius);
    simd::sort_ascending(order_, n, [this](int i) { return simd::lane(low_[i], 0); });
    int count = 0;
    for (int k = 0; k < contacts_.plane_pairs; ++k) pairs[count++] = contacts_.plane_pair[k];
    for (int a = 0; a < n; ++a) {
      const int i = order_[a];
      const S radius = simd::all<S>(contacts_.ball[i].radius), high = centre[i].x + radius + reach;
      for (int b = a + 1; b < n; ++b) {
        const int j = order_[b];
        if (any(low_[j] > high)) break;
        const spatial::Vec3<S> r = centre[j] - centre[i];
        const S most = radius + simd::all<S>(contacts_.ball[j].radius) + reach;
        if (any(abs(r.y) > most) || any(dot(r, r) > most * most)) continue;
        count = add(i < j ? i : j, i < j ? j : i, pairs, count);
      }
      count = add(i, i, pairs, count);
    }
    simd::sort_ascending(pairs, count, [](int k) { return k; });
    return count;
  }

 private:
  /// Adds the pairs of two balls.
  int add(int first, int second, int* pairs, int count) const {
    int low = contacts_.first_partner[first];
    const int end = contacts_.first_partner[first + 1];
    for (int high = end; low < high;) {
      const int middle = (low + high) / 2;
      if (ball_of(middle) < second) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    for (; low < end && ball_of(low) == second; ++low) pairs[count++] = contacts_.partner[low];
    return count;
  }

  int ball_of(int partner) const { return contacts_.table->later_ball(contacts_.partner[partner]); }

  const Contacts<Parameter>& contacts_;
  int* order_;  ///< [balls]
  S* low_;      ///< [balls] along x [m]
};

}  // namespace pysim::contact
