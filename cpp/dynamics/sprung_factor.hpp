// Factor of M + E, E of symmetric blocks on the coordinates of single joints, by the recursion of the
// articulated-body algorithm: O(n) for any E, such as the stiffness and damping of the joints' springs.
//
//     U = IA S      D = SᵀU + I_r + E_b = L d Lᵀ      Y = U L⁻ᵀ      IA_P += X_PB* (IA − Y d⁻¹ Yᵀ) X_BP
//     (M + E) x = b:   z = d⁻¹ L⁻¹ (b − Sᵀ p)    p_P += X_PB* (p + Y z)      leaves to root
//                      x = L⁻ᵀ (z − d⁻¹ Yᵀ a)    a = X_BP a_P, then + S x    root to leaves
//
// [Featherstone 2008, section 7.3], with the coordinates of a joint eliminated as a block: E_b couples them.
#pragma once

#include "dynamics/inertia_factor.hpp"
#include "dynamics/passive_derivatives.hpp"

namespace pysim::dynamics {

template <class S>
class SprungFactor {
 public:
  static constexpr int width = tree::max_joint_nv;  ///< numbers of a row of E and L

  /// Reserves memory only if it is `used`.
  SprungFactor(const ModelOf<S>& model, bool used, Workspace<S>& w) : model_(model) {
    if (!used) return;
    X_PB_ = take<Pose<S>>(w, model.bodies);
    columns_ = take<Motion<S>>(w, model.stored_columns);
    L_ = take<S>(w, std::ptrdiff_t{width} * model.nv);
    inv_d_ = take<S>(w, model.nv);
    z_ = take<S>(w, model.nv);
    Y_ = take<Force<S>>(w, model.nv);
    IA_ = take<ArticulatedInertia<S>>(w, model.bodies);
    p_ = take<Force<S>>(w, model.bodies);
    a_ = take<Motion<S>>(w, model.bodies);
  }

  /// Factors M + E at q and v, E = −G ∂τ/∂v − B ∂τ/∂q of the joints' passive forces τ, without the part that
  /// is not symmetric.
  void factor(const S* q, const S* v, S G, S B, Workspace<S> w) {
    const tree::SincosTable<S> sincos = tree::sincos_table(model_, q, w);
    const S half = all<S>(typename S::Real(-0.5));
    for (int b = 0; b < model_.bodies; ++b) {
      const Joint& joint = model_.joint[b];
      tree::evaluate(model_, b, q, sincos, columns_, X_PB_[b]);
      IA_[b] = articulated(body_inertia<S>(model_, b));
      const auto D = passive_derivatives(model_, b, q, v, w);
      const int n = joint.nv;
      for (int i = 0; i < n; ++i) {
        for (int j = 0; j <= i; ++j) {
          const S by_q = D.q[i * n + j] + D.q[j * n + i], by_v = D.v[i * n + j] + D.v[j * n + i];
          row(L_, joint, i)[j] = half * fma(G, by_v, B * by_q);
        }
      }
    }
    for (int b = model_.bodies - 1; b >= 0; --b) {
      eliminate(b);
      const int parent = model_.joint[b].parent;
      if (parent >= 0) IA_[parent] = IA_[parent] + to_parent(X_PB_[b], IA_[b]);
    }
  }

  /// Copies the factor of another one in the `wanted` worlds.
  void keep(simd::Mask<S> wanted, const SprungFactor& other) {
    copy_numbers(wanted, other.X_PB_, model_.bodies, X_PB_);
    copy_numbers(wanted, other.columns_, model_.stored_columns, columns_);
    copy_numbers(wanted, other.Y_, model_.nv, Y_);
    simd::copy_where<S>(wanted, other.L_, width * model_.nv, L_);
    simd::copy_where<S>(wanted, other.inv_d_, model_.nv, inv_d_);
  }

  /// x ← (M + E)⁻¹ M x.
  void apply(S* x) {
    begin(x);
    finish(x);
  }

  /// z = d⁻¹ L⁻¹ M x. The bodies' forces at accelerations x push, so that no M x is subtracted from E x.
  void begin(const S* x) {
    for (int b = 0; b < model_.bodies; ++b) {
      const Motion<S> carried = carried_by_parent(b);
      a_[b] = plus_joint_twist(carried, model_.joint[b], columns_, x);
      p_[b] = spatial::zero_force<S>() - body_inertia<S>(model_, b) * a_[b];
    }
    const auto load = [&](int k, S along) { return fma(all<S>(model_.armature[k]), x[k], -along); };
    for (int b = model_.bodies - 1; b >= 0; --b) push(b, load);
  }

  /// x = L⁻ᵀ z.
  void finish(S* x) {
    for (int b = 0; b < model_.bodies; ++b) pull(b, x);
  }

  /// y = L⁻¹ b (nv); z is lost.
  void forward(const S* b, S* y) {
    for (int k = 0; k < model_.bodies; ++k) p_[k] = spatial::zero_force<S>();
    const auto load = [=](int k, S along) { return b[k] - along; };
    for (int k = model_.bodies - 1; k >= 0; --k) push(k, load);
    for (int k = 0; k < model_.bodies; ++k) {
      const Joint& joint = model_.joint[k];
      for (int i = 0; i < joint.nv; ++i) y[joint.v + i] = row(L_, joint, i)[i] * z_[joint.v + i];
    }
  }

  S* z() const { return z_; }
  const S* inv_d() const { return inv_d_; }

 private:
  static PYSIM_INLINE S* row(S* numbers, const Joint& joint, int i) {
    return numbers + std::ptrdiff_t{width} * (joint.v + i);
  }

  /// Poses, motions and forces consist of numbers only.
  template <class T>
  static void copy_numbers(simd::Mask<S> wanted, const T* from, int count, T* to) {
    constexpr int size = sizeof(T) / sizeof(S);
    simd::copy_where<S>(wanted, reinterpret_cast<const S*>(from), size * count, reinterpret_cast<S*>(to));
  }

  /// Eliminates the coordinates of body b, whose rows hold E; IA is what remains.
  void eliminate(int b) {
    const Joint& joint = model_.joint[b];
    ArticulatedInertia<S>& IA = IA_[b];
    for (int i = 0; i < joint.nv; ++i) Y_[joint.v + i] = IA * tree::axis(joint, columns_, i);
    for (int i = 0; i < joint.nv; ++i) {
      S* const L_i = row(L_, joint, i);
      Force<S>& Y = Y_[joint.v + i];
      for (int j = 0; j <= i; ++j) {
        L_i[j] += dot(tree::axis(joint, columns_, j), Y);
      }
      L_i[i] += all<S>(model_.armature[joint.v + i]);
    }
    for (int i = 0; i < joint.nv; ++i) {
      S* const L_i = row(L_, joint, i);
      Force<S>& Y = Y_[joint.v + i];
      for (int j = 0; j < i; ++j) {
        const S* const L_j = row(L_, joint, j);
        for (int k = 0; k < j; ++k) L_i[j] = fnma(L_i[k], L_j[k], L_i[j]);  // L_i[k] is still L d
      }
      for (int j = 0; j < i; ++j) {
        const S Ld = L_i[j];
        L_i[j] = Ld * inv_d_[joint.v + j];
        L_i[i] = fnma(Ld, L_i[j], L_i[i]);
        Y = fma(-L_i[j], Y_[joint.v + j], Y);
      }
      inv_d_[joint.v + i] = all<S>(1) / L_i[i];
    }
    for (int i = 0; i < joint.nv && joint.parent >= 0; ++i) {
      const Force<S>& Y = Y_[joint.v + i];
      IA = minus_outer(IA, inv_d_[joint.v + i] * Y, Y);
    }
  }

  Motion<S> carried_by_parent(int b) const {
    const int parent = model_.joint[b].parent;
    return parent < 0 ? spatial::zero_motion<S>() : to_child(X_PB_[b], a_[parent]);
  }

  /// z of body b, and its push on its parent; load(k, Sᵀp) is the force on coordinate k less Sᵀp.
  template <class Load>
  void push(int b, const Load& load) {
    const Joint& joint = model_.joint[b];
    Force<S>& p = p_[b];
    for (int i = 0; i < joint.nv; ++i) {
      S& z = z_[joint.v + i];
      z = load(joint.v + i, dot(tree::axis(joint, columns_, i), p));
      for (int j = 0; j < i; ++j) z = fnma(row(L_, joint, i)[j], z_[joint.v + j], z);
    }
    for (int i = 0; i < joint.nv; ++i) {
      S& z = z_[joint.v + i];
      z = inv_d_[joint.v + i] * z;
      p = fma(z, Y_[joint.v + i], p);
    }
    if (joint.parent >= 0) p_[joint.parent] = plus_to_parent(p_[joint.parent], X_PB_[b], p);
  }

  /// x at body b, and its acceleration.
  void pull(int b, S* x) {
    const Joint& joint = model_.joint[b];
    Motion<S> a = carried_by_parent(b);
    S* const z = z_ + joint.v;
    for (int i = joint.nv - 1; i >= 0; --i) {
      z[i] = fnma(inv_d_[joint.v + i], dot(a, Y_[joint.v + i]), z[i]);
      for (int j = i + 1; j < joint.nv; ++j) z[i] = fnma(row(L_, joint, j)[i], z[j], z[i]);
    }
    for (int i = 0; i < joint.nv; ++i) {
      a = plus(a, tree::axis(joint, columns_, i), z[i]);
      x[joint.v + i] = z[i];
    }
    a_[b] = a;
  }

  const ModelOf<S>& model_;
  Pose<S>* X_PB_ = nullptr;
  Motion<S>* columns_ = nullptr;
  S* L_ = nullptr;  ///< E, then L below the diagonal, by rows of `width`
  S* inv_d_ = nullptr;
  Force<S>* Y_ = nullptr;                ///< [nv]
  S* z_ = nullptr;                       ///< (nv)
  ArticulatedInertia<S>* IA_ = nullptr;  ///< [bodies]
  Force<S>* p_ = nullptr;                ///< [bodies]
  Motion<S>* a_ = nullptr;               ///< [bodies]
};

}  // namespace pysim::dynamics
