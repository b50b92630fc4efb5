// Convex step with contacts: implicit Euler in contacts, limits, dry friction, springs and dampers.
//
//     A (v* − v₀) = h (τ − h(q₀, v₀)) − h² K v₀,  A = M + h D + h² K        the step without contact
//     v₁ = argmin ½ |v − v*|²_A + Σ P_i(J_i v),   q₁ = q₀ ⊕ h v₁           see convex_problem.hpp
//
// Velocities are on the axes that bodies have at the start: contacts see no rotation of the axes within a
// step. A body that moves freely and alone turns with ω = I⁻¹ exp(−h ω/2) L, and its momenta P and L about
// its centre of mass change by the impulses alone, so they balance to rounding; other trees keep them to the
// order of the step.
#pragma once

#include "collision/plane_contact.hpp"
#include "dynamics/passive.hpp"
#include "stepping/convex_problem.hpp"
#include "stepping/system.hpp"

namespace pysim::stepping {

using dynamics::load3;
using dynamics::store;
using spatial::Mat3;

/// What a step with contacts reads beside the mechanism.
template <class S>
struct ConvexRun {
  const Contacts<typename S::Parameter>& contacts;
  int passes;
};

/// A world's state, what its next step begins with, and what is reported of its last step.
template <class S>
struct ContactState {
  S *q, *v;
  S* memory;  ///< [ContactMemory::numbers]
  S* report;  ///< [points · ContactReport::numbers]
};

/// One step of length h in one pack of worlds.
template <class S>
class ConvexStep {
 public:
  using Real = typename S::Real;
  using Parameter = typename S::Parameter;

  ConvexStep(const System<S>& system, const ConvexRun<S>& run, S h, Workspace<S>& w)
      : system_(system),
        model_(system.model),
        run_(run),
        contacts_(run.contacts),
        places_{run.contacts.points, run.contacts.coordinates},
        h_(h),
        factor_(model_, w),
        problem_(factor_, run.contacts, h, w),
        base_(take<S>(w, model_.nv)),
        free_(take<S>(w, model_.nv)),
        delta_(take<S>(w, model_.nv)),
        twist_(take<Motion<S>>(w, model_.bodies)),
        momentum_(take<Force<S>>(w, model_.bodies)),
        apart_(take<Mask<S>>(w, run.contacts.points)),
        w_(w) {}

  /// Makes the step in place; returns the worlds where it was solved. The others are to be discarded.
  Mask<S> make(Mask<S> wanted, S time, const ContactState<S>& state) {
    factor_.move(state.q, state.v, w_);
    free_velocity(time, state.q, state.v);
    place_points(state);
    place_coordinates(state);
    const auto good = problem_.solve(
        wanted & problem_.touched(), run_.passes, base_, delta_, state.memory[ContactMemory::iterations]);
    state.memory[ContactMemory::worst] = select(good, state.memory[ContactMemory::worst], problem_.worst());
    for (int i = 0; i < model_.nv; ++i) free_[i] += delta_[i];
    move(state.q, state.v);
    remember(state);
    return good;
  }

 private:
  bool is_free(const tree::Joint& joint) const { return joint.shape == tree::Shape::free; }

  /// v*, and the momenta of single bodies, at the start of the step.
  void free_velocity(S time, const S* q, const S* v) {
    Workspace<S> w = w_;
    const int nv = model_.nv;
    S *const tau = take<S>(w, nv), *const a = take<S>(w, nv);
    Motion<S>* const drift = take<Motion<S>>(w, model_.bodies);
    system_.actuate(fma(all<S>(Real(0.5)), h_, time), tau);
    add_joint_forces(q, v, tau, w);
    for (int b = 0; b < model_.bodies; ++b) {
      if (contacts_.single[b]) factor_.body[b].pA = spatial::zero_force<S>();
      drift[b] = factor_.body[b].c;
    }
    factor_.add_springs(nullptr, w);
    factor_.unload();
    for (int b = 0; b < model_.bodies; ++b) factor_.pA[b] = factor_.body[b].pA;
    factor_.factor(base_);
    factor_.solve(tau, dynamics::minus_gravity<S>(model_), drift, a);
    for (int i = 0; i < nv; ++i) free_[i] = fma(h_, a[i], v[i]);
    for (int b = 0; b < model_.bodies; ++b) {
      const tree::Joint& joint = model_.joint[b];
      if (!is_free(joint)) continue;
      if (contacts_.single[b]) {
        turn_single(b, tau + joint.v);
      } else {
        const S* const at = v + joint.v;
        store(fma(h_, cross(load3(at + 3), load3(at)), load3(free_ + joint.v)), free_ + joint.v);
      }
    }
    for (int b = 0; b < model_.bodies; ++b) {
      const tree::Joint& joint = model_.joint[b];
      const Motion<S> carried =
          joint.parent < 0 ? spatial::zero_motion<S>() : to_child(factor_.body[b].X_PB, twist_[joint.parent]);
      twist_[b] = plus_joint_twist(carried, joint, factor_.columns, static_cast<const S*>(free_));
    }
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
      tau[i] += fnma(hK, v[i], passive[i]);
    }
  }

  /// Inverse of a symmetric matrix.
  static spatial::Sym3<S> inverse(const spatial::Sym3<S>& A) {
    const Vec3<S> x = {A.xx, A.xy, A.zx}, y = {A.xy, A.yy, A.yz}, z = {A.zx, A.yz, A.zz};
    const Vec3<S> yz = cross(y, z), zx = cross(z, x), xy = cross(x, y);
    const S r = all<S>(1) / dot(x, yz);
    return {r * yz.x, r * zx.y, r * xy.z, r * yz.y, r * zx.z, r * yz.z};
  }

  static Vec3<S> centre(const spatial::Inertia<S>& M) { return (all<S>(1) / M.m) * M.mc; }

  /// v* of a single body from its momenta on the axes of the start.
  void turn_single(int b, const S* tau) {
    constexpr int rounds = 4;
    const auto M = dynamics::body_inertia<S>(model_, b);
    const Vec3<S> c = centre(M);
    const auto inverse_I = inverse(translate(-c, M).I);
    const Force<S> p = M * factor_.body[b].V;
    const Force<S> F = Force<S>{load3(tau), load3(tau + 3)} - factor_.body[b].pA;
    const Vec3<S> g = transpose_times(factor_.X_WB[b].R, spatial::all3<S>(model_.gravity));
    const Vec3<S> P = fma(h_, fma(M.m, g, F.f), p.f);
    const Vec3<S> L = fma(h_, F.t - cross(c, F.f), p.t - cross(c, p.f));
    const S half = all<S>(Real(0.5)) * h_;
    Vec3<S> omega = inverse_I * L;
    for (int n = 0; n < rounds; ++n) omega = inverse_I * transpose_times(spatial::exp(half * omega), L);
    momentum_[b] = {P, L};
    S* const at = free_ + model_.joint[b].v;
    store((all<S>(1) / M.m) * P - cross(omega, c), at);
    store(omega, at + 3);
  }

  void place_points(const ContactState<S>& state) {
    for (int k = 0; k < contacts_.pairs; ++k) {
      const auto& pair = contacts_.pair[k];
      const Pose<S>& X_WB = factor_.X_WB[pair.body];
      const Pose<S> X_BS = {spatial::all33<S>(pair.placement), spatial::all3<S>(pair.placement + 9)};
      const Pose<S> X_WS = X_WB * X_BS;
      const Vec3<S> n_W = spatial::all3<S>(pair.normal), n = transpose_times(X_WB.R, n_W);
      const Vec3<S> surface = transpose_times(X_WB.R, spatial::all3<S>(pair.surface));
      const auto close = may_touch(pair, X_WS);
      problem_.near[k] = any(close);
      if (!problem_.near[k]) continue;
      Vec3<S> lowest[collision::max_plane_points];
      collision::points_to_plane<S>(pair.shape, transpose_times(X_WS.R, n_W), lowest, apart_ + pair.first);
      for (int i = 0; i < pair.points; ++i) {
        PointIterate<S>& P = problem_.point[pair.first + i];
        const S gap = dot(n_W, X_WS * lowest[i]) - all<S>(pair.offset);
        const S* const kept = state.memory + places_.point(pair.first + i);
        P.at.n = n;
        P.at.p = fnma(all<S>(Real(0.5)) * gap, n, X_BS * lowest[i]);
        P.at.x = select(apart_[pair.first + i] & close, -gap, all<S>(Real(-1e30)));
        const Vec3<S> s = transpose_times(X_WB.R, load3(kept));
        P.at.s = fnma(dot(n, s), n, s);
        const auto velocity = [&](const Motion<S>& V) { return cross_add(V.w, P.at.p, V.v) - surface; };
        P.start = velocity(factor_.body[pair.body].V);
        P.free = velocity(twist_[pair.body]);
        P.at.mu =
            select(kept[3] > all<S>(0), all<S>(pair.law.dynamic_friction), all<S>(pair.law.static_friction));
        P.at.limit = P.at.mu * h_ * constraints::normal_force(pair.law, P.at.x, dot(n, P.start));
      }
    }
  }

  /// Worlds where a shape is nearer to the plane than its body can go in four steps.
  Mask<S> may_touch(const ContactPair<Parameter>& pair, const Pose<S>& X_WS) const {
    const Motion<S>&V = factor_.body[pair.body].V, &free = twist_[pair.body];
    const Vec3<S> arm = spatial::all3<S>(pair.placement + 9);
    const auto size = [](const Vec3<S>& a) { return sqrt(dot(a, a)); };
    const S reach = all<S>(pair.radius), lever = size(arm) + reach;
    const S speed = max(fma(lever, size(V.w), size(V.v)), fma(lever, size(free.w), size(free.v)));
    const S gap = dot(spatial::all3<S>(pair.normal), X_WS.p) - all<S>(pair.offset) - reach;
    return gap < fma(all<S>(Real(4)) * h_, speed, all<S>(Real(0.1)) * reach);
  }

  void place_coordinates(const ContactState<S>& state) {
    for (int k = 0; k < contacts_.coordinates; ++k) {
      const auto& law = contacts_.coordinate[k];
      auto& C = problem_.coordinate[k];
      const S far = all<S>(-__builtin_inf());
      C.at = {state.memory[places_.coordinate(k)], far, far};
      if (law.q >= 0) {
        C.at.below = all<S>(law.lower) - state.q[law.q];
        C.at.above = state.q[law.q] - all<S>(law.upper);
      }
      C.start = state.v[law.v];
      C.free = free_[law.v];
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
          dq[i] = h_ * to[i];
        }
        dynamics::retract<S>(joint.block, joint.blocks, q + joint.q, dq, q + joint.q);
        continue;
      }
      const Vec3<S> linear = load3(free_ + joint.v), omega = load3(free_ + joint.v + 3);
      S* const at = q + joint.q;
      const auto before = dynamics::load_quaternion(at + 3);
      const auto turn = spatial::exp_quaternion(h_ * omega);
      const auto after = normalized(before * turn);
      const Mat3<S> step = spatial::rotation(turn), R = spatial::rotation(before);
      if (!contacts_.single[b]) {
        store(fma(h_, R * linear, load3(at)), at);
        store(transpose_times(step, linear), to);
        store(omega, to + 3);
      } else {
        const auto M = dynamics::body_inertia<S>(model_, b);
        const Vec3<S> c = centre(M), carried = cross_add(omega, c, linear);
        store(load3(at) + (R * fma(h_, carried, c) - spatial::rotation(after) * c), at);
        const Force<S> p = momentum_after(b, c);
        const Vec3<S> spin = inverse(translate(-c, M).I) * transpose_times(step, p.t);
        store((all<S>(1) / M.m) * transpose_times(step, p.f) - cross(spin, c), to);
        store(spin, to + 3);
      }
      store(after, at + 3);
    }
  }

  /// P and L of a single body with what contacts gave, on the axes of the start.
  Force<S> momentum_after(int b, const Vec3<S>& c) const {
    Force<S> p = momentum_[b];
    for (int k = 0; k < contacts_.pairs; ++k) {
      if (contacts_.pair[k].body != b || !problem_.near[k]) continue;
      for (int i = contacts_.pair[k].first; i < contacts_.pair[k].first + contacts_.pair[k].points; ++i) {
        const auto& P = problem_.point[i];
        p = p + Force<S>{P.made, cross(P.at.p - c, P.made)};
      }
    }
    return p;
  }

  /// Clears what the points of a pair that is far away remember and report, but for the impulse.
  void forget(const ContactPair<Parameter>& pair, const ContactState<S>& state) const {
    for (int i = pair.first; i < pair.first + pair.points; ++i) {
      S* const kept = state.memory + places_.point(i);
      S* const report = state.report + ContactReport::numbers * i;
      for (int j = 0; j < ContactMemory::per_point; ++j) kept[j] = all<S>(0);
      for (int j = 0; j < ContactReport::impulse; ++j) report[j] = all<S>(0);
    }
  }

  /// Leaves deflections for the next step, and the report.
  void remember(const ContactState<S>& state) const {
    const S o = all<S>(0), e = all<S>(1);
    for (int k = 0; k < contacts_.pairs; ++k) {
      const auto& pair = contacts_.pair[k];
      if (!problem_.near[k]) {
        forget(pair, state);
        continue;
      }
      const Pose<S>& X_WB = factor_.X_WB[pair.body];
      for (int i = pair.first; i < pair.first + pair.points; ++i) {
        const PointIterate<S>& P = problem_.point[i];
        S* const kept = state.memory + places_.point(i);
        S* const report = state.report + ContactReport::numbers * i;
        const S pushed = dot(P.at.n, P.made);
        const auto touches = pushed > o;
        const Vec3<S> s = X_WB.R * next_deflection(pair.law, P.at, h_, P.now, P.impulse);
        store(collision::select(touches, s, spatial::zero3<S>()), kept);
        kept[3] = number(touches & !P.impulse.sticks);
        const Vec3<S> impulse = X_WB.R * P.made;
        const S v_n = dot(P.at.n, P.now);
        const Vec3<S> slip = fnma(v_n, P.at.n, P.now), none = spatial::zero3<S>();
        store((e / h_) * impulse, report + ContactReport::force);
        store(collision::select(touches, X_WB * P.at.p, none), report + ContactReport::position);
        report[ContactReport::penetration] = select(touches, fnma(h_, v_n, P.at.x), o);
        report[ContactReport::slip] = select(touches, sqrt(dot(slip, slip)), o);
        report[ContactReport::sticks] = number(touches & P.impulse.sticks);
        store(load3(report + ContactReport::impulse) + impulse, report + ContactReport::impulse);
      }
    }
    for (int k = 0; k < contacts_.coordinates; ++k) {
      const auto& C = problem_.coordinate[k];
      state.memory[places_.coordinate(k)] = next_deflection(contacts_.coordinate[k], C.at, h_, C.now);
    }
  }

  const System<S>& system_;
  const ModelOf<S>& model_;
  const ConvexRun<S>& run_;
  const Contacts<Parameter>& contacts_;
  const ContactMemory places_;
  const S h_;
  dynamics::LoadedFactor<S> factor_;
  ConvexProblem<S> problem_;
  S *base_, *free_, *delta_;
  Motion<S>* twist_;    ///< [bodies] at v*
  Force<S>* momentum_;  ///< [bodies] P and L of single bodies without contacts
  Mask<S>* apart_;      ///< [points]
  Workspace<S> w_;
};

/// A step, or 2, 4, … shorter ones in its place where it cannot be solved. Worlds that are not solved even so
/// are marked in the memory and left where they were.
template <class S>
Mask<S> convex_step(const System<S>& system,
                    const ConvexRun<S>& run,
                    Mask<S> wanted,
                    S time,
                    S h,
                    const ContactState<S>& state) {
  using Real = typename S::Real;
  constexpr int levels = 6;
  Workspace<S> w = system.workspace;
  const int nq = system.model.nq, nv = system.model.nv;
  const int kept = ContactMemory{run.contacts.points, run.contacts.coordinates}.numbers();
  const int reported = ContactReport::numbers * run.contacts.points;
  const ContactState<S> trial = {take<S>(w, nq), take<S>(w, nv), take<S>(w, kept), take<S>(w, reported)};
  auto left = wanted, solved = simd::nowhere<S>();
  for (int level = 0; level <= levels && any(left); ++level) {
    const int parts = 1 << level;
    simd::copy_each<S>(state.q, nq, trial.q);
    simd::copy_each<S>(state.v, nv, trial.v);
    simd::copy_each<S>(state.memory, kept, trial.memory);
    simd::copy_each<S>(state.report, reported, trial.report);
    const S part = h / all<S>(Real(parts));
    auto good = left;
    for (int n = 0; n < parts && any(good); ++n) {
      Workspace<S> inner = w;
      good &= ConvexStep<S>(system, run, part, inner).make(good, fma(all<S>(Real(n)), part, time), trial);
    }
    trial.memory[ContactMemory::halved] += number(left & !good);
    for (int i = 0; i < ContactMemory::counts; ++i) {
      state.memory[i] = select(left, trial.memory[i], state.memory[i]);
    }
    simd::copy_where<S>(good, trial.q, nq, state.q);
    simd::copy_where<S>(good, trial.v, nv, state.v);
    simd::copy_where<S>(good, trial.memory, kept, state.memory);
    simd::copy_where<S>(good, trial.report, reported, state.report);
    solved |= good;
    left &= !good;
  }
  state.memory[ContactMemory::failed] = select(left, all<S>(1), state.memory[ContactMemory::failed]);
  return solved;
}

}  // namespace pysim::stepping
