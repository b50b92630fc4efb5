// Deflections of contact points, which friction remembers from step to step: recalled where a point is
// placed, handed over where features of a pair come and go, forgotten where a point no longer touches,
// remembered at the end of a step.
//
// Between steps deflections lie on the world's axes.
#pragma once

#include "collision/manifold.hpp"
#include "contact/kinds/turning.hpp"
#include "contact/state.hpp"
#include "dynamics/retract.hpp"

namespace pysim::contact {

using dynamics::load3;
using dynamics::store;

/// What a point remembers.
template <class S>
struct Deflection {
  Vec3<S> s;        ///< on the world's axes [m]
  Mask<S> slid;     ///< in the last step
  S feature;        ///< see collision/manifold.hpp; 0 for none
  Vec3<S> turning;  ///< of a point that resists turning [rad], else zero

  static Deflection of(const S* numbers) {
    return {load3(numbers),
            numbers[ContactMemory::slid] > all<S>(0),
            numbers[ContactMemory::feature],
            spatial::zero3<S>()};
  }

  void write(S* numbers) const {
    store(s, numbers);
    numbers[ContactMemory::slid] = number(slid);
    numbers[ContactMemory::feature] = feature;
  }
};

/// A deflection on the plane across n, as long as it was.
template <class S>
Vec3<S> turned_with_normal(const Vec3<S>& n, const Vec3<S>& s) {
  using Real = typename S::Real;
  const Vec3<S> flat = fnma(dot(n, s), n, s);
  const S square = dot(flat, flat), tiny = all<S>(sizeof(Real) == 8 ? Real(1e-300) : Real(1e-35));
  return sqrt(dot(s, s) / max(square, tiny)) * flat;
}

template <class S>
class Deflections {
 public:
  using Parameter = typename S::Parameter;
  using Pair = ContactPair<Parameter>;

  Deflections(const Contacts<Parameter>& contacts, const ContactMemory& places)
      : contacts_(contacts), places_(places) {}

  /// What point i of a pair remembers.
  Deflection<S> recall(const Pair& pair, int i, const ContactState<S>& state) const {
    Deflection<S> found = Deflection<S>::of(state.remembered(pair.first + i));
    if (pair.turning >= 0) found.turning = load3(state.memory + places_.turning(pair.turning + i));
    return found;
  }

  /// What points [used] of a pair remember, by their features: that of the same features in the last step.
  /// Deflections of features that are gone are handed over to new ones, or to all if none is new, so that the
  /// pair's friction stays.
  void recall_features(const Pair& pair,
                       const PointIterate<S>* point,
                       int used,
                       const ContactState<S>& state,
                       Deflection<S>* found) const {
    const S o = all<S>(0);
    Mask<S> known[collision::max_manifold_points];
    for (int i = 0; i < used; ++i) {
      found[i] = {spatial::zero3<S>(), simd::nowhere<S>(), point[i].feature, spatial::zero3<S>()};
      known[i] = simd::nowhere<S>();
    }
    Deflection<S> lost = {spatial::zero3<S>(), simd::nowhere<S>(), o, spatial::zero3<S>()};
    for (int j = 0; j < pair.points; ++j) {
      const Deflection<S> kept = recall(pair, j, state);
      auto is_found = !(kept.feature > o);
      for (int i = 0; i < used; ++i) {
        const auto same = (kept.feature > o) & (point[i].feature == kept.feature) & (point[i].at.x > o);
        found[i].s = collision::select(same, kept.s, found[i].s);
        found[i].turning = collision::select(same, kept.turning, found[i].turning);
        found[i].slid |= same & kept.slid;
        known[i] |= same;
        is_found |= same;
      }
      lost.s += collision::select(is_found, spatial::zero3<S>(), kept.s);
      lost.turning += collision::select(is_found, spatial::zero3<S>(), kept.turning);
      lost.slid |= (!is_found) & kept.slid;
    }
    hand_over(lost, known, point, used, found);
  }

  /// Remembers a point in the worlds where it `touches`.
  void remember(const Pair& pair,
                int i,
                const Deflection<S>& next,
                Mask<S> touches,
                const ContactState<S>& state) const {
    const Vec3<S> none = spatial::zero3<S>();
    Deflection<S>{collision::select(touches, next.s, none),
                  touches & next.slid,
                  select(touches, next.feature, all<S>(0)),
                  none}
        .write(state.memory_of(pair.first + i));
    if (pair.turning < 0) return;
    store(collision::select(touches, next.turning, none), state.memory + places_.turning(pair.turning + i));
  }

  /// Forgets points of a pair, and clears what they report but for the impulse; leaves the `used` ones whose
  /// numbers begin at `slot`.
  void forget(const Pair& pair, const int* slot, int used, const ContactState<S>& state) const {
    const int* const end = slot + used;
    for (int i = pair.first; i < pair.first + pair.points; ++i) {
      if (slot != end && *slot == i) {
        ++slot;
        continue;
      }
      if (!state.live->has(i)) continue;
      const Vec3<S> none = spatial::zero3<S>();
      Deflection<S>{none, simd::nowhere<S>(), all<S>(0), none}.write(state.memory_of(i));
      S* const report = state.report_of(i);
      for (int j = 0; j < ContactReport::impulse; ++j) report[j] = all<S>(0);
      store(none, report + ContactReport::normal);
      store(none, report + ContactReport::moment);
      if (pair.turning >= 0) {
        store(none, state.memory + places_.turning(pair.turning + i - pair.first));
      }
    }
  }

  /// Forgets points of all pairs but `pairs` [count], which ascend.
  void forget_others(const int* pairs, int count, const ContactState<S>& state) const {
    for (int n = 0; n < state.live->count; ++n) {
      const int k = pair_of(state.live->number[n]);
      int low = 0, high = count;
      while (low < high) {
        const int middle = (low + high) / 2;
        if (pairs[middle] < k) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      if (low < count && pairs[low] == k) continue;
      Pair room;
      forget(contacts_.template pair_at<S>(k, room), nullptr, 0, state);
    }
  }

 private:
  void hand_over(const Deflection<S>& lost,
                 const Mask<S>* known,
                 const PointIterate<S>* point,
                 int used,
                 Deflection<S>* found) const {
    const S o = all<S>(0), e = all<S>(1);
    S fresh = o, present = o;
    for (int i = 0; i < used; ++i) {
      const auto touches = point[i].at.x > o;
      fresh += number(touches & !known[i]);
      present += number(touches);
    }
    const auto all_share = fresh == o;
    const S share = e / max(select(all_share, present, fresh), e);
    for (int i = 0; i < used; ++i) {
      const auto takes = (point[i].at.x > o) & (all_share | !known[i]);
      const S taken = select(takes, share, o);
      found[i].s += taken * lost.s;
      found[i].turning = fma(taken, lost.turning, found[i].turning);
      found[i].slid |= takes & !known[i] & lost.slid;
    }
  }

  /// The pair that a contact point belongs to.
  int pair_of(int point) const {
    int low = 0;
    for (int high = contacts_.pairs; high - low > 1;) {
      const int middle = (low + high) / 2;
      Pair room;
      (contacts_.template pair_at<S>(middle, room).first <= point ? low : high) = middle;
    }
    return low;
  }

  const Contacts<Parameter>& contacts_;
  const ContactMemory places_;
};

}  // namespace pysim::contact
