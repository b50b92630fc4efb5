// Factored inertia of a mechanism; its kind is chosen here, by the mechanism's structure.
//
//     reduced   some joints mimic others: M on the reduced coordinates is dense
//     planar    loops of hinges in one plane: the recursion in three numbers
//     tree      otherwise: the articulated-body recursion
//
// All have the interface of dynamics/inertia_factor.hpp. q, v and `passive` are the tree's full coordinates;
// τ, a and what `forward`, `backward` and `apply` solve for are the reduced ones.
#pragma once

#include "dynamics/planar_factor.hpp"
#include "dynamics/reduced_factor.hpp"

namespace pysim::constraints {

using dynamics::PlanarFactor;
using dynamics::ReducedFactor;
using dynamics::TreeFactor;
using spatial::Force;
using spatial::Pose;
using tree::ModelOf;
using tree::Workspace;

template <class S>
class MechanismFactor {
  enum class Kind { tree, planar, reduced };

 public:
  const ModelOf<S>& model;

  MechanismFactor(const ModelOf<S>& m, Workspace<S>& w)
      : model(m),
        kind_(m.mimic          ? Kind::reduced
              : m.planar_loops ? Kind::planar
                               : Kind::tree),
        spatial_(m, w, kind_ != Kind::planar, kind_ == Kind::reduced),
        planar_(m, w, kind_ == Kind::planar) {}

  /// f(factor) of the kind that was chosen.
  template <class F>
  PYSIM_INLINE decltype(auto) visit(const F& f) {
    if (kind_ == Kind::planar) return f(planar_);
    if (kind_ == Kind::reduced) return f(spatial_);
    return f(static_cast<TreeFactor<S>&>(spatial_));
  }

  /// f(factor) for what needs the motion of a closed mechanism's bodies only, which does not depend on the
  /// coordinates solved for. Closed mechanisms in packs of two registers are planar, see engine/dispatch.cpp.
  template <class F>
  PYSIM_INLINE decltype(auto) visit_bodies(const F& f) const {
    if constexpr (simd::in_two<S>) {
      return f(planar_);
    } else {
      if (kind_ == Kind::planar) return f(planar_);
      return f(static_cast<const TreeFactor<S>&>(spatial_));
    }
  }

  /// D⁻¹ of the factor [reduced nv].
  const S* inv_D() const { return kind_ == Kind::planar ? planar_.inv_D : spatial_.inv_D; }

  void move(const S* q, const S* v, Workspace<S> w) {
    visit([=](auto& factor) { factor.move(q, v, w); });
  }

  void place(const S* q, const S* v, Workspace<S> w) {
    visit([=](auto& factor) { factor.place(q, v, w); });
  }

  /// Places the bodies at q and factors M(q), `diagonal` added unless it is null.
  void factor_at(const S* q, const S* diagonal, Workspace<S> w) {
    visit([=](auto& factor) {
      factor.place(q, w);
      factor.factor(q, diagonal, w);
    });
  }

  /// After `move`, factors M(q).
  void factor(const S* q, Workspace<S> w) {
    visit([=](auto& factor) { factor.factor(q, nullptr, w); });
  }

  /// After `move`: a = M⁻¹ (τ + passive − h(q, v)), and the bodies' accelerations; `paths` includes the
  /// forces along straight paths.
  void accelerate(const S* q,
                  const S* v,
                  const S* tau,
                  const S* passive,
                  const Force<S>* f_ext,
                  bool paths,
                  S* a,
                  Workspace<S> w) {
    visit([&](auto& factor) {
      factor.accelerate(q, v, tau, passive, paths ? factor.add_straight_paths(f_ext, w) : f_ext, a, w);
    });
  }

  /// The bodies' motion at v̇ = 0; keeps the factors.
  void move_freely(const S* q, const S* v, Workspace<S> w) {
    visit([=](auto& factor) {
      factor.move(q, v, w);
      factor.accelerate_bodies(nullptr);
    });
  }

  /// y = L⁻¹ τ in place, of `rows` of τ that lie `stride` apart, each on the coordinates of `path`.
  void forward(const tree::SupportPath& path, int rows, S* y, int stride) {
    visit([&](auto& factor) { factor.forward(path, rows, y, stride); });
  }

  /// x = L⁻ᵀ D⁻¹ y in place.
  void backward(S* y) {
    visit([=](auto& factor) { factor.backward(y); });
  }

  /// x ← M⁻¹ x.
  void apply(S* x) {
    visit([=](auto& factor) { factor.apply(x); });
  }

  /// X_WB of every body at q, where they were placed.
  const Pose<S>* poses(const S* q, Workspace<S>& w) const {
    return visit_bodies([&](const auto& factor) -> const Pose<S>* { return factor.poses(q, w); });
  }

 private:
  Kind kind_;
  ReducedFactor<S> spatial_;
  PlanarFactor<S> planar_;
};

}  // namespace pysim::constraints
