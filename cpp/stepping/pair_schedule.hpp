// Schedule of the pairs of shapes that a step has to test, by conservative advancement [Mirtich, Canny 1995].
//
//     a_b += h Σ L |q̇|        the path of body b's shapes is no longer than that, whatever its joints do
//     gap(t) ≥ gap(t₀) − (a_A(t) + a_B(t)) + (a_A(t₀) + a_B(t₀))
//
// A pair whose gap was g at t₀ is tested again where its paths may have used up g less the least reach, and
// 4 steps' motion ahead. Pairs of one tree move relative to its root, so that a robot's flight does not count
// for its own links. Results do not depend on the schedule: a pair that is left out is farther apart than its
// reach.
//
//     L     lever of a joint: the distance from it that shapes of the body can have [m]
//
// Paths are compared every few steps, or as soon as a rate has grown by a quarter; in between, only those of
// pairs that could be due by then.
//
// Pairs within their reach are tested in every step. Of the others, those that could be due soon are watched;
// for the rest, twice the longest path of any body suffices.
#pragma once

#include "stepping/contact_run.hpp"
#include "tree/workspace.hpp"

namespace pysim::stepping {

template <class S>
class PairSchedule {
 public:
  using Real = typename S::Real;
  using Parameter = typename S::Parameter;

  PairSchedule(const Contacts<Parameter>& contacts, int bodies, tree::Workspace<S>& w)
      : contacts_(contacts),
        rate_(tree::take<S>(w, contacts.rates)),
        bound_(tree::take<S>(w, contacts.rates)),
        moved_(tree::take<S>(w, contacts.rates)),
        soon_(tree::take<S>(w, contacts.rates)),
        own_(tree::take<Path>(w, bodies + 1) + 1),
        whole_(tree::take<Path>(w, bodies + 1) + 1),
        end_(tree::take<S>(w, contacts.pairs)),
        near_(tree::take<bool>(w, contacts.pairs)),
        close_(tree::take<bool>(w, contacts.pairs)),
        watched_(tree::take<Watched>(w, contacts.pairs)),
        due_(tree::take<int>(w, contacts.pairs)) {
    const S o = simd::all<S>(0);
    own_[-1] = whole_[-1] = {o, o, o, o, o};
    for (int n = 0; n < contacts.carriers; ++n) {
      own_[contacts.carrier[n]] = whole_[contacts.carrier[n]] = {o, o, o, o, o};
    }
    for (int i = 0; i < contacts.rates; ++i) moved_[i] = o;
    restart();
  }

  /// Makes all pairs due.
  void restart() {
    for (int k = 0; k < contacts_.pairs; ++k) near_[k] = close_[k] = true;
    scans_ = 2;
    left_ = 0;
  }

  /// Takes the velocities (nv) of a step of length h. Returns how many pairs are due in some of these worlds.
  int begin_step(simd::Mask<S> worlds, const S* v, S h) {
    due_count_ = 0;
    if (!contacts_.bounded) {
      for (int k = 0; k < contacts_.pairs; ++k) due_[due_count_++] = k;
      return due_count_;
    }
    measure(v, h);
    if (left_ > 0 && none(worlds & faster())) {
      --left_;
      choose(worlds);
      return due_count_;
    }
    left_ = window;
    look_ahead();
    const S two = simd::all<S>(Real(2));
    auto covered = two * longest(whole_) < whole_slack_;
    if (contacts_.own_pairs > 0) covered &= two * longest(own_) < own_slack_;
    if (scans_ > 0 || any(worlds & !covered)) {
      scan(worlds);
    } else {
      for (int n = 0; n < watched_count_; ++n) {
        const Watched& watched = watched_[n];
        close_[watched.pair] = any(worlds & !(watched.a->ahead + watched.b->ahead < end_[watched.pair]));
      }
    }
    choose(worlds);
    return due_count_;
  }

  /// Pair n of those that are due; their indices ascend.
  int due(int n) const { return due_[n]; }

  /// No less than the shapes of a pair can approach each other in four steps; infinite if that is unknown.
  S approach(int k) const {
    if (!contacts_.bounded) return simd::all<S>(__builtin_inf());
    const PairBodies& pair = contacts_.bodies[k];
    const Path* const path = paths(pair);
    return simd::all<S>(Real(4)) * (path[pair.b].step + path[pair.a].step);
  }

  /// Pair k is farther apart than its least reach by `room` [m].
  void leave(int k, S room) {
    if (!contacts_.bounded) return;
    const S length = length_of(k);
    constexpr Real rounding = sizeof(Real) == 8 ? Real(1e-9) : Real(1e-3);
    end_[k] = fnma(simd::all<S>(rounding), abs(room) + length, length + room);
    near_[k] = false;
    close_[k] = true;
  }

  void stay(int k) { near_[k] = true; }

  /// Ends a step whose velocities (nv) were these at its end; null if they are those of its begin.
  void end_step(const S* v, S h) {
    if (!contacts_.bounded) return;
    if (v != nullptr) {
      measure(v, h);
      if (any(faster())) left_ = 0;
    }
    for (int i = 0; i < contacts_.rates; ++i) moved_[i] += rate_[i];
  }

 private:
  static constexpr int window = 4;  ///< steps for which paths are looked ahead, if no rate grows by a quarter

  /// Lengths of the path of a body's shapes [m].
  struct Path {
    S length, step;  ///< so far, and at most in a step
    S ahead, seen;   ///< with the steps of a window ahead, and that at the last scan
    S now;           ///< with four more steps
  };

  /// A pair whose paths are compared in every step: their lengths ahead.
  struct Watched {
    int pair;
    const Path *a, *b;
  };

  /// Length of the paths of a pair so far.
  S length_of(int k) const {
    const PairBodies& pair = contacts_.bodies[k];
    S length = simd::all<S>(0);
    const int carriers[] = {pair.carrier_a, pair.carrier_b};
    for (const int n : carriers) {
      if (n < 0) continue;
      const Levers& levers = contacts_.levers[n];
      length = sum(levers.first, pair.one_tree ? levers.root : levers.end, moved_, length);
    }
    return length;
  }

  /// Paths of all bodies with four more steps like this one.
  void look_near() {
    const S four = simd::all<S>(Real(4));
    for (int i = 0; i < contacts_.rates; ++i) soon_[i] = fma(four, rate_[i], moved_[i]);
    for (int n = 0; n < contacts_.carriers; ++n) {
      const auto& levers = contacts_.levers[n];
      Path &own = own_[contacts_.carrier[n]], &whole = whole_[contacts_.carrier[n]];
      own.now = sum(levers.first, levers.root, soon_, simd::all<S>(0));
      whole.now = sum(levers.root, levers.end, soon_, own.now);
    }
  }

  /// Adds the watched pairs that are near, or due by the paths of this step.
  void choose(simd::Mask<S> worlds) {
    bool looked = false;
    for (int n = 0; n < watched_count_; ++n) {
      const Watched& watched = watched_[n];
      const int k = watched.pair;
      if (!near_[k] && !close_[k]) continue;
      if (!near_[k]) {
        if (!looked) look_near();
        looked = true;
        if (none(worlds & !(watched.a->now + watched.b->now < end_[k]))) continue;
      }
      due_[due_count_++] = k;
    }
  }

  /// Σ length · rate over levers.
  S sum(int first, int end, const S* rate, S from) const {
    for (int i = first; i < end; ++i) {
      from = fma(simd::all<S>(contacts_.lever[i].length), rate[contacts_.lever[i].rate], from);
    }
    return from;
  }

  /// Paths of bodies; the world's has no length.
  const Path* paths(const PairBodies& pair) const { return pair.one_tree ? own_ : whole_; }

  /// Longest path since the last scan.
  S longest(const Path* path) const {
    S most = simd::all<S>(0);
    for (int n = 0; n < contacts_.carriers; ++n) {
      const Path& own = path[contacts_.carrier[n]];
      most = max(most, own.ahead - own.seen);
    }
    return most;
  }

  /// Worlds where a rate exceeds its bound.
  simd::Mask<S> faster() const {
    auto found = simd::nowhere<S>();
    for (int i = 0; i < contacts_.rates; ++i) found |= !(rate_[i] <= bound_[i]);
    return found;
  }

  /// Rates of a step, times its length.
  void measure(const S* v, S h) {
    for (int i = 0; i < contacts_.rates; ++i) {
      const Rate& rate = contacts_.rate[i];
      S size = abs(v[rate.v]);
      if (rate.count > 1) {
        S square = v[rate.v] * v[rate.v];
        for (int j = 1; j < rate.count; ++j) square = fma(v[rate.v + j], v[rate.v + j], square);
        size = sqrt(square);
      }
      rate_[i] = h * size;
    }
  }

  /// Bounds the rates of the next steps by those of this one and somewhat more, and the paths of bodies by
  /// them: until the window ends, and for four steps more.
  void look_ahead() {
    const S most = simd::all<S>(Real(1.25)), steps = simd::all<S>(Real(window + 5));
    S fastest = simd::all<S>(0);
    for (int i = 0; i < contacts_.rates; ++i) fastest = max(fastest, rate_[i]);
    for (int i = 0; i < contacts_.rates; ++i) {
      bound_[i] = fma(most, rate_[i], simd::all<S>(Real(0.05)) * fastest);
    }
    for (int n = 0; n < contacts_.carriers; ++n) {
      const auto& levers = contacts_.levers[n];
      const S none = simd::all<S>(0);
      Path &own = own_[contacts_.carrier[n]], &whole = whole_[contacts_.carrier[n]];
      own.length = sum(levers.first, levers.root, moved_, none);
      own.step = sum(levers.first, levers.root, bound_, none);
      own.ahead = fma(steps, own.step, own.length);
      whole.length = sum(levers.root, levers.end, moved_, own.length);
      whole.step = sum(levers.root, levers.end, bound_, own.step);
      whole.ahead = fma(steps, whole.step, whole.length);
    }
  }

  /// Compares all pairs: those that could be due within some steps are watched in each.
  void scan(simd::Mask<S> worlds) {
    constexpr Real horizon = 20;  // steps
    if (scans_ > 0) --scans_;
    watched_count_ = 0;
    S own_fastest = simd::all<S>(0), whole_fastest = simd::all<S>(0);
    for (int n = 0; n < contacts_.carriers; ++n) {
      Path &own = own_[contacts_.carrier[n]], &whole = whole_[contacts_.carrier[n]];
      own.seen = own.ahead;
      whole.seen = whole.ahead;
      own_fastest = max(own_fastest, own.step);
      whole_fastest = max(whole_fastest, whole.step);
    }
    const S far = simd::all<S>(Real(2) * horizon), inf = simd::all<S>(__builtin_inf());
    const S own_limit = far * own_fastest, whole_limit = far * whole_fastest;
    own_slack_ = whole_slack_ = inf;
    for (int k = 0; k < contacts_.pairs; ++k) {
      const PairBodies& pair = contacts_.bodies[k];
      const Path* const path = paths(pair);
      const S ahead = path[pair.b].ahead + path[pair.a].ahead;
      const S room = near_[k] ? simd::all<S>(0) : end_[k] - ahead;
      if (any(worlds & !(room > (pair.one_tree ? own_limit : whole_limit)))) {
        watched_[watched_count_++] = {k, &path[pair.b], &path[pair.a]};
        close_[k] = any(worlds & !(room > simd::all<S>(0)));
      } else {
        S& slack = pair.one_tree ? own_slack_ : whole_slack_;
        slack = min(slack, room);
      }
    }
    if (scans_ > 0) own_slack_ = whole_slack_ = -inf;
  }

  const Contacts<Parameter>& contacts_;
  S *rate_, *bound_, *moved_,
      *soon_;            ///< [rates] times a step, their bounds, their sums so far, and with four more steps
  Path *own_, *whole_;   ///< [−1, bodies) relative to the tree's root, and in the world
  S* end_;               ///< [pairs] sum of the paths at which a pair is due
  bool *near_, *close_;  ///< [pairs] within their reach, and those that can come so near within a window
  Watched* watched_;
  int* due_;
  int watched_count_ = 0, due_count_ = 0;
  int scans_ = 2;  ///< still to make
  int left_ = 0;   ///< steps of the window
  S own_slack_, whole_slack_;
};

}  // namespace pysim::stepping
