// State of worlds with contacts: what a step begins with, and what is reported of it.
#pragma once

#include "contact/run.hpp"
#include "simd/sorting.hpp"
#include "tree/model_view.hpp"
#include "tree/workspace.hpp"

namespace pysim::contact {

using simd::all;
using tree::ModelOf;
using tree::take;
using tree::Workspace;

/// Contact points that have touched in some world, in the order in which they did. Memory and report of the
/// others are zero, and not stored.
template <class S>
struct LivePoints {
  ContactMemory places;
  S *memory[2], *report[2];  ///< of a step's start, and of its trial: what is no point's, then the points
  const S* blank;            ///< [ContactMemory::per_point] zeros
  int* number;               ///< [count] of a live point among all
  int count = 0;

  LivePoints(const ContactMemory& p, Workspace<S>& w)
      : places(p),
        blank(zeros(w)),
        number(take<int>(w, p.points)),
        is_table_(p.points > most_listed),
        slots_(is_table_ ? least_slots : p.points),
        slot_(take<int>(w, is_table_ ? std::ptrdiff_t{4} * p.points : p.points)) {
    for (int k = 0; k < 2; ++k) {
      memory[k] = take<S>(w, p.numbers());
      report[k] = take<S>(w, std::ptrdiff_t{ContactReport::numbers} * p.points);
    }
    for (int i = 0; i < slots_; ++i) slot_[i] = -1;
  }

  /// Place of a point, −1 of one that is not live.
  PYSIM_INLINE int place(int point) const {
    return slot_[PYSIM_UNLIKELY(is_table_) ? find_slot(point) : point];
  }

  bool has(int point) const { return place(point) >= 0; }

  /// The places of live points by ascending numbers.
  const int* ascending(Workspace<S> w) const {
    int* const sorted = take<int>(w, count);
    for (int n = 0; n < count; ++n) sorted[n] = n;
    simd::sort_ascending(sorted, count, [this](int n) { return number[n]; });
    return sorted;
  }

  void add(int point) {
    if (has(point)) return;
    const int n = count++;
    number[n] = point;
    if (is_table_) {
      add_to_table();
    } else {
      slot_[point] = n;
    }
    for (int k = 0; k < 2; ++k) {
      for (int i = 0; i < ContactMemory::per_point; ++i) memory[k][places.point(n) + i] = all<S>(0);
      for (int i = 0; i < ContactReport::numbers; ++i) report[k][ContactReport::numbers * n + i] = all<S>(0);
    }
  }

 private:
  static constexpr int most_listed = 1 << 14, least_slots = 1 << 10;

  /// Slot of a point in a hash table with linear probing [Knuth 1998, section 6.4], or the free one where it
  /// would be. No more than half of the slots are in use.
  PYSIM_NOINLINE int find_slot(int point) const {
    const unsigned mask = static_cast<unsigned>(slots_) - 1;
    unsigned at = static_cast<unsigned>(point) * 2654435769U;
    for (at = (at ^ at >> 15U) & mask; slot_[at] >= 0 && number[slot_[at]] != point;) at = (at + 1) & mask;
    return static_cast<int>(at);
  }

  /// Adds the last live point.
  void add_to_table() {
    int first = count - 1;
    if (2 * count > slots_) {
      for (first = 0; 2 * count > slots_;) slots_ *= 2;
      for (int i = 0; i < slots_; ++i) slot_[i] = -1;
    }
    for (int n = first; n < count; ++n) slot_[find_slot(number[n])] = n;
  }

  static const S* zeros(Workspace<S>& w) {
    S* const found = take<S>(w, ContactMemory::per_point);
    for (int i = 0; i < ContactMemory::per_point; ++i) found[i] = all<S>(0);
    return found;
  }

  const bool is_table_;
  int slots_;
  int* const
      slot_;  ///< [points] places of points, −1 of those that are not live; of many points, a hash table
};

/// A world's state, what its next step begins with, and what is reported of its last step.
template <class S>
struct ContactState {
  S *q, *v;
  S* loop_q;  ///< coordinates of the loops' joints
  S* memory;  ///< [ContactMemory::numbers]
  S* report;  ///< [points · ContactReport::numbers]
  LivePoints<S>* live;

  /// Numbers that a point remembers, see contact/deflections.hpp.
  const S* remembered(int point) const {
    const int place = live->place(point);
    return place < 0 ? live->blank : memory + live->places.point(place);
  }

  /// The same, and the report, of a live point.
  S* memory_of(int point) const { return memory + live->places.point(live->place(point)); }
  S* report_of(int point) const { return report + ContactReport::numbers * live->place(point); }
};

/// Copies a state by copy(from, count, to), of contact points those that are live.
template <class S, class Copy>
void copy_state(const ModelOf<S>& model,
                const ContactMemory& places,
                const ContactState<S>& from,
                const ContactState<S>& to,
                const Copy& copy) {
  copy(from.q, model.reduced_nq, to.q);
  copy(from.v, model.reduced_nv, to.v);
  copy(from.loop_q, model.loop_nq(), to.loop_q);
  copy(from.memory, ContactMemory::counts, to.memory);
  const int rest = places.next_step() - places.coordinate(0);  // coordinates and angular deflections
  copy(from.memory + places.coordinate(0), rest, to.memory + places.coordinate(0));
  const int count = from.live->count;
  copy(from.memory + places.point(0), ContactMemory::per_point * count, to.memory + places.point(0));
  copy(from.report, ContactReport::numbers * count, to.report);
}

}  // namespace pysim::contact
