// Products of the derivatives of inverse dynamics with a vector, λᵀ ∂RNEA(q, v, a) / ∂(q, v, a, θ), by one
// sweep from the root to the leaves and one back: O(n), without matrices.
//
//     λᵀτ = Σ_b L_b·F_b + λᵀ I_r v̇      L = X_BP L_P + S λ: the twists that joint velocities λ would give
//
//     ā  = M L                                     + Σ_children X_PB* ā
//     V̄  = M (L × V) − L ×* M V + S v ×* ā         + Σ_children X_PB* V̄
//     L̄  = F                                       + Σ_children X_PB* L̄
//
//     q̄ = −Sᵀ (X L_P ×* L̄ + X V_P ×* V̄ + X a_P ×* ā)      v̄ = Sᵀ (V̄ − V ×* ā)      v̇̄ = Sᵀ ā + I_r λ
//
// Barred are cotangents: dλᵀτ = q̄·δ + v̄·dv + v̇̄·dv̇, where δ is along q ⊕ δ. A joint whose S depends on q adds
// (∂S_i/∂q_k). The force of a body is linear in its ten numbers θ; their cotangents are sums of
//
//     x·M y = m x_v·y_v + mc·(y_v × x_ω − y_ω × x_v) + x_ω·I y_ω
//
// What −Sᵀ is multiplied by in q̄ is a wrench dual to displacements of the body and all that it carries: its
// force, on the parent's axes, is the cotangent of where the parent has the joint.
#pragma once

#include "dynamics/kinematics.hpp"
#include "tree/subspace_derivative.hpp"

namespace pysim::dynamics {

using tree::SubspaceDerivative;

/// Cotangents of a body's ten numbers, in the order of the engine's record.
template <class S>
PYSIM_INLINE void add_inertia_cotangents(S weight, const Motion<S>& x, const Motion<S>& y, S* theta) {
  const Vec3<S> mc = cross(y.v, x.w) - cross(y.w, x.v);
  const auto add = [&](int i, S term) { theta[i] = fma(weight, term, theta[i]); };
  add(0, dot(x.v, y.v));
  add(1, mc.x), add(2, mc.y), add(3, mc.z);
  add(4, x.w.x * y.w.x), add(5, x.w.y * y.w.y), add(6, x.w.z * y.w.z);
  add(7, fma(x.w.x, y.w.y, x.w.y * y.w.x));
  add(8, fma(x.w.y, y.w.z, x.w.z * y.w.y));
  add(9, fma(x.w.z, y.w.x, x.w.x * y.w.z));
}

/// A tree at one q, through which fields of twists x_B = X_BP x_P + S f go to the leaves and cotangents back.
template <class S>
class TreeProduct {
 public:
  static constexpr int inertia_numbers = 10;

  /// Bodies that are `left_out` move alone; null for none.
  TreeProduct(const ModelOf<S>& model, const bool* left_out, Workspace<S>& w)
      : model_(model),
        left_out_(left_out),
        X_PB_(take<Pose<S>>(w, model.bodies)),
        columns_(take<Motion<S>>(w, model.stored_columns)),
        slope_(take<Motion<S>>(w, model.slopes)),
        L_(take<Motion<S>>(w, model.bodies)),
        V_(take<Motion<S>>(w, model.bodies)),
        a_(take<Motion<S>>(w, model.bodies)),
        L_bar_(take<Force<S>>(w, model.bodies)),
        V_bar_(take<Force<S>>(w, model.bodies)),
        a_bar_(take<Force<S>>(w, model.bodies)) {}

  /// Places the bodies at q; v are the velocities at which biases of joints are differentiated.
  void place(const S* q, const S* v, Workspace<S> w) {
    const tree::SincosTable<S> sincos = tree::sincos_table(model_, q, w);
    each_body([&](int b, const Joint& joint) {
      tree::evaluate(model_, b, q, sincos, columns_, X_PB_[b]);
      if (joint.first_slope >= 0) tree::subspace_derivative(model_, b, q, v, columns_, slopes(joint));
    });
  }

  /// Lets all cotangents of q add those of the joints' places in their parents to `places` [bodies].
  void gather_places(Vec3<S>* places) { places_ = places; }
  Vec3<S>* places() const { return places_; }

  /// X_WB of every body.
  void poses(Pose<S>* X_WB) const {
    each_body([&](int b, const Joint& joint) {
      X_WB[b] = joint.parent < 0 ? X_PB_[b] : X_WB[joint.parent] * X_PB_[b];
    });
  }

  /// x of every body for the joint velocities f (nv).
  void spread(const S* f, Motion<S>* x) const {
    each_body([&](int b, const Joint& joint) {
      x[b] = plus_joint_twist(carried(x, b, spatial::zero_motion<S>()), joint, columns_, f);
    });
  }

  /// Adds to the cotangents of q and f, null for none, from those of x [bodies], which are lost.
  void gather(const Motion<S>* x, const S* f, Force<S>* x_bar, S* q_bar, S* f_bar) const {
    each_body_back([&](int b, const Joint& joint) {
      const Force<S> turned = -cross(carried(x, b, spatial::zero_motion<S>()), x_bar[b]);
      if (q_bar != nullptr) displace(b, turned);
      for (int i = 0; i < joint.nv; ++i) {
        const auto axis = tree::axis(joint, columns_, i);
        if (q_bar != nullptr) q_bar[joint.v + i] += dot(axis, turned);
        if (f_bar != nullptr) f_bar[joint.v + i] += dot(axis, x_bar[b]);
      }
      for (int k = 0; q_bar != nullptr && joint.first_slope >= 0 && k < joint.nv; ++k) {
        q_bar[joint.v + k] += dot(along(joint, k, f), x_bar[b]);
      }
      pass_up(b, joint, x_bar);
    });
  }

  /// Adds to the cotangents of q from those of displacements of bodies on their axes [bodies], which are
  /// lost.
  void gather_displacements(Force<S>* x_bar, S* q_bar) const {
    each_body_back([&](int b, const Joint& joint) {
      displace(b, x_bar[b]);
      for (int i = 0; i < joint.nv; ++i) {
        q_bar[joint.v + i] += dot(tree::axis(joint, columns_, i), x_bar[b]);
      }
      pass_up(b, joint, x_bar);
    });
  }

  /// Velocities and accelerations of bodies [bodies], those of bodies at rest −g.
  void accelerations(const S* v, const S* a, Motion<S>* V, Motion<S>* A) const {
    const Motion<S> base = minus_gravity<S>(model_);
    each_body([&](int b, const Joint& joint) { accelerate(b, joint, v, a, base, V, A); });
  }

  /// Adds λᵀ ∂RNEA/∂(q, v, a) at the v of `place`, with or without gravity; θ (bodies, ten) may be null.
  /// `V_bar`, `A_bar` and `c_bar` [bodies] are cotangents of bodies' velocities, of their accelerations and
  /// of S v × … of their own joints beside; null for none. Adds to `gravity_bar` (3), which may be null.
  void add(const S* v,
           const S* a,
           const S* lambda,
           bool gravity,
           S* q_bar,
           S* v_bar,
           S* rate_bar,
           S* theta,
           const Force<S>* V_bar = nullptr,
           const Force<S>* c_bar = nullptr,
           S* gravity_bar = nullptr,
           const Force<S>* A_bar = nullptr) {
    const Motion<S> o = spatial::zero_motion<S>(), base = gravity ? minus_gravity<S>(model_) : o;
    each_body([&](int b, const Joint& joint) {
      L_[b] = plus_joint_twist(carried(L_, b, o), joint, columns_, lambda);
      accelerate(b, joint, v, a, base, V_, a_);
      const auto M = spatial::all_inertia<S>(model_.constants[b].inertia);
      const Force<S> momentum = M * V_[b];
      const Motion<S> L_V = cross(L_[b], V_[b]);
      L_bar_[b] = newton_euler(M, V_[b], a_[b]);
      V_bar_[b] = M * L_V - cross(L_[b], momentum);
      if (V_bar != nullptr) V_bar_[b] += V_bar[b];
      a_bar_[b] = M * L_[b];
      if (A_bar != nullptr) a_bar_[b] += A_bar[b];
      if (theta == nullptr) return;
      S* const of_body = theta + inertia_numbers * b;
      add_inertia_cotangents(all<S>(1), L_[b], a_[b], of_body);
      add_inertia_cotangents(all<S>(1), L_V, V_[b], of_body);
    });
    each_body_back([&](int b, const Joint& joint) {
      const Motion<S> V_P = carried(V_, b, o);
      const Force<S> A = a_bar_[b], bias = c_bar == nullptr ? A : A + c_bar[b];
      V_bar_[b] = V_bar_[b] + cross(V_[b] - V_P, bias);
      const Force<S> of_rates = V_bar_[b] - cross(V_[b], bias);
      const Force<S> turned =
          -(cross(carried(L_, b, o), L_bar_[b]) + cross(V_P, V_bar_[b]) + cross(carried(a_, b, base), A));
      displace(b, turned);
      for (int i = 0; i < joint.nv; ++i) {
        const int k = joint.v + i;
        const auto axis = tree::axis(joint, columns_, i);
        q_bar[k] += dot(axis, turned);
        v_bar[k] += dot(axis, of_rates);
        rate_bar[k] = fma(all<S>(model_.armature[k]), lambda[k], rate_bar[k] + dot(axis, A));
      }
      if (joint.first_slope >= 0) add_slopes(joint, b, v, a, lambda, of_rates, bias, q_bar, v_bar);
      if (joint.parent < 0 && gravity_bar != nullptr) {
        const Vec3<S> f = X_PB_[b].R * A.f;
        gravity_bar[0] -= f.x, gravity_bar[1] -= f.y, gravity_bar[2] -= f.z;
      }
      pass_up(b, joint, L_bar_);
      pass_up(b, joint, V_bar_);
      pass_up(b, joint, a_bar_);
    });
  }

 private:
  PYSIM_INLINE void displace(int b, const Force<S>& F) const {
    if (places_ != nullptr) places_[b] += X_PB_[b].R * F.f;
  }

  template <class Visit>
  void each_body(const Visit& visit) const {
    for (int b = 0; b < model_.bodies; ++b) {
      if (left_out_ == nullptr || !left_out_[b]) visit(b, model_.joint[b]);
    }
  }

  template <class Visit>
  void each_body_back(const Visit& visit) const {
    for (int b = model_.bodies - 1; b >= 0; --b) {
      if (left_out_ == nullptr || !left_out_[b]) visit(b, model_.joint[b]);
    }
  }

  /// V and A of body b from those of its parent; `base` is the acceleration of the world.
  PYSIM_INLINE void accelerate(int b,
                               const Joint& joint,
                               const S* v,
                               const S* a,
                               const Motion<S>& base,
                               Motion<S>* V,
                               Motion<S>* A) const {
    V[b] = plus_joint_twist(carried(V, b, spatial::zero_motion<S>()), joint, columns_, v);
    A[b] = plus_joint_twist(carried(A, b, base), joint, columns_, a);
    A[b] = tree::plus_cross_joint_twist(A[b], V[b], joint, columns_, v);
    if (joint.biased) A[b] += tree::bias(model_, b, columns_, v);
  }

  /// X_BP x_P; `base` is that of the world.
  PYSIM_INLINE Motion<S> carried(const Motion<S>* x, int b, const Motion<S>& base) const {
    const int parent = model_.joint[b].parent;
    return to_child(X_PB_[b], parent < 0 ? base : x[parent]);
  }

  PYSIM_INLINE void pass_up(int b, const Joint& joint, Force<S>* x_bar) const {
    if (joint.parent >= 0) x_bar[joint.parent] = plus_to_parent(x_bar[joint.parent], X_PB_[b], x_bar[b]);
  }

  SubspaceDerivative<S> slopes(const Joint& joint) const { return {joint.nv, slope_ + joint.first_slope}; }

  /// Σ_i f_i ∂S_i/∂q_k.
  Motion<S> along(const Joint& joint, int k, const S* f) const {
    const auto D = slopes(joint);
    Motion<S> sum = spatial::zero_motion<S>();
    for (int i = 0; i < joint.nv; ++i) sum = fma(f[joint.v + i], D.column(i, k), sum);
    return sum;
  }

  /// Adds what ∂S/∂q and ∂c/∂q of a joint give.
  void add_slopes(const Joint& joint,
                  int b,
                  const S* v,
                  const S* a,
                  const S* lambda,
                  const Force<S>& of_rates,
                  const Force<S>& bias,
                  S* q_bar,
                  S* v_bar) const {
    const auto D = slopes(joint);
    for (int k = 0; k < joint.nv; ++k) {
      const Motion<S> u = along(joint, k, v);
      Motion<S> by_v = u;
      for (int j = 0; j < joint.nv; ++j) by_v = fma(v[joint.v + j], D.column(k, j), by_v);
      q_bar[joint.v + k] += dot(along(joint, k, lambda), L_bar_[b]) + dot(u, of_rates) +
                            dot(along(joint, k, a), a_bar_[b]) + dot(D.bias(k), bias);
      v_bar[joint.v + k] += dot(by_v, bias);
    }
  }

  const ModelOf<S>& model_;
  const bool* const left_out_;
  Pose<S>* const X_PB_;
  Motion<S>* const columns_;
  Motion<S>* const slope_;
  Motion<S>*const L_, *const V_, *const a_;
  Force<S>*const L_bar_, *const V_bar_, *const a_bar_;
  Vec3<S>* places_ = nullptr;
};

}  // namespace pysim::dynamics
