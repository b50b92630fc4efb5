// Matrix of an iteration of Newton's method, A + Σ JᵀGJ, and the solution under Σ Jᵀ push.
//
// Loads on one body lie in the factor of its tree, those between two bodies beside it (contact/coupling.hpp).
// Loops, couplings and mimic joints are rows K v = 0; the solution is projected onto them
// (constraints/velocity_rows.hpp).
#pragma once

#include "constraints/velocity_rows.hpp"
#include "contact/coupling.hpp"

namespace pysim::contact {

template <class S>
class ContactMatrix {
 public:
  using Parameter = typename S::Parameter;
  using Vec3 = spatial::Vec3<S>;

  ContactMatrix(LoadedFactor<S>& factor,
                constraints::VelocityRows<S>& rows,
                const Contacts<Parameter>& contacts,
                const ActivePairs<S>& pairs,
                Workspace<S>& w)
      : between(factor, contacts, pairs, !rows.empty(), w),
        factor_(factor),
        rows_(rows),
        delta_(take<S>(w, factor.model.nv)),
        rhs_(take<S>(w, factor.model.nv)),
        diagonal_(take<S>(w, factor.model.nv)) {}

  LoadsBetweenBodies<S> between;

  /// Begins a solution at Δ = 0.
  void start() {
    between.start();
    rows_.begin();
  }

  /// Goes on to Δ as far as `mix` does.
  template <class Mix>
  void advance(const Mix& mix) const {
    rows_.advance(mix);
  }

  /// Begins an iteration with A, which has `base` (nv) beside M on its diagonal.
  void begin(const S* base) {
    const auto& model = factor_.model;
    base_ = base;
    factor_.unload();
    for (int b = 0; b < model.bodies; ++b) factor_.pA[b] = spatial::zero_force<S>();
    for (int i = 0; i < model.nv; ++i) {
      diagonal_[i] = base[i];
      rhs_[i] = all<S>(0);
    }
  }

  /// Adds a push f on the point p of a body.
  void push(int body, const Vec3& p, const Vec3& f) {
    factor_.pA[body] = factor_.pA[body] - Force<S>{f, cross(p, f)};
  }

  /// Adds [1 | −p×]ᵀ G [1 | −p×].
  void put(int body, const Vec3& p, const spatial::Sym3<S>& G) {
    const Vec3 zero = spatial::zero3<S>();
    const S o = all<S>(0);
    const dynamics::ArticulatedInertia<S> load = {G, {zero, zero, zero}, {o, o, o, o, o, o}};
    factor_.IA[body] = factor_.IA[body] + translate(p, load);
  }

  /// Adds a push t and a load G on the rotation of a body.
  void twist(int body, const Vec3& t, const spatial::Sym3<S>& G) {
    factor_.pA[body].t = factor_.pA[body].t - t;
    factor_.IA[body].I = factor_.IA[body].I + G;
  }

  /// Adds a load and a push on coordinate i.
  void add(int i, S slope, S push) {
    diagonal_[i] += slope;
    rhs_[i] += push;
  }

  /// Solves for Δ or its correction, in the worlds that are `left`. add_couplings() adds the blocks between
  /// bodies.
  template <class AddCouplings>
  void solve(Mask<S> left, const AddCouplings& add_couplings, Workspace<S> w) {
    auto& trees = between.trees;
    trees.arrange(w);
    trees.begin(left);
    if (!trees.empty()) add_couplings();
    const auto alone = [&](int b) { return !trees.replaces(b); };
    factor_.factor(diagonal_, alone);
    if (between.has_rows()) between.factor_rows();
    factor_.solve(rhs_, spatial::zero_motion<S>(), nullptr, delta_, alone, [this] { between.correct(true); });
    if (!trees.empty()) solve_coupled(left, add_couplings, w);
    if (!rows_.empty()) hold_rows();
  }

  /// Whether γ' is to be taken from the solution before it is completed.
  bool iterates() const { return between.trees.iterates(); }

  void complete() { between.trees.complete(delta_); }

  /// γ' of the loads in rows, after that of all.
  void aim() {
    if (rows_.empty()) between.aim();
  }

  S* delta() const { return delta_; }  ///< (nv)

  /// Twist of a body by the solution.
  const spatial::Motion<S>& change(int b) const { return factor_.acceleration[b]; }

 private:
  template <class AddCouplings>
  void solve_coupled(Mask<S> left, const AddCouplings& add_couplings, Workspace<S> w) {
    auto& trees = between.trees;
    trees.factor(diagonal_, base_);
    if (trees.solve(rhs_, delta_)) return;
    trees.demand_factor(w);
    trees.begin(left);
    add_couplings();
    trees.factor(diagonal_, base_);
    trees.solve(rhs_, delta_);
  }

  /// Projects the solution onto K v = 0.
  void hold_rows() {
    auto& trees = between.trees;
    rows_.factor([&](const S* b, S* x) {
      factor_.apply_inverse(b, x, [this] { between.correct(false); });
      if (trees.empty()) return;
      trees.clear_forces();
      trees.solve(b, x);
    });
    rows_.project(delta_);
    factor_.spread(static_cast<const S*>(delta_));
  }

  LoadedFactor<S>& factor_;
  constraints::VelocityRows<S>& rows_;
  const S* base_ = nullptr;
  S *delta_, *rhs_, *diagonal_;
};

}  // namespace pysim::contact
