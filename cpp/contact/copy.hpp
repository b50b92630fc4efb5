// Copies of contacts whose laws have numbers of another type, see tree/model_copy.hpp. Where shapes are, and
// what bounds their motion, is the same in all worlds.
#pragma once

#include "contact/run.hpp"
#include "tree/model_copy.hpp"

namespace pysim::contact {

template <class To, class From, class S, class Numbers>
Contacts<To> copy_contacts(const Contacts<From>& from,
                           int nv,
                           tree::ModelCopy<To, S, Numbers>& copy,
                           Numbers& numbers,
                           tree::Workspace<S>& w) {
  auto* const pairs = tree::take_aligned<ContactPair<To>>(w, from.pairs);
  numbers.begin("laws", from.pairs);
  for (int k = 0; k < from.pairs; ++k) {
    ContactPair<From> room;
    const ContactPair<From>& pair = from.template pair_at<S>(k, room);
    ContactPair<To>& to = pairs[k];
    to.a = pair.a;
    to.b = pair.b;
    to.first = pair.first;
    to.points = pair.points;
    to.turning = pair.turning;
    to.plane = pair.plane;
    to.swapped = pair.swapped;
    to.kind = pair.kind;
    to.field = pair.field;
    to.shape_a = pair.shape_a;
    to.shape_b = pair.shape_b;
    for (int i = 0; i < 3; ++i) to.normal[i] = pair.normal[i];
    for (int i = 0; i < 3; ++i) to.surface[i] = pair.surface[i];
    to.offset = pair.offset;
    constraints::ContactLaw<To>::visit(tree::CopyFields<To, From, Numbers>{numbers}, to.law, pair.law);
  }
  const PairBounds<simd::Fixed<To>>* bounds = from.bounds;
  if (bounds == nullptr) {
    auto* const own = tree::take_aligned<PairBounds<simd::Fixed<To>>>(w, from.pairs);
    for (int k = 0; k < from.pairs; ++k) from.bounds_at(k, own[k]);
    bounds = own;
  }
  return {from.pairs,
          from.points,
          from.coordinates,
          from.turning_points,
          from.moving_pairs,
          from.stiff,
          pairs,
          copy.template records<constraints::CoordinateLaw>("coordinates", from.coordinate, from.coordinates),
          copy.template records<tree::Passive>("smooth", from.smooth, nv),
          copy.numbers("diagonal", from.diagonal, nv),
          from.single,
          from.bounded,
          from.rates,
          from.carriers,
          from.rate,
          from.carrier,
          bounds,
          from.tree_pairs,
          from.balls,
          from.ball,
          from.levers,
          from.lever,
          from.partner,
          from.first_partner,
          from.plane_pair,
          from.plane_pairs,
          from.table};
}

}  // namespace pysim::contact
