// Schedule of the pairs of shapes that a step has to test, by conservative advancement [Mirtich, Canny 1995].
//
//     a_b += h Σ L |q̇|        the path of body b's shapes is no longer than that, whatever its joints do
//     gap(t) ≥ gap(t₀) − (a_A(t) + a_B(t)) + (a_A(t₀) + a_B(t₀))
//
//     L     lever of a joint: the distance from it that shapes of the body can have [m]
//
// Rates |q̇| are bounded for a window of steps, by their size and change at its begin. While no rate exceeds
// its bound, a pair is due at a step of the window that is known beforehand, and a step in which no pair is
// due compares rates with bounds, nothing else. Pairs that are too far apart to be due soon are not looked at
// one by one: twice the longest path of any body is compared with the least of their gaps.
//
// A pair is due where its gap can have closed at rates within their bounds. Where something touches, a step
// can end at other rates: if one exceeds its bound, pairs in reach of each other are due, too. So results do
// not depend on the schedule: pairs that are left out do not touch at any velocity that the step goes
// through, or all are farther apart than their reach. Paths of steps in which something touches are those of
// their velocities, paths of the others those of the bounds. Pairs of one tree move relative to its root, so
// that a robot's flight does not count for its own links.
//
// Of many pairs, those that can be due soon are found by the balls of their shapes
// (contact/sweep_and_prune.hpp), and nothing is known of the others but that they are farther apart.
//
// A schedule can be kept from call to call, see engine/saved_schedules.hpp. The file is long, since paths,
// gaps and the list of what is due are one state.
#pragma once

#include "contact/sweep_and_prune.hpp"

namespace pysim::contact {

template <class S>
class PairSchedule {
 public:
  using Real = typename S::Real;
  using Parameter = typename S::Parameter;
  using Bounds = PairBounds<simd::Fixed<Parameter>>;

  PairSchedule(const Contacts<Parameter>& contacts, int bodies, tree::Workspace<S>& w)
      : contacts_(contacts),
        bodies_(bodies),
        bound_(tree::take<S>(w, contacts.rates)),
        limit_(tree::take<S>(w, contacts.rates)),
        moved_(tree::take<S>(w, contacts.rates)),
        change_(tree::take<S>(w, contacts.rates)),
        in_tree_(tree::take<Path>(w, bodies + 1) + 1),
        in_world_(tree::take<Path>(w, bodies + 1) + 1),
        end_(tree::take<S>(w, contacts.pairs)),
        repeats_(tree::take<bool>(w, contacts.pairs)),
        step_(tree::take<int>(w, contacts.pairs)),
        watched_(tree::take<int>(w, contacts.pairs)),
        due_(tree::take<int>(w, 2 * std::ptrdiff_t{contacts.pairs})),
        sweeps_(S::width == 1 && contacts.bounded && contacts.partner != nullptr),
        sweep_(contacts, w) {
    const S o = simd::all<S>(0);
    in_tree_[-1] = in_world_[-1] = {o, o, o, o};
    for (int i = 0; i < contacts.rates; ++i) moved_[i] = bound_[i] = o;
  }

  /// Makes all pairs due.
  void restart() {
    tests_all_ = true;
    left_ = age_ = 0;
    all_worlds_ = simd::everywhere<S>();
  }

  /// Whether the next call may begin with this schedule: all worlds have made all steps since all pairs were
  /// tested, which are few, for bounds of gaps get loose.
  bool is_complete() const { return contacts_.bounded && !tests_all_ && age_ < oldest && none(!all_worlds_); }

  /// Bytes that `save` writes.
  std::ptrdiff_t bytes() const {
    std::ptrdiff_t size = 0;
    const_cast<PairSchedule*>(this)->visit([&](void*, std::ptrdiff_t count) { size += count; });
    return size;
  }

  void save(unsigned char* to) const {
    const_cast<PairSchedule*>(this)->visit([&](const void* part, std::ptrdiff_t count) {
      simd::copy_bytes(to, part, static_cast<std::size_t>(count));
      to += count;
    });
  }

  void load(const unsigned char* from) {
    visit([&](void* part, std::ptrdiff_t count) {
      simd::copy_bytes(part, from, static_cast<std::size_t>(count));
      from += count;
    });
  }

  /// Takes the velocities (nv) of a step of length h at its start, and those it would have at its end without
  /// contacts. Returns how many pairs are due in some of these worlds. place_balls() returns the balls'
  /// centres [balls], if they are needed.
  template <class PlaceBalls>
  int begin_step(simd::Mask<S> worlds, const S* start, const S* v, S h, const PlaceBalls& place_balls) {
    worlds_ = worlds;
    all_worlds_ &= worlds;
    ++age_;
    start_ = start;
    due_count_ = 0;
    lists_pairs_ = false;
    if (!contacts_.bounded) {
      for (int k = 0; k < contacts_.pairs; ++k) due_[due_count_++] = k;
      return due_count_;
    }
    if (left_ == 0 || any(worlds & !((h == h_) & within(v)))) open_window(start, v, h, place_balls);
    --left_;
    tested_all_ = tests_all_;
    if (tests_all_) {
      tests_all_ = false;
      begin_lists();
      if (sweeps_) {
        due_count_ = sweep_.list(place_balls(), begin_sweep(), due_);
      } else {
        for (int k = 0; k < contacts_.pairs; ++k) due_[due_count_++] = k;
      }
    } else if (elapsed_ >= next_) {
      choose();
    }
    return due_count_;
  }

  /// Pair n of those that are due; their indices ascend.
  int due(int n) const { return due_[n]; }
  const int* due() const { return due_; }

  /// Whether the step began with a test of all pairs without those that are far apart.
  bool left_out_far() const { return sweeps_ && tested_all_; }

  /// Whether pairs that are not due touch nothing while the rates of the step are those of v (nv).
  bool covers(const S* v) const { return !contacts_.bounded || none(worlds_ & !within(v)); }

  /// Velocities (nv) where the step starts.
  const S* start() const { return start_; }

  /// Lists the pairs that can be in reach and are not due after those that are; returns how many both are.
  int add_reachable() {
    if (!contacts_.bounded || lists_pairs_) return due_count_;
    const int tested = due_count_;
    const S steps = simd::all<S>(Real(elapsed_ + steps_in_reach));
    for (int n = 0, at = 0; n < watched_count_; ++n) {
      const int k = watched_[n];
      while (at < tested && due_[at] < k) ++at;
      if (at < tested && due_[at] == k) continue;
      const S room = fnma(steps, step_of(k), end_[k] - length_of(k));
      Bounds filled;
      const Bounds& bounds = contacts_.bounds_at(k, filled);
      if (any(worlds_ & !(room > simd::all<S>(bounds.least_reach)))) due_[due_count_++] = k;
    }
    return due_count_;
  }

  /// No less than the shapes of a pair can approach each other in four steps; infinite if that is unknown.
  S approach(int k) const {
    if (!contacts_.bounded) return simd::all<S>(simd::infinity);
    return simd::all<S>(Real(steps_in_reach)) * step_of(k);
  }

  /// The gap of pair k is no less than `gap` [m].
  void set_gap(int k, S gap) {
    if (!contacts_.bounded) return;
    constexpr Real rounding = sizeof(Real) == 8 ? Real(1e-9) : Real(1e-3);
    const S length = fma(simd::all<S>(Real(apart_)), step_of(k), length_of(k));
    end_[k] = fnma(simd::all<S>(rounding), abs(gap) + length, length + gap);
    repeats_[k] = false;
    if (lists_pairs_) {
      list(k);
    } else {
      set_step(k);
    }
  }

  /// Ends a step whose velocities (nv) were these at its end; null if they are those without contacts.
  void end_step(const S* v) {
    if (!contacts_.bounded) return;
    has_change_ = false;
    if (v == nullptr) {
      ++elapsed_;
      ++apart_;
      return;
    }
    if (none(worlds_ & !within(v))) {
      ++elapsed_;
    } else {
      add_window();
      left_ = 0;
    }
    const auto size = [&](int i, const auto& at) { return size_of(contacts_.rate[i], at); };
    for (int i = 0; i < contacts_.rates; ++i) {
      moved_[i] = fma(h_, size(i, [&](int j) { return v[j]; }), moved_[i]);
    }
    if (left_ > 0) return;
    has_change_ = true;
    for (int i = 0; i < contacts_.rates; ++i) {
      change_[i] = size(i, [&](int j) { return v[j] - start_[j]; });
    }
  }

  /// Makes pair k, which was due in the step that has ended, due in the next one.
  void repeat(int k) {
    if (!contacts_.bounded) return;
    repeats_[k] = true;
    step_[k] = next_ = 0;
  }

 private:
  static constexpr Real least_share = Real(0.02);  ///< of the least reach in the smaller ball's radius
  static constexpr int window = 8;                 ///< steps for which rates are bounded
  static constexpr int oldest = 200;               ///< steps of a schedule that the next call begins with
  static constexpr int steps_in_reach = 4;         ///< whose motion the reach of a pair contains
  static constexpr int steps_ahead = 2;            ///< before its gap can have closed, a pair is due
  static constexpr int horizon = 2 * window;       ///< steps within which a watched pair can be due

  /// Lengths of the path of a body's shapes [m].
  struct Path {
    S length, step;  ///< at the begin of the window, and at most in a step of it
    S ahead, seen;   ///< with all steps that decide what is due in the window, and that at the last listing
  };

  /// visit(part, bytes) for all that the next step depends on.
  template <class Visit>
  void visit(const Visit& visit) {
    const auto part = [&](auto* array, std::ptrdiff_t count) {
      visit(static_cast<void*>(array), count * static_cast<std::ptrdiff_t>(sizeof(*array)));
    };
    part(bound_, contacts_.rates);
    part(limit_, contacts_.rates);
    part(moved_, contacts_.rates);
    part(change_, contacts_.rates);
    part(in_tree_ - 1, bodies_ + 1);
    part(in_world_ - 1, bodies_ + 1);
    part(&watched_count_, 1);
    if (sweeps_) {  // the others have no numbers
      for (int n = 0; n < watched_count_; ++n) {
        part(watched_ + n, 1);
        part(end_ + watched_[n], 1);
        part(repeats_ + watched_[n], 1);
        part(step_ + watched_[n], 1);
      }
    } else {
      part(end_, contacts_.pairs);
      part(repeats_, contacts_.pairs);
      part(step_, contacts_.pairs);
      part(watched_, contacts_.pairs);
    }
    part(&left_, 1);
    part(&elapsed_, 1);
    part(&apart_, 1);
    part(&next_, 1);
    part(&age_, 1);
    part(&tests_all_, 1);
    part(&has_change_, 1);
    part(&h_, 1);
    part(&tree_slack_, 1);
    part(&world_slack_, 1);
    part(&tree_limit_, 1);
    part(&world_limit_, 1);
  }

  /// Size of a rate of velocities that `at` gives.
  template <class At>
  static S size_of(const Rate& rate, const At& at) {
    if (rate.count == 1) return abs(at(rate.v));
    return sqrt(square_of(rate, at));
  }

  template <class At>
  static S square_of(const Rate& rate, const At& at) {
    const S first = at(rate.v);
    S square = first * first;
    for (int j = 1; j < rate.count; ++j) {
      const S next = at(rate.v + j);
      square = fma(next, next, square);
    }
    return square;
  }

  /// Worlds where no rate exceeds its bound.
  simd::Mask<S> within(const S* v) const {
    auto within = simd::everywhere<S>();
    for (int i = 0; i < contacts_.rates; ++i) {
      const Rate& rate = contacts_.rate[i];
      const S size = rate.count == 1 ? abs(v[rate.v]) : square_of(rate, [&](int j) { return v[j]; });
      within &= size <= limit_[i];
    }
    return within;
  }

  /// Bounds the rates of the next steps, and finds the steps at which pairs are due.
  template <class PlaceBalls>
  void open_window(const S* start, const S* v, S h, const PlaceBalls& place_balls) {
    add_window();
    h_ = h;
    left_ = window;
    bound_rates(start, v);
    bound_paths();
    if (tests_all_) return;
    const S two = simd::all<S>(Real(2));
    auto covered = two * longest(in_world_) < world_slack_;
    if (contacts_.tree_pairs > 0) covered &= two * longest(in_tree_) < tree_slack_;
    next_ = window;
    if (any(worlds_ & !covered)) {
      if (sweeps_) {
        list_swept(place_balls);
      } else {
        begin_lists();
        for (int k = 0; k < contacts_.pairs; ++k) list(k);
      }
      lists_pairs_ = false;
    } else {
      for (int n = 0; n < watched_count_; ++n) set_step(watched_[n]);
    }
  }

  /// Adds the paths of the window's steps in which nothing touched.
  void add_window() {
    const S count = simd::all<S>(Real(apart_));
    for (int i = 0; i < contacts_.rates; ++i) moved_[i] = fma(count, bound_[i], moved_[i]);
    elapsed_ = apart_ = 0;
  }

  /// Rates of the window: those at its begin, as they would grow, and somewhat more. They grow as without
  /// contacts, or as in the last step if that is less: what lies on others does not fall.
  void bound_rates(const S* start, const S* v) {
    const S most = simd::all<S>(Real(1.1)), growth = simd::all<S>(Real(window));
    S fastest = simd::all<S>(0);
    for (int i = 0; i < contacts_.rates; ++i) {
      const S size = size_of(contacts_.rate[i], [&](int j) { return v[j]; });
      S change = size_of(contacts_.rate[i], [&](int j) { return v[j] - start[j]; });
      if (has_change_) change = min(change, change_[i]);
      fastest = max(fastest, size);
      bound_[i] = fma(growth, change, most * size);
    }
    const S least = fma(simd::all<S>(Real(0.03)), fastest, simd::all<S>(Real(1e-9)));
    for (int i = 0; i < contacts_.rates; ++i) {
      const S speed = bound_[i] + least;
      limit_[i] = contacts_.rate[i].count == 1 ? speed : speed * speed;
      bound_[i] = h_ * speed;
    }
  }

  void bound_paths() {
    const S steps = simd::all<S>(Real(window + steps_in_reach));
    for (int n = 0; n < contacts_.carriers; ++n) {
      const auto& levers = contacts_.levers[n];
      const S none = simd::all<S>(0);
      Path &in_tree = in_tree_[contacts_.carrier[n]], &in_world = in_world_[contacts_.carrier[n]];
      in_tree.length = sum(levers.first, levers.root, moved_, none);
      in_tree.step = sum(levers.first, levers.root, bound_, none);
      in_tree.ahead = fma(steps, in_tree.step, in_tree.length);
      in_world.length = sum(levers.root, levers.end, moved_, in_tree.length);
      in_world.step = sum(levers.root, levers.end, bound_, in_tree.step);
      in_world.ahead = fma(steps, in_world.step, in_world.length);
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
  const Path* paths(const Bounds& bounds) const { return bounds.one_tree ? in_tree_ : in_world_; }

  S step_of(int k) const {
    Bounds filled;
    const Bounds& bounds = contacts_.bounds_at(k, filled);
    const Path* const path = paths(bounds);
    return path[bounds.b].step + path[bounds.a].step;
  }

  S length_of(int k) const {
    Bounds filled;
    const Bounds& bounds = contacts_.bounds_at(k, filled);
    const Path* const path = paths(bounds);
    return path[bounds.b].length + path[bounds.a].length;
  }

  /// Longest path since the last listing.
  S longest(const Path* path) const {
    S most = simd::all<S>(0);
    for (int n = 0; n < contacts_.carriers; ++n) {
      const Path& body_path = path[contacts_.carrier[n]];
      most = max(most, body_path.ahead - body_path.seen);
    }
    return most;
  }

  /// Finds the step of the window at which pair k is due.
  void set_step(int k) {
    step_[k] = step_when_due(k);
    next_ = step_[k] < next_ ? step_[k] : next_;
  }

  /// The first step of the window, from this one on, at which the gap of pair k can have closed; no more than
  /// twice as early.
  int step_when_due(int k) const {
    if (repeats_[k]) return elapsed_;
    const S step = step_of(k), before = simd::all<S>(Real(elapsed_ + steps_ahead));
    const S room = fnma(before, step, end_[k] - length_of(k));
    if (any(worlds_ & !(room > simd::all<S>(0)))) return elapsed_;
    for (int n = window; n > 0; n /= 2) {
      if (none(worlds_ & !(room > simd::all<S>(Real(n)) * step))) return elapsed_ + n + 1;
    }
    return elapsed_ + 1;
  }

  /// Makes watched pairs due at their steps.
  void choose() {
    next_ = window;
    for (int n = 0; n < watched_count_; ++n) {
      const int k = watched_[n];
      if (step_[k] <= elapsed_) {
        due_[due_count_++] = k;
      } else {
        next_ = step_[k] < next_ ? step_[k] : next_;
      }
    }
  }

  /// Begins to list all pairs: those that can be due within some steps are watched.
  void begin_lists() {
    lists_pairs_ = true;
    watched_count_ = 0;
    next_ = window;
    S fastest_in_tree = simd::all<S>(0), fastest_in_world = simd::all<S>(0);
    for (int n = 0; n < contacts_.carriers; ++n) {
      Path &in_tree = in_tree_[contacts_.carrier[n]], &in_world = in_world_[contacts_.carrier[n]];
      in_tree.seen = in_tree.ahead;
      in_world.seen = in_world.ahead;
      fastest_in_tree = max(fastest_in_tree, in_tree.step);
      fastest_in_world = max(fastest_in_world, in_world.step);
    }
    const S far = simd::all<S>(Real(2 * horizon));
    fastest_ = max(fastest_in_tree, fastest_in_world);
    tree_limit_ = far * fastest_in_tree;
    world_limit_ = far * fastest_in_world;
    tree_slack_ = world_slack_ = simd::all<S>(simd::infinity);
  }

  /// Leaves out the pairs that are not within the returned reach: they cannot be due soon.
  S begin_sweep() {
    tree_slack_ = tree_limit_;
    world_slack_ = world_limit_;
    S least = simd::all<S>(0);
    for (int i = 0; i < contacts_.balls; ++i) least = max(least, simd::all<S>(contacts_.ball[i].radius));
    const S room =
        fma(simd::all<S>(Real(2 * (window + steps_in_reach))), fastest_, max(tree_limit_, world_limit_));
    constexpr Real rounding = sizeof(Real) == 8 ? Real(1e-9) : Real(1e-3);
    return fma(simd::all<S>(least_share + rounding), least, simd::all<S>(1 + rounding) * room);
  }

  /// Lists the pairs that a sweep finds. What is known of those that were watched stays.
  template <class PlaceBalls>
  void list_swept(const PlaceBalls& place_balls) {
    const spatial::Vec3<S>* const centre = place_balls();
    int* const before = due_ + contacts_.pairs;
    const int count_before = watched_count_;
    for (int n = 0; n < count_before; ++n) before[n] = watched_[n];
    begin_lists();
    const int count = sweep_.list(centre, begin_sweep(), due_);
    for (int n = 0, at = 0; n < count; ++n) {
      const int k = due_[n];
      while (at < count_before && before[at] < k) ++at;
      if (at < count_before && before[at] == k) {
        list(k);
      } else {
        set_gap(k, gap_of_balls(k, centre));
      }
    }
  }

  /// A bound of the gap of pair k.
  S gap_of_balls(int k, const spatial::Vec3<S>* centre) const {
    Bounds filled;
    const Bounds& bounds = contacts_.bounds_at(k, filled);
    const spatial::Vec3<S>& p = centre[bounds.ball_b];
    if (bounds.ball_a < 0) {
      ContactPair<Parameter> room;
      const auto& pair = contacts_.template pair_at<S>(k, room);
      return dot(spatial::all3<S>(pair.normal), p) - simd::all<S>(pair.offset) - simd::all<S>(bounds.radii);
    }
    const spatial::Vec3<S> r = p - centre[bounds.ball_a];
    return sqrt(dot(r, r)) - simd::all<S>(bounds.radii);
  }

  void list(int k) {
    Bounds filled;
    const Bounds& pair = contacts_.bounds_at(k, filled);
    const Path* const path = paths(pair);
    const S room = end_[k] - (path[pair.b].ahead + path[pair.a].ahead) - simd::all<S>(pair.least_reach);
    if (any(worlds_ & !(room > (pair.one_tree ? tree_limit_ : world_limit_)))) {
      watched_[watched_count_++] = k;
      set_step(k);
    } else {
      S& slack = pair.one_tree ? tree_slack_ : world_slack_;
      slack = min(slack, room);
    }
  }

  const Contacts<Parameter>& contacts_;
  const int bodies_;
  simd::Mask<S> worlds_ = simd::nowhere<S>(), all_worlds_ = simd::everywhere<S>();
  const S* start_ = nullptr;     ///< [nv] velocities where the step starts
  S *bound_, *limit_, *moved_;   ///< [rates] most in a step, most of |v| or |v|², and sums over past steps
  S* change_;                    ///< [rates] in the last step
  Path *in_tree_, *in_world_;    ///< [−1, bodies) relative to the tree's root, and in the world
  S* end_;                       ///< [pairs] sum of the paths at which a pair is due
  bool* repeats_;                ///< [pairs] due whatever their gap is
  int *step_, *watched_, *due_;  ///< [pairs] step of the window at which a watched pair is due
  bool sweeps_;
  SweepAndPrune<S> sweep_;
  int watched_count_ = 0, due_count_ = 0;
  int left_ = 0, elapsed_ = 0;  ///< steps of the window
  int apart_ = 0;               ///< those of them that have passed without contacts
  int age_ = 0;                 ///< steps since all pairs were tested
  int next_ = 0;                ///< the first step at which some pair is due
  bool tests_all_ = true, tested_all_ = false, lists_pairs_ = false, has_change_ = false;
  S fastest_;  ///< longest path of a body in a step
  S h_, tree_slack_, world_slack_, tree_limit_, world_limit_;
};

}  // namespace pysim::contact
