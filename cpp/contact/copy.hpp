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
    const ContactPair<From>& own = from.template pair_at<S>(k, room);
    ContactPair<To>& to = pairs[k];
    to.a = own.a;
    to.b = own.b;
    to.first = own.first;
    to.points = own.points;
    to.turning = own.turning;
    to.plane = own.plane;
    to.swapped = own.swapped;
    to.kind = own.kind;
    to.field = own.field;
    to.shape_a = own.shape_a;
    to.shape_b = own.shape_b;
    for (int i = 0; i < 3; ++i) to.normal[i] = own.normal[i];
    for (int i = 0; i < 3; ++i) to.surface[i] = own.surface[i];
    to.offset = own.offset;
    constraints::ContactLaw<To>::visit(tree::CopyFields<To, From, Numbers>{numbers}, to.law, own.law);
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
          from.own_pairs,
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
