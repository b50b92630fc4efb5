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
// Pairs within their reach are tested in every step. Of the others, those that could be due soon are watched:
// their paths are compared in every step; for the rest, twice the longest path of any body suffices.
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
        own_(tree::take<Path>(w, bodies)),
        whole_(tree::take<Path>(w, bodies)),
        end_(tree::take<S>(w, contacts.pairs)),
        near_(tree::take<bool>(w, contacts.pairs)),
        watched_(tree::take<int>(w, contacts.pairs)),
        due_(tree::take<int>(w, contacts.pairs)) {
    const S o = simd::all<S>(0);
    for (int n = 0; n < contacts.carriers; ++n) {
      own_[contacts.carrier[n]] = whole_[contacts.carrier[n]] = {o, o, o, o};
    }
    restart();
  }

  /// Makes all pairs due.
  void restart() {
    for (int k = 0; k < contacts_.pairs; ++k) near_[k] = true;
    scans_ = 2;
  }

  /// Takes the velocities (nv) of a step of length h. Returns how many pairs are due in some of these worlds.
  int begin_step(simd::Mask<S> worlds, const S* v, S h) {
    due_count_ = 0;
    if (!contacts_.bounded) {
      for (int k = 0; k < contacts_.pairs; ++k) due_[due_count_++] = k;
      return due_count_;
    }
    measure(v, h);
    const S four = simd::all<S>(Real(4)), two = simd::all<S>(Real(2));
    S own_most = simd::all<S>(0), whole_most = simd::all<S>(0);
    for (int n = 0; n < contacts_.carriers; ++n) {
      Path &own = own_[contacts_.carrier[n]], &whole = whole_[contacts_.carrier[n]];
      own.ahead = fma(four, own.step, own.length);
      whole.ahead = fma(four, whole.step, whole.length);
      own_most = max(own_most, own.ahead - own.seen);
      whole_most = max(whole_most, whole.ahead - whole.seen);
    }
    const auto covered = (two * own_most < own_slack_) & (two * whole_most < whole_slack_);
    if (scans_ > 0 || any(worlds & !covered)) {
      scan(worlds);
      return due_count_;
    }
    for (int n = 0; n < watched_count_; ++n) {
      const int k = watched_[n];
      if (near_[k] || any(worlds & !(ahead(k) < end_[k]))) due_[due_count_++] = k;
    }
    return due_count_;
  }

  /// Pair n of those that are due; their indices ascend.
  int due(int n) const { return due_[n]; }

  /// No less than the shapes of a pair can approach each other in four steps; infinite if that is unknown.
  S approach(int k) const {
    if (!contacts_.bounded) return simd::all<S>(__builtin_inf());
    const auto& pair = contacts_.pair[k];
    const Path* const path = pair.one_tree ? own_ : whole_;
    const S steps = path[pair.b].step;
    return simd::all<S>(Real(4)) * (pair.a < 0 ? steps : steps + path[pair.a].step);
  }

  /// Pair k is farther apart than its reach by `room` [m], which may be less but for its motion.
  void leave(int k, S room) {
    const auto& pair = contacts_.pair[k];
    const Path* const path = pair.one_tree ? own_ : whole_;
    S length = path[pair.b].length;
    if (pair.a >= 0) length += path[pair.a].length;
    constexpr Real rounding = sizeof(Real) == 8 ? Real(1e-9) : Real(1e-3);
    end_[k] = fnma(simd::all<S>(rounding), abs(room) + length, length + room);
    near_[k] = false;
  }

  void stay(int k) { near_[k] = true; }

  /// Ends a step whose velocities (nv) were these at its end; null if they are those of its begin.
  void end_step(const S* v, S h) {
    if (!contacts_.bounded) return;
    if (v != nullptr) measure(v, h);
    for (int n = 0; n < contacts_.carriers; ++n) {
      Path &own = own_[contacts_.carrier[n]], &whole = whole_[contacts_.carrier[n]];
      own.length += own.step;
      whole.length += whole.step;
    }
  }

 private:
  /// Lengths of the path of a body's shapes [m].
  struct Path {
    S length, step;  ///< so far, and in a step
    S ahead, seen;   ///< with four more steps, and that at the last scan
  };

  S ahead(int k) const {
    const auto& pair = contacts_.pair[k];
    const Path* const path = pair.one_tree ? own_ : whole_;
    return pair.a < 0 ? path[pair.b].ahead : path[pair.b].ahead + path[pair.a].ahead;
  }

  /// Lengths of a step's paths.
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
    for (int n = 0; n < contacts_.carriers; ++n) {
      const auto& levers = contacts_.levers[n];
      const auto sum = [&](int first, int end, S from) {
        for (int i = first; i < end; ++i) {
          from = fma(simd::all<S>(contacts_.lever[i].length), rate_[contacts_.lever[i].rate], from);
        }
        return from;
      };
      const int b = contacts_.carrier[n];
      own_[b].step = sum(levers.first, levers.root, simd::all<S>(0));
      whole_[b].step = sum(levers.root, levers.end, own_[b].step);
    }
  }

  /// Compares all pairs: those that could be due within some steps are watched in each.
  void scan(simd::Mask<S> worlds) {
    constexpr Real horizon = 24;  // steps
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
      const bool own = contacts_.pair[k].one_tree;
      const S room = near_[k] ? simd::all<S>(0) : end_[k] - ahead(k);
      if (any(worlds & !(room > simd::all<S>(0)))) {
        due_[due_count_++] = watched_[watched_count_++] = k;
      } else if (any(worlds & !(room > (own ? own_limit : whole_limit)))) {
        watched_[watched_count_++] = k;
      } else {
        S& slack = own ? own_slack_ : whole_slack_;
        slack = min(slack, room);
      }
    }
    if (scans_ > 0) own_slack_ = whole_slack_ = -inf;
  }

  const Contacts<Parameter>& contacts_;
  S* rate_;             ///< [rates]
  Path *own_, *whole_;  ///< [bodies] relative to the tree's root, and in the world
  S* end_;              ///< [pairs] sum of the paths at which a pair is due
  bool* near_;          ///< [pairs] within their reach
  int *watched_, *due_;
  int watched_count_ = 0, due_count_ = 0;
  int scans_ = 2;  ///< still to make in the next steps
  S own_slack_, whole_slack_;
};

}  // namespace pysim::stepping
