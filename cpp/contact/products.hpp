// Products of the derivatives of bounded forces and of deflections that are recalled with cotangents.
#pragma once

#include "contact/deflections.hpp"
#include "contact/kinds/bounded.hpp"

namespace pysim::contact {

/// Adds the cotangents of the force's numbers, but for its coordinate, for that of its impulse.
template <class S>
void bounded_impulse_product(const BoundedForce<S>& law, S h, S v, S bar, BoundedForce<S>& sums) {
  const S o = simd::all<S>(0), e = simd::all<S>(1), force = fnma(law.c, v, law.a), pushed = h * bar;
  const auto over = force > law.upper, clipped = over | (force < law.lower), mixes = !(law.share == e);
  sums.upper += select(over, pushed, o);
  sums.lower += select(clipped & !over, pushed, o);
  const S by_force = select(clipped, o, pushed) - law.share * pushed;
  sums.constant = sums.constant - select(mixes, (e - law.share) * pushed, o);
  sums.share = sums.share - select(mixes, (force - law.constant) * pushed, o);
  sums.a += by_force;
  sums.c = fnma(v, by_force, sums.c);
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

/// Whether points of a pair are recalled by their features, as PairsInReach does.
template <class Parameter>
bool recalls_features(const ContactPair<Parameter>& pair) {
  if (pair.plane) return false;
  return pair.field == nullptr || collision::has_cells(*pair.field, pair.touching_shape().shape.kind);
}

/// Cotangents of the deflections that the points of a pair remember [pair.points], on the world's axes, for
/// those of what Deflections::recall_features gives [used]. Which point takes over what share is constant.
template <class S>
void recall_features_product(const Deflections<S>& deflections,
                             const ContactPair<typename S::Parameter>& pair,
                             const PointIterate<S>* point,
                             int used,
                             const ContactState<S>& state,
                             const Deflection<S>* bar,
                             Deflection<S>* kept_bar) {
  const S o = all<S>(0), e = all<S>(1);
  const Vec3<S> zero = spatial::zero3<S>();
  Mask<S> known[collision::max_manifold_points], is_found[collision::max_manifold_points];
  for (int i = 0; i < used; ++i) known[i] = simd::nowhere<S>();
  for (int j = 0; j < pair.points; ++j) {
    const Deflection<S> kept = deflections.recall(pair, j, state);
    Deflection<S>& to = kept_bar[j] = {zero, simd::nowhere<S>(), kept.feature, zero};
    is_found[j] = !(kept.feature > o);
    for (int i = 0; i < used; ++i) {
      const auto same = (kept.feature > o) & (point[i].feature == kept.feature) & (point[i].at.x > o);
      to.s += collision::select(same, bar[i].s, zero);
      to.turning += collision::select(same, bar[i].turning, zero);
      known[i] |= same;
      is_found[j] |= same;
    }
  }
  S fresh = o, present = o;
  for (int i = 0; i < used; ++i) {
    const auto touches = point[i].at.x > o;
    fresh += number(touches & !known[i]);
    present += number(touches);
  }
  const auto all_share = fresh == o;
  const S share = e / max(select(all_share, present, fresh), e);
  Vec3<S> lost_bar = zero, lost_turning_bar = zero;
  for (int i = 0; i < used; ++i) {
    const S taken = select((point[i].at.x > o) & (all_share | !known[i]), share, o);
    lost_bar = fma(taken, bar[i].s, lost_bar);
    lost_turning_bar = fma(taken, bar[i].turning, lost_turning_bar);
  }
  for (int j = 0; j < pair.points; ++j) {
    kept_bar[j].s += collision::select(is_found[j], zero, lost_bar);
    kept_bar[j].turning += collision::select(is_found[j], zero, lost_turning_bar);
  }
}

}  // namespace pysim::contact
