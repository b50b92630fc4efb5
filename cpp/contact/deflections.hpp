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

/// Adds to the cotangents of n and s for that of `turned_with_normal`.
template <class S>
void turned_with_normal_product(
    const Vec3<S>& n, const Vec3<S>& s, const Vec3<S>& bar, Vec3<S>& n_bar, Vec3<S>& s_bar) {
  const S o = all<S>(0), e = all<S>(1), along = dot(n, s);
  const Vec3<S> flat = fnma(along, n, s);
  const S square = dot(flat, flat), whole = dot(s, s);
  const auto exists = square > o;
  const S inverse = e / select(exists, square, e), ratio = sqrt(whole * inverse);
  const S pulled = select(exists, ratio * dot(bar, flat), o);
  const Vec3<S> flat_bar = fnma(pulled * inverse, flat, select(exists, ratio, e) * bar);
  s_bar += fma(pulled / select(exists, whole, e), s, fnma(dot(n, flat_bar), n, flat_bar));
  n_bar = n_bar - fma(along, flat_bar, dot(n, flat_bar) * s);
}

/// Whether points of a pair come and go, and are recalled by their features.
template <class Parameter>
bool recalls_features(const ContactPair<Parameter>& pair) {
  if (pair.plane) return false;
  return pair.field == nullptr || collision::has_cells(*pair.field, pair.touching_shape().shape.kind);
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
                       Deflection<S>* recalled) const {
    const Vec3<S> zero = spatial::zero3<S>();
    for (int i = 0; i < used; ++i) recalled[i] = {zero, simd::nowhere<S>(), point[i].feature, zero};
    Deflection<S> lost = {zero, simd::nowhere<S>(), all<S>(0), zero};
    const auto shares = match_features(
        pair,
        point,
        used,
        state,
        [&](const Deflection<S>& remembered, int, int i, Mask<S> same) {
          recalled[i].s = collision::select(same, remembered.s, recalled[i].s);
          recalled[i].turning = collision::select(same, remembered.turning, recalled[i].turning);
          recalled[i].slid |= same & remembered.slid;
        },
        [&](const Deflection<S>& remembered, int, Mask<S> persists) {
          lost.s += collision::select(persists, zero, remembered.s);
          lost.turning += collision::select(persists, zero, remembered.turning);
          lost.slid |= (!persists) & remembered.slid;
        });
    for (int i = 0; i < used; ++i) {
      recalled[i].s += shares.taken[i] * lost.s;
      recalled[i].turning = fma(shares.taken[i], lost.turning, recalled[i].turning);
      recalled[i].slid |= (shares.taken[i] > all<S>(0)) & !shares.matched[i] & lost.slid;
    }
  }

  /// Cotangents of the deflections that the points of a pair remember [pair.points], on the world's axes, for
  /// those of what `recall_features` gives [used]. Which point takes over what share is constant.
  void recall_features_product(const Pair& pair,
                               const PointIterate<S>* point,
                               int used,
                               const ContactState<S>& state,
                               const Deflection<S>* bar,
                               Deflection<S>* remembered_bar) const {
    const Vec3<S> zero = spatial::zero3<S>();
    Mask<S> persists[collision::max_manifold_points];
    for (int j = 0; j < pair.points; ++j) remembered_bar[j] = {zero, simd::nowhere<S>(), all<S>(0), zero};
    const auto shares = match_features(
        pair,
        point,
        used,
        state,
        [&](const Deflection<S>&, int j, int i, Mask<S> same) {
          remembered_bar[j].s += collision::select(same, bar[i].s, zero);
          remembered_bar[j].turning += collision::select(same, bar[i].turning, zero);
        },
        [&](const Deflection<S>&, int j, Mask<S> persists_j) { persists[j] = persists_j; });
    Vec3<S> lost_bar = zero, lost_turning_bar = zero;
    for (int i = 0; i < used; ++i) {
      lost_bar = fma(shares.taken[i], bar[i].s, lost_bar);
      lost_turning_bar = fma(shares.taken[i], bar[i].turning, lost_turning_bar);
    }
    for (int j = 0; j < pair.points; ++j) {
      remembered_bar[j].s += collision::select(persists[j], zero, lost_bar);
      remembered_bar[j].turning += collision::select(persists[j], zero, lost_turning_bar);
    }
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

  /// Clears the memory of a pair's points, and their reports but for the impulse, except of the `used` points
  /// whose numbers `slot` lists.
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

 private:
  /// Points of a pair whose features were there in the last step, and the share that each gets of deflections
  /// whose features are gone.
  struct FeatureShares {
    Mask<S> matched[collision::max_manifold_points];
    S taken[collision::max_manifold_points];
  };

  /// Matches points that a pair remembers with its points [used]: visits every two, (remembered, j, i, same),
  /// and what is remembered once more, (kept, j, found or nothing to find).
  template <class VisitTwo, class VisitRemembered>
  PYSIM_INLINE FeatureShares match_features(const Pair& pair,
                                            const PointIterate<S>* point,
                                            int used,
                                            const ContactState<S>& state,
                                            const VisitTwo& visit_two,
                                            const VisitRemembered& visit_remembered) const {
    const S o = all<S>(0), e = all<S>(1);
    FeatureShares shares;
    for (int i = 0; i < used; ++i) shares.matched[i] = simd::nowhere<S>();
    for (int j = 0; j < pair.points; ++j) {
      const Deflection<S> remembered = recall(pair, j, state);
      auto persists = !(remembered.feature > o);
      for (int i = 0; i < used; ++i) {
        const auto same =
            (remembered.feature > o) & (point[i].feature == remembered.feature) & (point[i].at.x > o);
        visit_two(remembered, j, i, same);
        shares.matched[i] |= same;
        persists |= same;
      }
      visit_remembered(remembered, j, persists);
    }
    S fresh = o, present = o;
    for (int i = 0; i < used; ++i) {
      const auto touches = point[i].at.x > o;
      fresh += number(touches & !shares.matched[i]);
      present += number(touches);
    }
    const auto all_share = fresh == o;
    const S share = e / max(select(all_share, present, fresh), e);
    for (int i = 0; i < used; ++i) {
      const auto takes = (point[i].at.x > o) & (all_share | !shares.matched[i]);
      shares.taken[i] = select(takes, share, o);
    }
    return shares;
  }

  const Contacts<Parameter>& contacts_;
  const ContactMemory places_;
};

}  // namespace pysim::contact
