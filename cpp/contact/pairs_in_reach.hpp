// Pairs of shapes that may touch within a step: tested as their schedule says, and their points placed among
// the unknowns of the convex problem.
#pragma once

#include "contact/deflections.hpp"
#include "contact/kinds.hpp"
#include "contact/points.hpp"
#include "contact/schedule.hpp"
#include "dynamics/loaded_factor.hpp"

namespace pysim::contact {

template <class S>
class PairsInReach {
 public:
  using Real = typename S::Real;
  using Parameter = typename S::Parameter;
  using Pair = ContactPair<Parameter>;

  /// Bodies are placed by `factor`. Gaps are those at poses that a step of length `lead` reaches, 0 of a step
  /// that begins there; `free` (nv) is v*.
  PairsInReach(const Contacts<Parameter>& contacts,
               const Deflections<S>& deflections,
               PairSchedule<S>& schedule,
               const LoadedFactor<S>& factor,
               ActivePairs<S>& pairs,
               ContactKinds<S>& kinds,
               S h,
               S lead,
               const S* free,
               Workspace<S>& w)
      : model_(factor.model),
        contacts_(contacts),
        deflections_(deflections),
        schedule_(schedule),
        factor_(factor),
        pairs_(pairs),
        kinds_(kinds),
        h_(h),
        lead_(lead),
        free_(free),
        start_(take<Motion<S>>(w, model_.bodies)),
        twist_(take<Motion<S>>(w, model_.bodies)),
        shift_(take<Motion<S>>(w, model_.bodies)),
        centre_(take<Vec3<S>>(w, contacts.balls)),
        motion_(take<BallMotion>(w, 2 * std::ptrdiff_t{contacts.balls})),
        has_motion_(take<bool>(w, 2 * std::ptrdiff_t{contacts.balls})) {}

  /// Reads the twists of the bodies at the start.
  void begin() {
    for (int b = 0; b < model_.bodies; ++b) start_[b] = factor_.body[b].V;
  }

  /// Takes by what positions at the end differ (nv) from those that velocities give; null for nothing.
  void shift(const S* by) {
    is_shifted_ = by != nullptr;
    if (is_shifted_) spread(by, shift_);
  }

  /// Twist of a body at the start.
  const Motion<S>& start(int b) const { return start_[b]; }

  /// Places the points of pairs that are due. `v` (nv) are the velocities at the start.
  void place_due(Mask<S> wanted, const S* v, const ContactState<S>& state) {
    has_twists_ = false;
    bool has_centres = false;
    const auto place_balls = [&] {
      if (!has_centres) this->place_balls();
      has_centres = true;
      return static_cast<const Vec3<S>*>(centre_);
    };
    due_ = schedule_.begin_step(wanted, v, free_, h_, place_balls);
    if (due_ > many_pairs) place_balls();
    if (schedule_.left_out_far()) deflections_.forget_others(schedule_.due(), due_, state);
    for (int n = 0; n < due_; ++n) place_pair(schedule_.due(n), due_ > many_pairs, state);
    left_out_ = 0;
  }

  /// Lists pairs in reach that are not due, where something touches.
  void list_left_out(const ContactState<S>& state) {
    left_out_ = schedule_.add_reachable() - due_;
    if (left_out_ > 0 && !schedule_.covers(schedule_.start())) place_left_out(state);
  }

  /// Whether pairs that were left out touch nothing at velocities (nv).
  bool covers(const S* v) const { return schedule_.covers(v); }
  bool has_left_out() const { return left_out_ > 0; }

  /// Places the points of pairs in reach that are not due. They touch nothing at v₀ and v*.
  void place_left_out(const ContactState<S>& state) {
    has_twists_ = false;
    const int first = due_;
    for (int n = first; n < first + left_out_; ++n) place_pair(schedule_.due(n), false, state);
    left_out_ = 0;
    pairs_.sort();
  }

  /// Ends a step: `v` (nv) are the velocities at its end, null if they are v*. Pairs that push are tested in
  /// the next step, too: what their points remember changes.
  void end(const S* v) const {
    schedule_.end_step(v);
    pairs_.each([&](int k, const Pair&) {
      for (int i = pairs_.first[k]; i < pairs_.first[k] + pairs_.used[k]; ++i) {
        const PointIterate<S>& P = kinds_.points.point[i];
        const S most = max(dot(P.at.n, P.gamma_hat), dot(P.gamma_hat, P.gamma_hat));
        if (any(most > all<S>(0))) return schedule_.repeat(pairs_.index[k]);
      }
    });
  }

 private:
  using Bounds = PairBounds<simd::Fixed<Parameter>>;

  /// Velocity of a ball's centre, and size of its angular velocity.
  struct BallMotion {
    Vec3<S> v;
    S turn;
  };

  static constexpr int many_pairs =
      8;  ///< to be tested in one step, by centres of balls that are placed first

  /// Twists of the bodies at velocities v (nv).
  void spread(const S* v, Motion<S>* twist) const {
    for (int b = 0; b < model_.bodies; ++b) {
      const tree::Joint& joint = model_.joint[b];
      const Motion<S> carried =
          joint.parent < 0 ? spatial::zero_motion<S>() : to_child(factor_.body[b].X_PB, twist[joint.parent]);
      twist[b] = plus_joint_twist(carried, joint, factor_.columns, v);
    }
  }

  /// Twists at v*, and no motions of balls yet.
  void begin_twists() {
    has_twists_ = true;
    spread(free_, twist_);
    for (int i = 0; i < 2 * contacts_.balls; ++i) has_motion_[i] = false;
  }

  /// Centres of all balls, for tests of many pairs.
  void place_balls() {
    for (int n = 0; n < contacts_.balls; ++n) {
      const Ball<Real>& ball = contacts_.ball[n];
      centre_[n] = in_world(ball.body, spatial::all3<S>(ball.centre));
    }
  }

  Vec3<S> in_world(int body, const Vec3<S>& p) const { return body < 0 ? p : factor_.X_WB[body] * p; }

  Vec3<S> centre(int ball, bool is_placed) const {
    if (is_placed) return centre_[ball];
    return in_world(contacts_.ball[ball].body, spatial::all3<S>(contacts_.ball[ball].centre));
  }

  PairPose<S> pose(const Pair& pair) const {
    return {pair.a < 0 ? nullptr : &factor_.X_WB[pair.a], factor_.X_WB[pair.b]};
  }

  /// Distance between the balls about two shapes, or of one from a plane or a field.
  S gap_of_balls(const Pair& pair, const Bounds& bounds, bool has_centres) const {
    const Vec3<S> p =
        centre(pair.field != nullptr && pair.swapped ? bounds.ball_a : bounds.ball_b, has_centres);
    if (pair.field != nullptr) {
      const Pose<S> X_WF = pair.swapped ? pose(pair).of_b(*pair.shape_b) : pose(pair).of_a(*pair.shape_a);
      const Vec3<S> r = transpose_times(X_WF.R, p - X_WF.p);
      const S from_ball = sqrt(dot(r, r)) - all<S>(pair.field_shape().radius);
      return max(from_ball, collision::field_value(*pair.field, r).bound) -
             all<S>(pair.touching_shape().radius);
    }
    if (bounds.ball_a < 0) {
      return dot(spatial::all3<S>(pair.normal), p) - all<S>(pair.offset) - all<S>(bounds.radii);
    }
    const Vec3<S> r = p - centre(bounds.ball_a, has_centres);
    return sqrt(dot(r, r)) - all<S>(bounds.radii);
  }

  /// How far two shapes can approach each other in four steps at v* [m]; those of one tree by their motion
  /// relative to its root.
  S approach(const Bounds& bounds) {
    const BallMotion& b = motion(bounds.ball_b, bounds.root);
    Vec3<S> u = b.v;
    S spin = all<S>(contacts_.ball[bounds.ball_b].radius) * b.turn;
    if (bounds.ball_a >= 0) {
      const BallMotion& a = motion(bounds.ball_a, bounds.root);
      u = u - a.v;
      spin = fma(all<S>(contacts_.ball[bounds.ball_a].radius), a.turn, spin);
    }
    return all<S>(Real(4)) * h_ * (sqrt(dot(u, u)) + spin);
  }

  /// Velocity of a ball's centre and size of its angular velocity at v*, in the world for the root −1 and
  /// else relative to its tree's root, which that is; computed once a step.
  const BallMotion& motion(int index, int root) {
    BallMotion& motion = motion_[2 * index + (root < 0 ? 0 : 1)];
    bool& is_known = has_motion_[&motion - motion_];
    if (is_known) return motion;
    is_known = true;
    const Ball<Real>& ball = contacts_.ball[index];
    if (ball.body < 0) return motion = {spatial::zero3<S>(), all<S>(0)};
    const Pose<S>& X_WB = factor_.X_WB[ball.body];
    const Motion<S>& V = twist_[ball.body];
    const Vec3<S> arm = spatial::all3<S>(ball.centre);
    Vec3<S> v = X_WB.R * cross_add(V.w, arm, V.v), w = X_WB.R * V.w;
    if (root >= 0) {
      const Pose<S>& X = factor_.X_WB[root];
      const Vec3<S> w_root = X.R * twist_[root].w;
      v = v - cross_add(w_root, X_WB * arm - X.p, X.R * twist_[root].v);
      w = w - w_root;
    }
    return motion = {v, sqrt(dot(w, w))};
  }

  /// Lets a pair touch, in the worlds where it is in reach.
  void place_pair(int k, bool has_centres, const ContactState<S>& state) {
    Bounds room_of_bounds;
    const Bounds& bounds = contacts_.bounds_at(k, room_of_bounds);
    Pair room;
    const Pair& pair = contacts_.template pair_at<S>(k, room);
    const S least = all<S>(bounds.least_reach);
    S gap = gap_of_balls(pair, bounds, has_centres);
    auto close = gap < least + schedule_.approach(k);
    if (any(close)) {
      if (!has_twists_) begin_twists();
      const S reach = least + approach(bounds);
      close &= gap < reach;
      if (any(close) && place_points(k, pair, close, reach, gap, state)) return schedule_.set_gap(k, gap);
    }
    schedule_.set_gap(k, gap);
    if (state.live->count > 0) deflections_.forget(pair, nullptr, 0, state);
  }

  /// Places the points of a pair where it is `close`; returns whether it has any. Leaves a better bound of
  /// the gap.
  bool place_points(int k, const Pair& pair, Mask<S> close, S reach, S& gap, const ContactState<S>& state) {
    const Pose<S>& X_WB = factor_.X_WB[pair.b];
    const int place = pairs_.place(k, pair), first = pairs_.first[place];
    pairs_.R_AB[place] = pair.a < 0 ? X_WB.R : transpose_times(factor_.X_WB[pair.a].R, X_WB.R);
    const bool by_features = recalls_features(pair);
    int used = 0;
    const PairGap<S> gaps = visit_points(pair, pose(pair), close, reach, [&](const PairPoint<S>& from) {
      const int m = used++;
      pairs_.slot[first + m] = pair.first + from.index;
      PointIterate<S>& P = kinds_.points.point[first + m];
      P.at.n = from.n;
      P.at.p = from.p;
      if (pair.a >= 0) {
        P.p_A = transpose_times(factor_.X_WB[pair.a].R, from.p_O - factor_.X_WB[pair.a].p);
      }
      P.at.x = select(from.exists, -from.gap, all<S>(Real(-1e30)));
      P.feature = from.feature;
      if (!by_features) recall_slot(place, m, X_WB, state);
    });
    gap = pair.field != nullptr ? max(gap, gaps.bound) : gaps.bound;
    if (none(close & (gaps.least <= reach))) return false;
    pairs_.include(place, used);
    if (by_features) recall_features(place, X_WB, state);
    return true;
  }

  PYSIM_INLINE void recall_slot(int place, int m, const Pose<S>& X_WB, const ContactState<S>& state) {
    const Pair& pair = pairs_.pair(place);
    const int point = pairs_.first[place] + m;
    PointIterate<S>& P = kinds_.points.point[point];
    const Deflection<S> kept = deflections_.recall(pair, pairs_.slot[point] - pair.first, state);
    const Vec3<S> s = transpose_times(X_WB.R, kept.s);
    P.at.s = pair.plane ? fnma(dot(P.at.n, s), P.at.n, s) : turned_with_normal(P.at.n, s);
    place_velocities(place, P, kept.slid);
    if (pair.turning >= 0) place_turning(place, m, kept.turning);
  }

  void recall_features(int place, const Pose<S>& X_WB, const ContactState<S>& state) {
    const Pair& pair = pairs_.pair(place);
    Deflection<S> kept[collision::max_manifold_points];
    PointIterate<S>* const point = kinds_.points.point + pairs_.first[place];
    deflections_.recall_features(pair, point, pairs_.used[place], state, kept);
    for (int m = 0; m < pairs_.used[place]; ++m) {
      point[m].at.s = turned_with_normal(point[m].at.n, transpose_times(X_WB.R, kept[m].s));
      place_velocities(place, point[m], kept[m].slid);
      if (pair.turning >= 0) place_turning(place, m, kept[m].turning);
    }
  }

  /// Velocities of a point at the start and without contacts, and its friction.
  void place_velocities(int k, PointIterate<S>& P, Mask<S> slid) {
    const auto& pair = pairs_.pair(k);
    const Vec3<S> surface = spatial::all3<S>(pair.surface);
    S fastest = all<S>(0);
    const auto velocity = [&](const Motion<S>* V) {
      const Vec3<S> u = cross_add(V[pair.b].w, P.at.p, V[pair.b].v);
      fastest = max(fastest, dot(u, u));
      if (pair.a < 0) return u - transpose_times(pairs_.R_AB[k], surface);
      const Vec3<S> u_A = cross_add(V[pair.a].w, P.p_A, V[pair.a].v);
      fastest = max(fastest, dot(u_A, u_A));
      return u - transpose_times(pairs_.R_AB[k], u_A + surface);
    };
    P.start = velocity(start_);
    P.free = velocity(twist_);
    P.speed = sqrt(max(fastest, dot(P.free, P.free)));
    P.at.mu = select(slid, all<S>(pair.law.dynamic_friction), all<S>(pair.law.static_friction));
    P.lagged = P.at.limit = P.at.mu * h_ * constraints::normal_force(pair.law, P.at.x, dot(P.at.n, P.start));
    P.at.x = fma(lead_, dot(P.at.n, P.start), P.at.x);
    if (!is_shifted_) return;
    Vec3<S> shift = cross_add(shift_[pair.b].w, P.at.p, shift_[pair.b].v);
    if (pair.a >= 0) {
      const Motion<S>& of_a = shift_[pair.a];
      shift = shift - transpose_times(pairs_.R_AB[k], cross_add(of_a.w, P.p_A, of_a.v));
    }
    const S opening = dot(P.at.n, shift);
    P.at.x -= opening;
    P.at.s += fnma(opening, P.at.n, shift);
  }

  /// Angular velocities of a point's bodies, relative to each other, and its angular deflection, given in the
  /// world.
  void place_turning(int k, int i, const Vec3<S>& deflection) {
    const auto& pair = pairs_.pair(k);
    TurningIterate<S>& T = kinds_.turnings.turning[pairs_.first_turning[k] + i];
    S fastest = all<S>(0);
    const auto spin = [&](const Motion<S>* V) {
      const Vec3<S>& w = V[pair.b].w;
      fastest = max(fastest, dot(w, w));
      if (pair.a < 0) return w;
      const Vec3<S>& w_A = V[pair.a].w;
      fastest = max(fastest, dot(w_A, w_A));
      return w - transpose_times(pairs_.R_AB[k], w_A);
    };
    T.start = spin(start_);
    T.free = spin(twist_);
    T.speed = max(sqrt(fastest), kinds_.points.point[pairs_.first[k] + i].speed / all<S>(pair.law.lever));
    T.s = transpose_times(factor_.X_WB[pair.b].R, deflection);
    if (!is_shifted_) return;
    T.s += shift_[pair.b].w;
    if (pair.a >= 0) T.s = T.s - transpose_times(pairs_.R_AB[k], shift_[pair.a].w);
  }

  const ModelOf<S>& model_;
  const Contacts<Parameter>& contacts_;
  const Deflections<S>& deflections_;
  PairSchedule<S>& schedule_;
  const LoadedFactor<S>& factor_;
  ActivePairs<S>& pairs_;
  ContactKinds<S>& kinds_;
  const S h_, lead_;
  const S* const free_;
  Motion<S>*start_, *twist_;  ///< [bodies] at v₀ and v*
  Motion<S>* shift_;          ///< [bodies] displacements at the end beside h v₁
  Vec3<S>* centre_;           ///< [balls] in the world
  BallMotion* motion_;        ///< [2 balls] in the world and relative to the tree's root
  bool* has_motion_;          ///< [2 balls]
  bool has_twists_ = false, is_shifted_ = false;
  int due_ = 0, left_out_ = 0;  ///< pairs that are due, and those in reach that are not placed
};

}  // namespace pysim::contact
