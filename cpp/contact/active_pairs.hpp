// Pairs of shapes that may touch within a step, and where their contact points lie among the unknowns: one
// pair after the other, in the order in which they are placed.
#pragma once

#include "contact/run.hpp"
#include "simd/sorting.hpp"
#include "spatial/mat3.hpp"
#include "tree/aligned_take.hpp"
#include "tree/workspace.hpp"

namespace pysim::contact {

template <class S>
class ActivePairs {
 public:
  using Parameter = typename S::Parameter;
  using Pair = ContactPair<Parameter>;

  ActivePairs(const Contacts<Parameter>& contacts, tree::Workspace<S>& w)
      : slot(tree::take<int>(w, contacts.points)),
        R_AB(tree::take<spatial::Mat3<S>>(w, contacts.pairs)),
        used(tree::take<int>(w, contacts.pairs)),
        index(tree::take<int>(w, contacts.pairs)),
        first(tree::take<int>(w, contacts.pairs)),
        first_turning(tree::take<int>(w, contacts.pairs)),
        copies_(contacts.pair == nullptr || (S::width == 1 && contacts.pairs > most_listed_pairs)),
        active_(tree::take<int>(w, contacts.pairs)),
        pair_(tree::take_aligned<const Pair*>(w, contacts.pairs)),
        copy_(tree::take_aligned<Pair>(w, copies_ ? contacts.pairs : 0)) {}

  int* const slot;                         ///< [points] their numbers among all points, ascending in a pair
  spatial::Mat3<S>* const R_AB;            ///< [pairs] axes of b in a, or in the world
  int* const used;                         ///< [pairs] points that some world has
  int* const index;                        ///< [pairs] number among all pairs
  int *const first, *const first_turning;  ///< [pairs] among the points, and among those that resist turning

  /// Place of pair k, whose points may be written from first[place] on, until it is included. Its record may
  /// go afterwards.
  int place(int k, const Pair& pair) {
    const int p = count_;
    index[p] = k;
    first[p] = points_;
    first_turning[p] = turning_points_;
    pair_[p] = &pair;
    return p;
  }

  /// Lets the pair at a place touch within the step at so many points.
  void include(int p, int points) {
    if (PYSIM_UNLIKELY(copies_)) pair_[p] = &(copy_[p] = *pair_[p]);
    used[p] = points;
    points_ += points;
    if (pair_[p]->turning >= 0) turning_points_ += points;
    active_[count_++] = p;
  }

  /// The pair at a place.
  const Pair& pair(int p) const { return *pair_[p]; }

  /// Restores the order of the pairs, which decides how sums are rounded.
  void sort() {
    simd::sort_ascending(active_, count_, [this](int p) { return index[p]; });
  }

  /// visit(place, pair) for all of them.
  template <class Visit>
  void each(const Visit& visit) const {
    for (int n = 0; n < count_; ++n) visit(active_[n], *pair_[active_[n]]);
  }

 private:
  const bool copies_;  ///< of many pairs, those that may touch are copied next to each other
  int* const active_;  ///< [count_] places, in the order of the pairs
  const Pair** const pair_;
  Pair* const copy_;
  int count_ = 0, points_ = 0, turning_points_ = 0;
};

}  // namespace pysim::contact
