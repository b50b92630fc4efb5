// Convex step with contacts: implicit Euler in contacts, limits, dry friction, springs, dampers, actuators of
// coordinates and states of elements.
//
//     A (v* − v₀) = h (τ − h(q₀, v₀)) − h² K v₀,  A = M + h D + h² K        the step without contact
//     v₁ = argmin ½ |v − v*|²_A + Σ P_i(J_i v),   q₁ = q₀ ⊕ h v₁           see convex_problem.hpp
//
// Velocities are on the axes that bodies have at the start: contacts see no rotation of the axes within a
// step. A body that moves freely and alone turns with ω = I⁻¹ exp(−h ω/2) L, and its momenta P and L about
// its centre of mass change by the impulses alone, so they balance to rounding; other trees keep them to the
// order of the step.
#pragma once

#include "collision/manifold.hpp"
#include "constraints/projection.hpp"
#include "contact/problem.hpp"
#include "contact/schedule.hpp"
#include "dynamics/passive.hpp"
#include "stepping/actuator_damping.hpp"
#include "stepping/advance.hpp"
#include "stepping/free_rotation.hpp"
#include "stepping/system.hpp"
#include "stepping/velocity_terms.hpp"

namespace pysim::stepping {

using constraints::next_deflection;
using constraints::next_turning;
using contact::Ball;
using contact::ContactMemory;
using contact::ContactPair;
using contact::ContactReport;
using contact::Contacts;
using contact::ConvexProblem;
using contact::memory_of;
using contact::PairBounds;
using contact::PairSchedule;
using contact::PairShape;
using contact::PointIterate;
using contact::TurningIterate;
using dynamics::load3;
using dynamics::store;
using simd::all;
using simd::fma;
using simd::fnma;
using simd::Mask;
using simd::select;
using spatial::Force;
using spatial::Mat3;
using spatial::Motion;
using spatial::Pose;
using spatial::Vec3;
using tree::ModelOf;
using tree::take;
using tree::Workspace;

/// What a step with contacts reads beside the mechanism.
template <class S>
struct ConvexRun {
  const Contacts<typename S::Parameter>& contacts;
  int passes;
  typename S::Real tolerance;  ///< of impulses, relative to the largest one
  PairSchedule<S>& schedule;
  const int* work =
      nullptr;  ///< [pairs + coordinates] places of their work among the states of elements, or −1
};

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
    return slot_[__builtin_expect(is_table_, 0) ? find_slot(point) : point];
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

  /// What a point remembers.
  const S* kept(int point) const {
    const int place = live->place(point);
    return place < 0 ? live->blank : memory + live->places.point(place);
  }

  /// Memory and report of a live point.
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

/// A stage of an implicit scheme of order 2 that a convex step of the stage's length h solves, see sdirk.hpp:
///
///     M(q) (v − v_a) = h f(q, v) + Σ Jᵀγ        q = q_a ⊕ h v, linear about a prediction (q̂, v̂)
template <class S>
struct ConvexStage {
  const S* v;  ///< [nv] v_a of the tree's coordinates
  const Force<S>*
      momentum;  ///< [bodies] P and L at v_a of single bodies, on the axes of their joints' frames
  S carry;       ///< deflections go on to s_a + carry (s₁ − s_a), and impulses count so often
};

/// One step of length h in one pack of worlds, or a stage of that length.
template <class S>
class ConvexStep {
 public:
  using Real = typename S::Real;
  using Parameter = typename S::Parameter;

  ConvexStep(const System<S>& system,
             const ConvexRun<S>& run,
             S h,
             Workspace<S>& w,
             const ConvexStage<S>* stage = nullptr)
      : stage_(stage),
        system_(system),
        model_(system.model),
        run_(run),
        contacts_(run.contacts),
        places_(memory_of(run.contacts, system.model.nv)),
        h_(h),
        factor_(model_, w),
        rows_(model_, w),
        damping_(system, w),
        problem_(factor_, rows_, run.contacts, damping_.bounded_count(), h, run.tolerance, w),
        base_(take<S>(w, model_.nv)),
        free_(take<S>(w, model_.nv)),
        delta_(take<S>(w, model_.nv)),
        next_(take<S>(w, model_.nv)),
        shift_(take<S>(w, model_.nv)),
        start_(take<Motion<S>>(w, model_.bodies)),
        twist_(take<Motion<S>>(w, model_.bodies)),
        momentum_(take<Force<S>>(w, model_.bodies)),
        pushed_(take<Pushed>(w, model_.bodies)),
        centre_(take<Vec3<S>>(w, run.contacts.balls)),
        w_(w) {}

  /// Makes the step in place; returns the worlds where it was solved. The others are to be discarded.
  Mask<S> make(Mask<S> wanted, S time, const ContactState<S>& state) {
    S *const q = full(state.q, model_.nq), *const v = full(state.v, model_.nv);
    if (model_.mimic) {
      simd::copy_each<S>(tree::full_q(model_, static_cast<const S*>(state.q), w_), model_.nq, q);
      simd::copy_each<S>(tree::full_v(model_, static_cast<const S*>(state.v), w_), model_.nv, v);
    }
    const S* const x0 = system_.copy_states(w_);
    auto good = solve(wanted, fma(all<S>(Real(0.5)), h_, time), q, v, state, x0);
    move(q, v);
    remember(state);
    if (model_.mimic) rows_.reduce(q, v, state.q, state.v);
    if (model_.rows > 0) {
      using Tolerance = constraints::ProjectionTolerance<Real>;
      const auto projected = constraints::project(model_, time + h_, state.q, state.v, state.loop_q, w_);
      good &= projected.open <= all<S>(Tolerance::required);
    }
    if (x0 != nullptr) end_states(system_, time + h_, h_, state.q, state.v, x0, w_);
    add_work();
    return good;
  }

  /// Velocity at the end, of the tree's coordinates at q and v, and the momenta of single bodies. `x0` are
  /// the states of elements at the beginning, null for none; actuators see those that follow at q and v.
  Mask<S> solve(Mask<S> wanted, S time, const S* q, const S* v, const ContactState<S>& state, const S* x0) {
    factor_.move(q, v, w_);
    q_ = q;
    states_ = x0;
    for (int b = 0; b < model_.bodies; ++b) start_[b] = factor_.body[b].V;
    free_velocity(time, q, v, state);
    place_coordinates(q, v, state);
    const auto touched = place_points(wanted, v, state);
    S& iterations = state.memory[ContactMemory::iterations];
    const S before = iterations;
    const auto solved = [&] {
      return problem_.solve(touched, run_.passes, base_, delta_, iterations, w_, [this](const S* delta) {
        return left_out_ == 0 || covers(delta);
      });
    };
    auto good = solved();
    if (problem_.stopped()) {
      place_left_out(state);
      iterations = before;
      good = solved();
    }
    state.memory[ContactMemory::worst] = select(good, state.memory[ContactMemory::worst], problem_.worst());
    for (int i = 0; i < model_.nv; ++i) free_[i] += delta_[i];
    leave_out_shifts();
    run_.schedule.end_step(any(touched) ? free_ : nullptr);
    add_impulses();
    repeat_pairs();
    return good;
  }

  /// Result of a solved stage, on the axes of the prediction.
  const S* velocity() const { return free_; }

  /// P and L of a single body after a stage, on the axes of its joint's frame in the world.
  Force<S> momentum(int b) const {
    const Mat3<S> R = axes(b);
    return {R * momentum_[b].f, R * momentum_[b].t};
  }

  /// Adds the work of contacts, stops and dry friction to the states of elements: of a step, impulses times
  /// the mean of the velocities before and after, which is their share of the change of kinetic energy; of a
  /// stage, impulses times its velocity.
  void add_work() const {
    S* const numbers = system_.signals.numbers;
    if (model_.timed && numbers != nullptr) rows_.add_motion_work(stage_ == nullptr, numbers);
    if (run_.work == nullptr) return;
    const auto mean = [this](const auto& start, const auto& now) {
      return stage_ == nullptr ? all<S>(Real(0.5)) * (start + now) : now;
    };
    problem_.each_pair([&](int k, const ContactPair<Parameter>& pair) {
      const int place = run_.work[problem_.index[k]];
      if (place < 0) return;
      const Vec3<S> surface = transpose_times(problem_.R_AB[k], spatial::all3<S>(pair.surface));
      S& work = numbers[place];
      for (int i = 0; i < problem_.used[k]; ++i) {
        const PointIterate<S>& P = problem_.point[problem_.first[k] + i];
        work = dot_add(P.made, mean(P.start, P.now) + surface, work);
        if (pair.turning < 0) continue;
        const TurningIterate<S>& T = problem_.turning[problem_.first_turning[k] + i];
        work = dot_add(T.made, mean(T.start, T.now), work);
      }
    });
    for (int k = 0; k < contacts_.coordinates; ++k) {
      const int place = run_.work[contacts_.pairs + k];
      if (place < 0) continue;
      const auto& C = problem_.coordinate[k];
      numbers[place] = fma(C.made, mean(C.start, C.now), numbers[place]);
    }
  }

  /// The largest angular velocity of a body at the prediction.
  S fastest_turn() const {
    S square = all<S>(0);
    for (int b = 0; b < model_.bodies; ++b) square = max(square, dot(start_[b].w, start_[b].w));
    return sqrt(square);
  }

  /// The user's coordinates among the tree's, of a mechanism with mimic joints.
  void reduce(const S* q, const S* v, S* reduced_q, S* reduced_v) const {
    rows_.reduce(q, v, reduced_q, reduced_v);
  }

  /// Inverse of a symmetric matrix.
  static spatial::Sym3<S> inverse(const spatial::Sym3<S>& A) {
    const Vec3<S> x = {A.xx, A.xy, A.zx}, y = {A.xy, A.yy, A.yz}, z = {A.zx, A.yz, A.zz};
    const Vec3<S> yz = cross(y, z), zx = cross(z, x), xy = cross(x, y);
    const S r = all<S>(1) / dot(x, yz);
    return {r * yz.x, r * zx.y, r * xy.z, r * yz.y, r * zx.z, r * yz.z};
  }

  static Vec3<S> centre(const spatial::Inertia<S>& M) { return (all<S>(1) / M.m) * M.mc; }

 private:
  using Bounds = PairBounds<simd::Fixed<Parameter>>;

  static constexpr Real most_cancelling = Real(1e4);  ///< Σ |γ| / |Σ γ| on a single body
  static constexpr int many_pairs =
      8;  ///< to be tested in one step, by centres of balls that are placed first

  /// Room for the tree's coordinates, or the user's where they are the same.
  S* full(S* reduced, int numbers) { return model_.mimic ? take<S>(w_, numbers) : reduced; }

  /// Sum of the impulses on a body, and of their sizes.
  struct Pushed {
    Vec3<S> sum;
    S sizes;
  };

  bool is_free(const tree::Joint& joint) const { return joint.shape == tree::Shape::free; }

  /// Axes of a single body in its joint's frame in the world, which is fixed but may be turned.
  Mat3<S> axes(int b) const {
    return spatial::rotation(dynamics::load_quaternion(q_ + model_.joint[b].q + 3));
  }

  /// v*, and the momenta of single bodies, at the start of the step.
  void free_velocity(S time, const S* q, const S* v, const ContactState<S>& state) {
    Workspace<S> w = w_;
    const int nv = model_.nv;
    S *const tau = take<S>(w, nv), *const a = take<S>(w, nv);
    Motion<S>* const drift = take<Motion<S>>(w, model_.bodies);
    actuate(time, q, v, tau, w);
    add_joint_forces(q, v, tau, w);
    damping_.add(v, stage_ == nullptr ? nullptr : stage_->v, h_, base_, tau);
    if (model_.elements > model_.straight_paths) elements::add_element_forces<S>(model_, q, v, tau, w, false);
    for (int b = 0; b < model_.bodies; ++b) {
      if (contacts_.single[b]) factor_.body[b].pA = spatial::zero_force<S>();
      drift[b] = factor_.body[b].c;
    }
    factor_.add_straight_paths(nullptr, w);
    factor_.unload();
    for (int b = 0; b < model_.bodies; ++b) factor_.pA[b] = factor_.body[b].pA;
    factor_.factor(base_);
    factor_.solve(tau, dynamics::minus_gravity<S>(model_), drift, a);
    const S* const from = stage_ == nullptr ? v : stage_->v;
    for (int i = 0; i < nv; ++i) {
      free_[i] = fma(h_, a[i], from[i]);
      shift_[i] = all<S>(0);
    }
    auto moving = simd::nowhere<S>();
    VelocityTerms<S> terms(factor_, contacts_.single, base_, h_, w);
    if (stage_ == nullptr && rows_.empty()) moving = terms.matter();
    if (any(moving)) moving = add_velocity_terms(moving, q, terms, w);
    for (int b = 0; b < model_.bodies; ++b) {
      const tree::Joint& joint = model_.joint[b];
      if (!is_free(joint)) continue;
      if (contacts_.single[b]) {
        turn_single(b, tau + joint.v);
      } else if (stage_ == nullptr) {
        turn_root(joint, moving, v, terms.rate());
      }
    }
    if (!rows_.empty()) {
      const S end = stage_ == nullptr ? fma(all<S>(Real(0.5)), h_, time) : time;
      rows_.evaluate(factor_, {end, all<S>(1)}, state.q, state.v, state.loop_q, w);
      rows_.factor([&](const S* b, S* x) { factor_.apply_inverse(b, x); });
      rows_.project_velocity(free_);
    }
  }

  /// Twists of the bodies at v*.
  void free_twists() {
    for (int b = 0; b < model_.bodies; ++b) {
      const tree::Joint& joint = model_.joint[b];
      const Motion<S> carried =
          joint.parent < 0 ? spatial::zero_motion<S>() : to_child(factor_.body[b].X_PB, twist_[joint.parent]);
      twist_[b] = plus_joint_twist(carried, joint, factor_.columns, static_cast<const S*>(free_));
    }
  }

  /// τ(t) on the tree's coordinates, and its derivatives that the step is implicit in.
  void actuate(S time, const S* q, const S* v, S* tau, Workspace<S> w) {
    System<S> inner = system_;
    if (states_ != nullptr) {
      inner.signals.base = inner.signals.start = states_;
      inner.signals.factor = h_;
    }
    if (!model_.mimic) {
      inner.actuate(time, q, v, tau, w);
      damping_.evaluate(inner, time, q, v, w);
      return;
    }
    S *const own_q = take<S>(w, model_.reduced_nq), *const own_v = take<S>(w, model_.reduced_nv),
             *const reduced = take<S>(w, model_.reduced_nv);
    for (int b = 0; b < model_.bodies; ++b) {
      const tree::Joint& joint = model_.joint[b];
      if (joint.reduced_v < 0) continue;
      simd::copy_each<S>(q + joint.q, joint.nq, own_q + joint.reduced_q);
      simd::copy_each<S>(v + joint.v, joint.nv, own_v + joint.reduced_v);
    }
    inner.actuate(time, own_q, own_v, reduced, w);
    damping_.evaluate(inner, time, own_q, own_v, w);
    rows_.spread_forces(reduced, tau);
  }

  /// Springs and dampers of the joints, and what their implicit integration adds to A.
  void add_joint_forces(const S* q, const S* v, S* tau, Workspace<S> w) {
    for (int i = 0; i < model_.nv; ++i) base_[i] = all<S>(0);
    if (!model_.joint_forces) return;
    ModelOf<S> smooth = model_;
    smooth.passive = contacts_.smooth;
    S* const passive = take<S>(w, model_.nv);
    dynamics::passive_joint_forces(smooth, q, v, passive, w);
    for (int i = 0; i < model_.nv; ++i) {
      const S hK = h_ * all<S>(contacts_.diagonal[i]);
      base_[i] = h_ * (all<S>(smooth.passive[i].damping) + hK);
      tau[i] += stage_ == nullptr ? fnma(hK, v[i], passive[i])
                                  : fma(base_[i] / h_, v[i] - stage_->v[i], passive[i]);
    }
  }

  /// Replaces the velocity terms of v* by those at the middle of the step, in the `moving` worlds, and leaves
  /// what they shift the position that the velocities at the end would give. Returns where that is done.
  Mask<S> add_velocity_terms(Mask<S> moving, const S* q, VelocityTerms<S>& terms, Workspace<S> w) {
    moving = terms.solve(moving, q, static_cast<const S*>(free_), w);
    const S half = all<S>(Real(0.5)) * h_ * h_;
    for (int b = 0; b < model_.bodies; ++b) {
      if (contacts_.single[b]) continue;
      for (int i = model_.joint[b].v; i < model_.joint[b].v + model_.joint[b].nv; ++i) {
        free_[i] = select(moving, fma(h_, terms.change()[i], free_[i]), free_[i]);
        shift_[i] = select(moving, -half * terms.rate()[i], all<S>(0));
      }
    }
    return moving;
  }

  /// Linear velocity of a free joint in v*, on the axes of the start.
  void turn_root(const tree::Joint& joint, Mask<S> moving, const S* v, const S* rate) {
    S* const to = free_ + joint.v;
    const Vec3<S> at_end = load3(to), before = load3(v + joint.v);
    Vec3<S> linear = fma(h_, cross(load3(v + joint.v + 3), before), at_end);
    if (any(moving)) {
      const Vec3<S> turn = fma(h_, load3(to + 3), load3(shift_ + joint.v + 3));
      const Vec3<S> turned = spatial::rotation(spatial::exp_quaternion(turn)) * at_end;
      linear = collision::select(moving, turned, linear);
      const Vec3<S> drift = fnma(h_, load3(rate + joint.v), at_end);  // where the velocity terms begin
      const Vec3<S> off = all<S>(Real(0.5)) * h_ * (drift - turned);
      store(collision::select(moving, off, spatial::zero3<S>()), shift_ + joint.v);
    }
    store(linear, to);
  }

  /// Shifts of positions are left out where contacts, stops or dry friction act on a tree: these take the
  /// velocity at the end to give the position.
  void leave_out_shifts() {
    for (int b = 0; b < model_.bodies; b = model_.joint[b].end) {
      const int first = model_.joint[b].v;
      int end = first;
      for (int k = b; k < model_.joint[b].end; ++k) end = model_.joint[k].v + model_.joint[k].nv;
      auto alone = simd::everywhere<S>();
      for (int i = first; i < end; ++i) alone &= delta_[i] == all<S>(0);
      for (int i = first; i < end; ++i) shift_[i] = select(alone, shift_[i], all<S>(0));
    }
  }

  /// v* of a single body from its momenta on the axes of the start, or of a stage's prediction.
  void turn_single(int b, const S* tau) {
    const auto M = dynamics::body_inertia<S>(model_, b);
    const Vec3<S> c = centre(M);
    const auto I = translate(-c, M).I;
    const Force<S> p = momentum_before(b, M, c);
    const Force<S> F = Force<S>{load3(tau), load3(tau + 3)} - factor_.body[b].pA;
    const Vec3<S> g = transpose_times(factor_.X_WB[b].R, spatial::all3<S>(model_.gravity));
    const Vec3<S> P = fma(h_, fma(M.m, g, F.f), p.f);
    const Vec3<S> L = fma(h_, F.t - cross(c, F.f), p.t);
    const Vec3<S> omega =
        stage_ == nullptr ? mean_angular_velocity(I, L, h_, factor_.body[b].V.w) : inverse(I) * L;
    momentum_[b] = {P, L};
    S* const at = free_ + model_.joint[b].v;
    store((all<S>(1) / M.m) * P - cross(omega, c), at);
    store(omega, at + 3);
  }

  /// P and L about the centre of mass c at the start, on the body's axes.
  Force<S> momentum_before(int b, const spatial::Inertia<S>& M, const Vec3<S>& c) const {
    if (stage_ != nullptr) {
      const Mat3<S> R = axes(b);
      return {transpose_times(R, stage_->momentum[b].f), transpose_times(R, stage_->momentum[b].t)};
    }
    const Force<S> p = M * factor_.body[b].V;
    return {p.f, p.t - cross(c, p.f)};
  }

  /// Places the points of pairs that may touch; returns the worlds where contacts change anything at v*.
  Mask<S> place_points(Mask<S> wanted, const S* v, const ContactState<S>& state) {
    PairSchedule<S>& schedule = run_.schedule;
    bool has_twists = false;
    bool has_centres = false;
    const auto place_balls = [&] {
      if (!has_centres) this->place_balls();
      has_centres = true;
      return static_cast<const Vec3<S>*>(centre_);
    };
    const int due = due_ = schedule.begin_step(wanted, v, static_cast<const S*>(free_), h_, place_balls);
    if (due > many_pairs) place_balls();
    if (schedule.left_out_far()) forget_others(due, state);
    for (int n = 0; n < due; ++n) place_pair(schedule.due(n), due > many_pairs, has_twists, state);
    const auto touched = wanted & problem_.touched();
    left_out_ = 0;
    if (any(touched)) {
      left_out_ = schedule.add_reachable() - due;
      if (left_out_ > 0 && !schedule.covers(schedule.start())) place_left_out(state);
    }
    return touched;
  }

  /// Clears what points of pairs remember that are not among the `due` ones.
  void forget_others(int due, const ContactState<S>& state) const {
    for (int n = 0; n < state.live->count; ++n) {
      const int k = pair_of(state.live->number[n]);
      int low = 0, high = due;
      while (low < high) {
        const int middle = (low + high) / 2;
        if (run_.schedule.due(middle) < k) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      if (low < due && run_.schedule.due(low) == k) continue;
      ContactPair<Parameter> room;
      forget(contacts_.template pair_at<S>(k, room), nullptr, 0, state);
    }
  }

  /// The pair that a contact point belongs to.
  int pair_of(int point) const {
    int low = 0;
    for (int high = contacts_.pairs; high - low > 1;) {
      const int middle = (low + high) / 2;
      ContactPair<Parameter> room;
      (contacts_.template pair_at<S>(middle, room).first <= point ? low : high) = middle;
    }
    return low;
  }

  /// Whether pairs that were left out touch nothing at v* + delta.
  bool covers(const S* delta) const {
    for (int i = 0; i < model_.nv; ++i) next_[i] = free_[i] + delta[i];
    return run_.schedule.covers(next_);
  }

  /// Places the points of pairs in reach that are not due. They touch nothing at v₀ and v*.
  void place_left_out(const ContactState<S>& state) {
    bool has_twists = false;
    const int first = due_;
    for (int n = first; n < first + left_out_; ++n) {
      place_pair(run_.schedule.due(n), false, has_twists, state);
    }
    left_out_ = 0;
    problem_.sort_pairs();
  }

  /// Tests pairs that push in the next step, too: what their points remember changes.
  void repeat_pairs() const {
    problem_.each_pair([&](int k, const ContactPair<Parameter>&) {
      for (int i = problem_.first[k]; i < problem_.first[k] + problem_.used[k]; ++i) {
        const PointIterate<S>& P = problem_.point[i];
        const S most = max(dot(P.at.n, P.made), dot(P.made, P.made));
        if (any(most > all<S>(0))) return run_.schedule.repeat(problem_.index[k]);
      }
    });
  }

  /// Centres of all balls, for tests of many pairs.
  void place_balls() {
    for (int n = 0; n < contacts_.balls; ++n) {
      const Ball<Real>& ball = contacts_.ball[n];
      centre_[n] = in_world(ball.body, spatial::all3<S>(ball.centre));
    }
  }

  /// Lets a pair touch, in the worlds where it is in reach.
  void place_pair(int k, bool has_centres, bool& has_twists, const ContactState<S>& state) {
    PairSchedule<S>& schedule = run_.schedule;
    Bounds own_bounds;
    const Bounds& bounds = contacts_.bounds_at(k, own_bounds);
    ContactPair<Parameter> room;
    const ContactPair<Parameter>& pair = contacts_.template pair_at<S>(k, room);
    const S least = all<S>(bounds.least_reach);
    S gap = gap_of_balls(pair, bounds, has_centres);
    auto close = gap < least + schedule.approach(k);
    if (any(close)) {
      if (!has_twists) free_twists();
      has_twists = true;
      const S reach = least + approach(bounds);
      close &= gap < reach;
      if (any(close)) {
        gap = pair.plane              ? place_on_plane(k, pair, close, reach, state)
              : pair.field != nullptr ? place_in_field(k, pair, close, gap, reach, state)
                                      : place_manifold(k, pair, close, reach, state);
      }
      if (any(close)) return schedule.set_gap(k, gap);
    }
    schedule.set_gap(k, gap);
    if (state.live->count > 0) forget(pair, nullptr, 0, state);
  }

  /// Pose of a shape, on a body or fixed to the world.
  Pose<S> in_world(int body, const PairShape<Real>& shape) const {
    const Pose<S> X = {spatial::all33<S>(shape.placement), spatial::all3<S>(shape.placement + 9)};
    return body < 0 ? X : factor_.X_WB[body] * X;
  }

  Pose<S> field_pose(const ContactPair<Parameter>& pair) const {
    return in_world(pair.swapped ? pair.b : pair.a, pair.field_shape());
  }

  Vec3<S> in_world(int body, const Vec3<S>& p) const { return body < 0 ? p : factor_.X_WB[body] * p; }

  Vec3<S> centre(int ball, bool is_placed) const {
    if (is_placed) return centre_[ball];
    return in_world(contacts_.ball[ball].body, spatial::all3<S>(contacts_.ball[ball].centre));
  }

  /// Distance between the balls about two shapes, or of one from a plane or a field.
  S gap_of_balls(const ContactPair<Parameter>& pair, const Bounds& bounds, bool has_centres) const {
    const Vec3<S> p =
        centre(pair.field != nullptr && pair.swapped ? bounds.ball_a : bounds.ball_b, has_centres);
    if (pair.field != nullptr) {
      const Pose<S> X_WF = field_pose(pair);
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
  S approach(const Bounds& bounds) const {
    const auto size = [](const Vec3<S>& a) { return sqrt(dot(a, a)); };
    const auto velocity = [&](int ball) {
      const Ball<Real>& own = contacts_.ball[ball];
      if (own.body < 0) return spatial::zero_motion<S>();
      const Motion<S>& V = twist_[own.body];
      const Mat3<S>& R = factor_.X_WB[own.body].R;
      const Vec3<S> arm = spatial::all3<S>(own.centre);
      Motion<S> found = {R * cross_add(V.w, arm, V.v), R * V.w};
      if (bounds.root < 0) return found;
      const Pose<S>& X = factor_.X_WB[bounds.root];
      const Motion<S>& V_root = twist_[bounds.root];
      const Vec3<S> w = X.R * V_root.w;
      found.v = found.v - cross_add(w, factor_.X_WB[own.body] * arm - X.p, X.R * V_root.v);
      found.w = found.w - w;
      return found;
    };
    const Motion<S> V_b = velocity(bounds.ball_b);
    Vec3<S> u = V_b.v;
    S spin = all<S>(contacts_.ball[bounds.ball_b].radius) * size(V_b.w);
    if (bounds.ball_a >= 0) {
      const Motion<S> V_a = velocity(bounds.ball_a);
      u = u - V_a.v;
      spin = fma(all<S>(contacts_.ball[bounds.ball_a].radius), size(V_a.w), spin);
    }
    return all<S>(Real(4)) * h_ * (size(u) + spin);
  }

  /// Places the points of a pair on a plane in the worlds where they are `close`, which those are that
  /// remain. Returns the least gap.
  S place_on_plane(
      int k, const ContactPair<Parameter>& pair, Mask<S>& close, S reach, const ContactState<S>& state) {
    const Pose<S>& X_WB = factor_.X_WB[pair.b];
    const Pose<S> X_BS = {spatial::all33<S>(pair.shape_b->placement),
                          spatial::all3<S>(pair.shape_b->placement + 9)};
    const Pose<S> X_WS = X_WB * X_BS;
    const Vec3<S> n_W = spatial::all3<S>(pair.normal), n = transpose_times(X_WB.R, n_W);
    Mask<S> apart[collision::max_plane_points];
    Vec3<S> lowest[collision::max_plane_points];
    S gaps[collision::max_plane_points], least = all<S>(__builtin_inf());
    collision::points_to_plane<S>(pair.shape_b->shape, transpose_times(X_WS.R, n_W), lowest, apart);
    for (int i = 0; i < pair.points; ++i) {
      gaps[i] = dot(n_W, X_WS * lowest[i]) - all<S>(pair.offset);
      least = min(least, gaps[i]);
    }
    close &= least < reach;
    if (none(close)) return least;
    const int place = problem_.place(k, pair), first = problem_.first[place];
    problem_.R_AB[place] = X_WB.R;
    int used = 0;
    for (int i = 0; i < pair.points; ++i) {
      const auto near = apart[i] & close & (gaps[i] < reach);
      if (none(near)) continue;
      const int m = used++;
      problem_.slot[first + m] = pair.first + i;
      PointIterate<S>& P = problem_.point[first + m];
      const S* const kept = state.kept(pair.first + i);
      P.at.n = n;
      P.at.p = X_BS * lowest[i];
      P.at.x = select(near, -gaps[i], all<S>(Real(-1e30)));
      P.feature = all<S>(1);
      const Vec3<S> s = transpose_times(X_WB.R, load3(kept));
      P.at.s = fnma(dot(n, s), n, s);
      place_velocities(place, P, kept[3] > all<S>(0));
      if (pair.turning >= 0) {
        place_turning(place, m, load3(state.memory + places_.turning(pair.turning + i)));
      }
    }
    problem_.include(place, used);
    return least;
  }

  /// The same of a shape in a field, given a bound of their gap; returns a bound.
  S place_in_field(int k,
                   const ContactPair<Parameter>& pair,
                   Mask<S>& close,
                   S gap,
                   S reach,
                   const ContactState<S>& state) {
    const Pose<S>& X = factor_.X_WB[pair.b];
    const PairShape<Real>& touching = pair.touching_shape();
    const Pose<S> X_WF = field_pose(pair), X_WS = in_world(pair.swapped ? pair.a : pair.b, touching);
    const Pose<S> X_FS = {transpose_times(X_WF.R, X_WS.R), transpose_times(X_WF.R, X_WS.p - X_WF.p)};
    const int at = problem_.place(k, pair), first = problem_.first[at];
    problem_.R_AB[at] = pair.a < 0 ? X.R : transpose_times(factor_.X_WB[pair.a].R, X.R);
    S least = all<S>(__builtin_inf()), bound = least;
    int used = 0;
    const bool has_cells = collision::has_cells(*pair.field, touching.shape.kind);
    const auto place = [&](int i, const collision::FieldPoint<S>& F) {
      least = min(least, select(F.exists, F.gap, all<S>(__builtin_inf())));
      bound = min(bound, F.bound);
      const auto near = close & F.exists & (F.gap < reach);
      if (none(near)) return;
      const int m = used++;
      problem_.slot[first + m] = pair.first + i;
      PointIterate<S>& P = problem_.point[first + m];
      const S* const kept = state.kept(pair.first + i);
      const Vec3<S> p = X_WF * F.p;
      const Vec3<S> n = transpose_times(X.R, X_WF.R * F.n);
      P.at.n = pair.swapped ? -n : n;
      P.at.p = transpose_times(X.R, p - X.p);
      if (pair.a >= 0) P.p_A = transpose_times(factor_.X_WB[pair.a].R, p - factor_.X_WB[pair.a].p);
      P.at.x = select(near, -F.gap, all<S>(Real(-1e30)));
      P.feature = all<S>(Real(has_cells ? i + 1 : 1));
      if (has_cells) return;
      P.at.s = turned_with_normal(P.at.n, transpose_times(X.R, load3(kept)));
      place_velocities(at, P, kept[ContactMemory::slid] > all<S>(0));
      if (pair.turning >= 0) {
        place_turning(at, m, load3(state.memory + places_.turning(pair.turning + i)));
      }
    };
    collision::visit_field_points(*pair.field, touching.shape, X_FS, place);
    close &= least < reach;
    if (any(close)) problem_.include(at, used);
    if (any(close) && has_cells) recall(at, X, state);
    return collision::has_fixed_points(*pair.field, touching.shape.kind) ? bound : gap;
  }

  /// A deflection on the plane across n, as long as it was.
  static Vec3<S> turned_with_normal(const Vec3<S>& n, const Vec3<S>& s) {
    const Vec3<S> flat = fnma(dot(n, s), n, s);
    const S square = dot(flat, flat), tiny = all<S>(sizeof(Real) == 8 ? Real(1e-300) : Real(1e-35));
    return sqrt(dot(s, s) / max(square, tiny)) * flat;
  }

  /// The same of two shapes.
  S place_manifold(
      int k, const ContactPair<Parameter>& pair, Mask<S>& close, S reach, const ContactState<S>& state) {
    const auto A = placed(*pair.shape_a, in_world(pair.a, *pair.shape_a)),
               B = placed(*pair.shape_b, in_world(pair.b, *pair.shape_b));
    collision::Manifold<S> M;
    collision::manifold(pair.kind, pair.swapped ? B : A, pair.swapped ? A : B, reach, M);
    if (pair.swapped) M.n = -M.n;
    S least = M.point[0].gap;
    for (int i = 1; i < pair.points; ++i) least = min(least, M.point[i].gap);
    close &= least < reach;
    if (none(close)) return least;
    int used = 0;
    for (int i = 0; i < pair.points; ++i) {
      if (any(close & (M.point[i].feature > all<S>(0)))) used = i + 1;
    }
    const int place = problem_.place(k, pair), first = problem_.first[place];
    problem_.include(place, used);
    const Pose<S>& X = factor_.X_WB[pair.b];
    problem_.R_AB[place] = pair.a < 0 ? X.R : transpose_times(factor_.X_WB[pair.a].R, X.R);
    const Vec3<S> n = transpose_times(X.R, M.n);
    for (int i = 0; i < used; ++i) {
      problem_.slot[first + i] = pair.first + i;
      PointIterate<S>& P = problem_.point[first + i];
      const auto exists = close & (M.point[i].feature > all<S>(0));
      P.at.n = n;
      P.at.p = transpose_times(X.R, M.point[i].p - X.p);
      if (pair.a >= 0) {
        P.p_A = transpose_times(factor_.X_WB[pair.a].R, M.point[i].p - factor_.X_WB[pair.a].p);
      }
      P.at.x = select(exists, -M.point[i].gap, all<S>(Real(-1e30)));
      P.feature = M.point[i].feature;
    }
    recall(place, X, state);
    return least;
  }

  /// Deflections of a pair's points: of the same features in the last step. Those of features that are gone
  /// are handed over to new ones, or to all if none is new, so that the pair's friction stays.
  void recall(int k, const Pose<S>& X_WB, const ContactState<S>& state) {
    const auto& pair = problem_.pair(k);
    const S o = all<S>(0), e = all<S>(1);
    Mask<S> known[collision::max_manifold_points], slid[collision::max_manifold_points];
    for (int i = 0; i < problem_.used[k]; ++i) {
      problem_.point[problem_.first[k] + i].at.s = spatial::zero3<S>();
      known[i] = slid[i] = simd::nowhere<S>();
    }
    Vec3<S> lost = spatial::zero3<S>(), lost_turning = spatial::zero3<S>();
    Vec3<S> turned[collision::max_manifold_points];
    for (int i = 0; i < problem_.used[k]; ++i) turned[i] = spatial::zero3<S>();
    auto some_slid = simd::nowhere<S>();
    for (int j = 0; j < pair.points; ++j) {
      const S* const kept = state.kept(pair.first + j);
      const S feature = kept[ContactMemory::feature];
      const Vec3<S> turning =
          pair.turning < 0 ? spatial::zero3<S>() : load3(state.memory + places_.turning(pair.turning + j));
      auto found = !(feature > o);
      for (int i = 0; i < problem_.used[k]; ++i) {
        PointIterate<S>& P = problem_.point[problem_.first[k] + i];
        const auto same = (feature > o) & (P.feature == feature) & (P.at.x > o);
        P.at.s = collision::select(same, load3(kept), P.at.s);
        turned[i] = collision::select(same, turning, turned[i]);
        slid[i] |= same & (kept[ContactMemory::slid] > o);
        known[i] |= same;
        found |= same;
      }
      lost += collision::select(found, spatial::zero3<S>(), load3(kept));
      lost_turning += collision::select(found, spatial::zero3<S>(), turning);
      some_slid |= (!found) & (kept[ContactMemory::slid] > o);
    }
    S fresh = o, present = o;
    for (int i = 0; i < problem_.used[k]; ++i) {
      const auto touches = problem_.point[problem_.first[k] + i].at.x > o;
      fresh += number(touches & !known[i]);
      present += number(touches);
    }
    const auto all_share = fresh == o;
    const S share = e / max(select(all_share, present, fresh), e);
    for (int i = 0; i < problem_.used[k]; ++i) {
      PointIterate<S>& P = problem_.point[problem_.first[k] + i];
      const auto takes = (P.at.x > o) & (all_share | !known[i]);
      const S taken = select(takes, share, o);
      P.at.s += taken * lost;
      P.at.s = turned_with_normal(P.at.n, transpose_times(X_WB.R, P.at.s));
      place_velocities(k, P, slid[i] | (takes & !known[i] & some_slid));
      if (pair.turning >= 0) place_turning(k, i, fma(taken, lost_turning, turned[i]));
    }
  }

  /// Angular velocities of a point's bodies, relative to each other, and its angular deflection, given in the
  /// world.
  void place_turning(int k, int i, const Vec3<S>& deflection) {
    const auto& pair = problem_.pair(k);
    TurningIterate<S>& T = problem_.turning[problem_.first_turning[k] + i];
    S fastest = all<S>(0);
    const auto spin = [&](const Motion<S>* V) {
      const Vec3<S>& w = V[pair.b].w;
      fastest = max(fastest, dot(w, w));
      if (pair.a < 0) return w;
      const Vec3<S>& w_A = V[pair.a].w;
      fastest = max(fastest, dot(w_A, w_A));
      return w - transpose_times(problem_.R_AB[k], w_A);
    };
    T.start = spin(start_);
    T.free = spin(twist_);
    T.speed = max(sqrt(fastest), problem_.point[problem_.first[k] + i].speed / all<S>(pair.law.lever));
    T.s = transpose_times(factor_.X_WB[pair.b].R, deflection);
  }

  /// Velocities of a point at the start and without contacts, and its friction.
  void place_velocities(int k, PointIterate<S>& P, Mask<S> slid) {
    const auto& pair = problem_.pair(k);
    const Vec3<S> surface = spatial::all3<S>(pair.surface);
    S fastest = all<S>(0);
    const auto velocity = [&](const Motion<S>* V) {
      const Vec3<S> u = cross_add(V[pair.b].w, P.at.p, V[pair.b].v);
      fastest = max(fastest, dot(u, u));
      if (pair.a < 0) return u - transpose_times(problem_.R_AB[k], surface);
      const Vec3<S> u_A = cross_add(V[pair.a].w, P.p_A, V[pair.a].v);
      fastest = max(fastest, dot(u_A, u_A));
      return u - transpose_times(problem_.R_AB[k], u_A + surface);
    };
    P.start = velocity(start_);
    P.free = velocity(twist_);
    P.speed = sqrt(max(fastest, dot(P.free, P.free)));
    P.at.mu = select(slid, all<S>(pair.law.dynamic_friction), all<S>(pair.law.static_friction));
    P.lagged = P.at.limit = P.at.mu * h_ * constraints::normal_force(pair.law, P.at.x, dot(P.at.n, P.start));
    if (stage_ != nullptr) P.at.x = fma(h_, dot(P.at.n, P.start), P.at.x);  // at q_a
  }

  void place_coordinates(const S* q, const S* v, const ContactState<S>& state) {
    for (int k = 0; k < contacts_.coordinates; ++k) {
      const auto& law = contacts_.coordinate[k];
      auto& C = problem_.coordinate[k];
      const S far = all<S>(-__builtin_inf());
      C.at = {state.memory[places_.coordinate(k)], far, far};
      if (law.q >= 0) {
        C.at.below = all<S>(law.lower) - q[law.q];
        C.at.above = q[law.q] - all<S>(law.upper);
        if (stage_ != nullptr) {
          C.at.below = fma(h_, v[law.v], C.at.below);
          C.at.above = fnma(h_, v[law.v], C.at.above);
        }
      }
      C.start = v[law.v];
      C.free = free_[law.v];
    }
    for (int n = 0; n < damping_.bounded_count(); ++n) {
      auto& B = problem_.bounded[n];
      B.law = damping_.bounded(n, v, stage_ != nullptr, h_);
      B.start = v[B.law.v];
      B.free = free_[B.law.v];
    }
  }

  /// q₁ = q₀ ⊕ h v₁, and v₁ on the axes of the end.
  void move(S* q, S* v) {
    for (int b = 0; b < model_.bodies; ++b) {
      const tree::Joint& joint = model_.joint[b];
      S* const to = v + joint.v;
      if (!is_free(joint)) {
        Workspace<S> w = w_;
        S* const dq = take<S>(w, joint.nv);
        for (int i = 0; i < joint.nv; ++i) {
          to[i] = free_[joint.v + i];
          dq[i] = fma(h_, to[i], shift_[joint.v + i]);
        }
        dynamics::retract<S>(joint.block, joint.blocks, q + joint.q, dq, q + joint.q);
        continue;
      }
      const Vec3<S> linear = load3(free_ + joint.v), omega = load3(free_ + joint.v + 3);
      const Vec3<S> off = load3(shift_ + joint.v);
      S* const at = q + joint.q;
      const auto before = dynamics::load_quaternion(at + 3);
      const auto turn = spatial::exp_quaternion(fma(h_, omega, load3(shift_ + joint.v + 3)));
      const auto after = normalized(before * turn);
      const Mat3<S> step = spatial::rotation(turn), R = spatial::rotation(before);
      if (!contacts_.single[b]) {
        store(load3(at) + R * fma(h_, linear, off), at);
        store(transpose_times(step, linear), to);
        store(omega, to + 3);
      } else {
        const auto M = dynamics::body_inertia<S>(model_, b);
        const Vec3<S> c = centre(M), carried = cross_add(omega, c, linear);
        store(load3(at) + (R * fma(h_, carried, c) - spatial::rotation(after) * c), at);
        const Force<S>& p = momentum_[b];
        const Vec3<S> spin = inverse(translate(-c, M).I) * transpose_times(step, p.t);
        const Vec3<S> carried_on = (all<S>(1) / M.m) * transpose_times(step, p.f) - cross(spin, c);
        // What is left of impulses that cancel is their residual, not the momentum of a light body.
        const Vec3<S>& sum = pushed_[b].sum;
        const auto cancels = pushed_[b].sizes > all<S>(most_cancelling) * sqrt(dot(sum, sum));
        store(collision::select(cancels, transpose_times(step, linear), carried_on), to);
        store(collision::select(cancels, omega, spin), to + 3);
      }
      store(after, at + 3);
    }
  }

  /// Adds what contacts gave to P and L of single bodies, on the axes of the start.
  void add_impulses() {
    for (int b = 0; b < model_.bodies; ++b) pushed_[b] = {spatial::zero3<S>(), all<S>(0)};
    problem_.each_pair([&](int k, const ContactPair<Parameter>& pair) {
      for (int i = problem_.first[k]; i < problem_.first[k] + problem_.used[k]; ++i) {
        const auto& P = problem_.point[i];
        add_impulse(pair.b, P.at.p, P.made);
        if (pair.a >= 0) add_impulse(pair.a, P.p_A, -(problem_.R_AB[k] * P.made));
      }
      for (int i = 0; pair.turning >= 0 && i < problem_.used[k]; ++i) {
        const Vec3<S>& made = problem_.turning[problem_.first_turning[k] + i].made;
        if (contacts_.single[pair.b]) momentum_[pair.b].t += made;
        if (pair.a >= 0 && contacts_.single[pair.a]) {
          momentum_[pair.a].t = momentum_[pair.a].t - problem_.R_AB[k] * made;
        }
      }
    });
  }

  void add_impulse(int b, const Vec3<S>& p, const Vec3<S>& impulse) {
    if (!contacts_.single[b]) return;
    const Vec3<S> c = centre(dynamics::body_inertia<S>(model_, b));
    momentum_[b] = momentum_[b] + Force<S>{impulse, cross(p - c, impulse)};
    pushed_[b].sum += impulse;
    pushed_[b].sizes += sqrt(dot(impulse, impulse));
  }

  /// Clears what points of a pair remember and report, but for the impulse and for those `used` whose numbers
  /// begin at `slot`.
  void forget(const ContactPair<Parameter>& pair,
              const int* slot,
              int used,
              const ContactState<S>& state) const {
    const int* const end = slot + used;
    for (int i = pair.first; i < pair.first + pair.points; ++i) {
      if (slot != end && *slot == i) {
        ++slot;
        continue;
      }
      if (!state.live->has(i)) continue;
      S *const kept = state.memory_of(i), *const report = state.report_of(i);
      for (int j = 0; j < ContactMemory::per_point; ++j) kept[j] = all<S>(0);
      for (int j = 0; j < ContactReport::impulse; ++j) report[j] = all<S>(0);
      store(spatial::zero3<S>(), report + ContactReport::normal);
      store(spatial::zero3<S>(), report + ContactReport::moment);
      if (pair.turning >= 0) {
        store(spatial::zero3<S>(), state.memory + places_.turning(pair.turning + i - pair.first));
      }
    }
  }

  /// Deflection that the next step or stage begins with. A stage that slides has the end of an implicit Euler
  /// step of ṡ = −(s + f_t/k_t)/τ, which `next` is for τ = 0: friction whose direction turns has order 2,
  /// too.
  Vec3<S> carried(const Vec3<S>& s, const Vec3<S>& next, Mask<S> slides, Parameter relaxation) const {
    if (stage_ == nullptr) return next;
    const S share = select(slides, h_ / (h_ + all<S>(relaxation)), all<S>(1));
    return fma(stage_->carry * share, next - s, s);
  }

 public:
  /// Leaves deflections for the next step, and the report.
  void remember(const ContactState<S>& state) const {
    problem_.each_pair([&](int k, const ContactPair<Parameter>& pair) {
      const Pose<S>& X_WB = factor_.X_WB[pair.b];
      const Mat3<S> turn = mean_rotation(pair);
      const int first = problem_.first[k];
      for (int m = first; m < first + problem_.used[k]; ++m) {
        const PointIterate<S>& P = problem_.point[m];
        const int i = problem_.slot[m];
        const auto touches = dot(P.at.n, P.made) > all<S>(0);
        const auto pushes = dot(P.made, P.made) > all<S>(0);  // lagged friction may outlast the normal force
        if (!state.live->has(i) && none(pushes)) continue;
        state.live->add(i);
        S* const kept = state.memory_of(i);
        const Vec3<S> s = X_WB.R * carried(P.at.s,
                                           next_deflection(pair.law, P.at, h_, P.now, P.impulse),
                                           !P.impulse.sticks,
                                           pair.law.relaxation);
        const Vec3<S> turned = pair.a < 0 ? s : turn * s;
        store(collision::select(touches, turned, spatial::zero3<S>()), kept);
        kept[ContactMemory::slid] = number(touches & !P.impulse.sticks);
        kept[ContactMemory::feature] = select(touches, P.feature, all<S>(0));
        report_point(X_WB, P, touches, state.report_of(i));
        if (pair.turning >= 0) remember_turning(k, pair, m - first, turn, touches, state);
      }
      forget(pair, problem_.slot + first, problem_.used[k], state);
    });
    for (int k = 0; k < contacts_.coordinates; ++k) {
      const auto& C = problem_.coordinate[k];
      const S next = next_deflection(contacts_.coordinate[k], C.at, h_, C.now);
      state.memory[places_.coordinate(k)] =
          stage_ == nullptr ? next : fma(stage_->carry, next - C.at.s, C.at.s);
    }
  }

 private:
  void remember_turning(int k,
                        const ContactPair<Parameter>& pair,
                        int i,
                        const Mat3<S>& turn,
                        Mask<S> touches,
                        const ContactState<S>& state) const {
    const Vec3<S> none = spatial::zero3<S>();
    const TurningIterate<S>& T = problem_.turning[problem_.first_turning[k] + i];
    const Vec3<S>& n = problem_.point[problem_.first[k] + i].at.n;
    const int slot = problem_.slot[problem_.first[k] + i];
    const Mat3<S>& R = factor_.X_WB[pair.b].R;
    const Vec3<S> next = next_turning(pair.law, n, T.s, h_, T.now, T.impulse);
    const Vec3<S> s = R * carried(T.s, next, simd::nowhere<S>(), pair.law.relaxation);
    store(collision::select(touches, pair.a < 0 ? s : turn * s, none),
          state.memory + places_.turning(pair.turning + slot - pair.first));
    store((all<S>(1) / h_) * (R * T.made), state.report_of(slot) + ContactReport::moment);
  }

  /// How two bodies turn in a step, on average.
  Mat3<S> mean_rotation(const ContactPair<Parameter>& pair) const {
    if (pair.a < 0) return spatial::identity3<S>();
    const auto spin = [&](int b) { return factor_.X_WB[b].R * start_[b].w; };
    S half = all<S>(Real(0.5)) * h_;
    if (stage_ != nullptr) half *= stage_->carry;
    return spatial::exp(half * (spin(pair.a) + spin(pair.b)));
  }

  void report_point(const Pose<S>& X_WB, const PointIterate<S>& P, Mask<S> touches, S* report) const {
    const S o = all<S>(0), e = all<S>(1);
    const Vec3<S> impulse = X_WB.R * P.made, none = spatial::zero3<S>();
    const S v_n = dot(P.at.n, P.now);
    const Vec3<S> slip = fnma(v_n, P.at.n, P.now);
    store((e / h_) * impulse, report + ContactReport::force);
    store(collision::select(touches, X_WB * P.at.p, none), report + ContactReport::position);
    report[ContactReport::penetration] = select(touches, fnma(h_, v_n, P.at.x), o);
    report[ContactReport::slip] = select(touches, sqrt(dot(slip, slip)), o);
    report[ContactReport::sticks] = number(touches & P.impulse.sticks);
    const Vec3<S> counted = stage_ == nullptr ? impulse : stage_->carry * impulse;
    store(load3(report + ContactReport::impulse) + counted, report + ContactReport::impulse);
    store(collision::select(touches, X_WB.R * P.at.n, none), report + ContactReport::normal);
  }

  const ConvexStage<S>* const stage_;  ///< null for a step
  const System<S>& system_;
  const ModelOf<S>& model_;
  const ConvexRun<S>& run_;
  const Contacts<Parameter>& contacts_;
  const ContactMemory places_;
  const S h_;
  dynamics::LoadedFactor<S> factor_;
  constraints::VelocityRows<S> rows_;
  ActuatorDamping<S> damping_;
  ConvexProblem<S> problem_;
  S *base_, *free_, *delta_, *next_;
  S* shift_;                    ///< [nv] by which q₁ differs from q₀ ⊕ h v₁, on the axes of the start
  Motion<S>*start_, *twist_;    ///< [bodies] at v₀ and v*
  Force<S>* momentum_;          ///< [bodies] P and L of single bodies without contacts
  Pushed* pushed_;              ///< [bodies] of single bodies
  Vec3<S>* centre_;             ///< [balls] in the world
  int due_ = 0, left_out_ = 0;  ///< pairs that are due, and those in reach that are not placed
  const S* q_ = nullptr;        ///< of the tree, where the step is solved
  const S* states_ = nullptr;   ///< of elements at the beginning; null for none
  Workspace<S> w_;
};

/// A step in place, or 2, 4, … shorter ones where it cannot be solved. Worlds that are not solved even so are
/// marked in the memory; these, and worlds whose step is not finite, are left where they were. `trial` has
/// zeros for points that are not live. Returns the worlds that were stepped.
template <class S>
Mask<S> convex_step(const System<S>& system,
                    const ConvexRun<S>& run,
                    Mask<S> wanted,
                    S time,
                    S h,
                    const ContactState<S>& state,
                    const ContactState<S>& trial) {
  using Real = typename S::Real;
  constexpr int levels = 6;
  const ContactMemory places = memory_of(run.contacts, system.model.nv);
  System<S> tried = system;
  tried.signals = system.with_own_signals(tried.workspace).signals;
  auto left = wanted, solved = simd::nowhere<S>();
  for (int level = 0; level <= levels && any(left); ++level) {
    const int parts = 1 << level;
    if (level > 0) run.schedule.restart();
    copy_state<S>(system.model, places, state, trial, simd::copy_each<S>);
    tried.keep_signals(simd::everywhere<S>(), system);
    const S part = h / all<S>(Real(parts));
    auto good = left;
    for (int n = 0; n < parts && any(good); ++n) {
      Workspace<S> inner = tried.workspace;
      good &= ConvexStep<S>(tried, run, part, inner).make(good, fma(all<S>(Real(n)), part, time), trial);
    }
    trial.memory[ContactMemory::halved] += number(left & !good);
    for (int i = 0; i < ContactMemory::counts; ++i) {
      state.memory[i] = select(left, trial.memory[i], state.memory[i]);
    }
    for (int i = 0; i < ContactMemory::counts; ++i) trial.memory[i] = state.memory[i];
    left &= !good;
    good &= finite(system.model, static_cast<const S*>(trial.q), static_cast<const S*>(trial.v)) &
            finite_states(tried);
    copy_state<S>(system.model, places, trial, state, [&](const S* from, int count, S* to) {
      simd::copy_where<S>(good, from, count, to);
    });
    system.keep_signals(good, tried);
    solved |= good;
    if (level > 0) run.schedule.restart();  // worlds that were solved before are not where the trial is
  }
  state.memory[ContactMemory::failed] = select(left, all<S>(1), state.memory[ContactMemory::failed]);
  return solved;
}

}  // namespace pysim::stepping
