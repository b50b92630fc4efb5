// Products of the derivatives of constraint rows with cotangents.
//
//     Φ(q, x) = Σ m_k·(J x_k − r) + γ·g        q̄ += ∂Φ/∂δ of q ⊕ δ      x̄_k += Jᵀ m_k
//
// r are the rates of prescribed motions, or zero. The text of the rows is run once more with displacements
// and twists of a loop's bodies on a tape, each to first order on its own axes, so every kind of loop, joints
// of plugins and lengths by world among them, has its derivatives from there; sums over the tree are
// recursions (dynamics/rnea_product.hpp).
//
// Coordinates are the tree's; those of mimic joints follow the others in q and x. Rows of couplings, which
// the user's coordinates have, are differentiated by the coordinates that other joints mimic.
#pragma once

#include "constraints/constraint_rows.hpp"
#include "constraints/couplings.hpp"
#include "dynamics/rnea_product.hpp"
#include "tree/tape.hpp"

namespace pysim::constraints {

/// One sum m·(J x − r).
template <class S>
struct RowTerm {
  const S* x;    ///< (nv)
  const S* m;    ///< [rows]
  bool at_rate;  ///< whether r are the rates of prescribed motions
  S* x_bar;      ///< (nv) is added to; null for none
};

/// Some of them.
template <class S>
struct RowTerms {
  static constexpr int most = 2;

  RowTerm<S> term[most];
  int count;

  const RowTerm<S>* begin() const { return term; }
  const RowTerm<S>* end() const { return term + count; }
};

template <class S, bool differs>
class RowProduct {
 public:
  using R = simd::Reverse<S, differs>;

  /// `taped` is the model whose numbers may be on the tape.
  RowProduct(const ModelOf<S>& model, const ModelOf<R>& taped, simd::Tape<S>& tape)
      : model_(model), taped_(taped), tape_(tape) {}

  /// Adds to q̄ (nv) and x̄, and to the cotangents of numbers on the tape, at q, where `tree` is. φ are
  /// coordinates of loops' joints near those of q; `gamma` [rows] may be null.
  void add(const dynamics::TreeProduct<S>& tree,
           const S* q,
           const S* phi,
           S time,
           const RowTerms<S>& terms,
           const S* gamma,
           S* q_bar,
           Workspace<S> w) {
    const int edges = tape_.edges, nodes = tape_.nodes;
    Motion<S>* x[RowTerms<S>::most];
    Force<S>* x_bar[RowTerms<S>::most];
    int count = 0;
    for (const RowTerm<S>& term : terms) {
      x[count] = take<Motion<S>>(w, model_.bodies);
      x_bar[count] = take<Force<S>>(w, model_.bodies);
      tree.spread(term.x, x[count]);
      for (int b = 0; b < model_.bodies; ++b) x_bar[count][b] = spatial::zero_force<S>();
      ++count;
    }
    auto* const X_WB = take<Pose<S>>(w, model_.bodies);
    auto* const displaced = take<Force<S>>(w, model_.bodies);
    for (int b = 0; b < model_.bodies; ++b) displaced[b] = spatial::zero_force<S>();
    tree.poses(X_WB);
    for (int k = 0; k < model_.loops; ++k) {
      if (model_.loop[k].rows > 0) add_loop(k, X_WB, phi, time, terms, gamma, x, x_bar, displaced, w);
    }
    int n = 0;
    for (const RowTerm<S>& term : terms) {
      tree.gather(x[n], term.x, x_bar[n], q_bar, term.x_bar);
      ++n;
    }
    tree.gather_displacements(displaced, q_bar);
    for (const RowTerm<S>& term : terms) {
      if (model_.couplings > 0) add_couplings(q, time, &term, nullptr, q_bar, w);
    }
    if (model_.couplings > 0 && gamma != nullptr) add_couplings(q, time, nullptr, gamma, q_bar, w);
    has_room_ = has_room_ && !tape_.is_full();
    tape_.edges = edges;
    tape_.nodes = nodes;
  }

  /// Whether the tape had room for all rows so far.
  bool has_room() const { return has_room_; }

 private:
  /// Displacements or twists of the bodies a and b on the tape, null for the world.
  struct Ends {
    const R *a, *b;
  };

  Ends take_ends(const Loop& loop, const S* of_a, const S* of_b, Workspace<S>& w) {
    return {loop.a < 0 ? nullptr : inputs(of_a, w), loop.b < 0 ? nullptr : inputs(of_b, w)};
  }

  const R* inputs(const S* six, Workspace<S>& w) { return tree::take_inputs<S, differs>(six, 6, tape_, w); }

  static Motion<R> motion(const R* six) { return {{six[0], six[1], six[2]}, {six[3], six[4], six[5]}}; }

  static void add_to(const R* six, Force<S>& bar) {
    if (six == nullptr) return;
    S of[6];
    for (int i = 0; i < 6; ++i) of[i] = tree::take_cotangent(six[i]);
    bar += Force<S>{{of[0], of[1], of[2]}, {of[3], of[4], of[5]}};
  }

  /// X with a displacement on its axes, to first order.
  static Pose<R> displace(const Pose<S>& X, const R* by) {
    const R e(all<S>(1));
    const auto constant = [](const Vec3<S>& a) { return Vec3<R>{R(a.x), R(a.y), R(a.z)}; };
    const Mat3<R> axes = {constant(X.R.x), constant(X.R.y), constant(X.R.z)};
    return {axes * Mat3<R>{{e, by[5], -by[4]}, {-by[5], e, by[3]}, {by[4], -by[3], e}},
            constant(X.p) + axes * Vec3<R>{by[0], by[1], by[2]}};
  }

  void add_loop(int k,
                const Pose<S>* X_WB,
                const S* phi,
                S time,
                const RowTerms<S>& terms,
                const S* gamma,
                Motion<S>* const* x,
                Force<S>* const* x_bar,
                Force<S>* displaced,
                Workspace<S> w) {
    const Loop& loop = model_.loop[k];
    const int begin = tape_.edges;
    S zero[6];
    for (S& each : zero) each = all<S>(0);
    const Ends moved = take_ends(loop, zero, zero, w);
    const auto at_a = stored_pose<R>(taped_.loop_constants[k].at_a);
    const auto at_b = stored_pose<R>(taped_.loop_constants[k].at_b);
    Pose<R> X_a, X_b, X_WF;
    if (loop.a >= 0) X_a = displace(X_WB[loop.a], moved.a);
    if (loop.b >= 0) X_b = displace(X_WB[loop.b], moved.b);
    const auto relative = [&](const Motion<R>* V_a, const Motion<R>* V_b, S rate) {
      RelativeMotion<R> seen = relative_motion<R>(
          at_a, at_b, loop.a < 0 ? nullptr : &X_a, loop.b < 0 ? nullptr : &X_b, V_a, V_b, X_WF);
      Workspace<R> inner = {reinterpret_cast<R*>(w.next)};
      follow_drive(taped_, loop, Clock<R>{R(time), R(rate)}, seen, inner);
      return seen;
    };
    const LoopRows<R> rows = rows_of(k, relative(nullptr, nullptr, all<S>(0)), phi, w);
    for (int i = 0; gamma != nullptr && i < loop.rows; ++i) {
      tree::seed(rows.g[loop.independent[i]], gamma[loop.row + i]);
    }
    Ends rates[RowTerms<S>::most];
    int n = 0;
    for (const RowTerm<S>& term : terms) {
      S of_a[6], of_b[6];
      if (loop.a >= 0) write(x[n][loop.a], of_a);
      if (loop.b >= 0) write(x[n][loop.b], of_b);
      rates[n] = take_ends(loop, of_a, of_b, w);
      Motion<R> V_a, V_b;
      if (loop.a >= 0) V_a = motion(rates[n].a);
      if (loop.b >= 0) V_b = motion(rates[n].b);
      const RelativeMotion<R> seen =
          relative(loop.a < 0 ? nullptr : &V_a, loop.b < 0 ? nullptr : &V_b, all<S>(term.at_rate ? 1 : 0));
      for (int i = 0; i < loop.rows; ++i) {
        tree::seed(dot(seen.V, rows.W[loop.independent[i]]), term.m[loop.row + i]);
      }
      ++n;
    }
    tape_.pull(begin);
    if (loop.a >= 0) add_to(moved.a, displaced[loop.a]);
    if (loop.b >= 0) add_to(moved.b, displaced[loop.b]);
    for (int i = 0; i < n; ++i) {
      if (loop.a >= 0) add_to(rates[i].a, x_bar[i][loop.a]);
      if (loop.b >= 0) add_to(rates[i].b, x_bar[i][loop.b]);
    }
  }

  static void write(const Motion<S>& V, S (&six)[6]) {
    dynamics::store(V.v, six);
    dynamics::store(V.w, six + 3);
  }

  /// Rows of loop k on the tape, where φ follows.
  LoopRows<R> rows_of(int k, const RelativeMotion<R>& seen, const S* phi, Workspace<S> w) {
    Workspace<R> inner = {reinterpret_cast<R*>(w.next)};
    R* const fitted = take<R>(inner, model_.loop_nq());
    for (int i = 0; i < model_.loop_nq(); ++i) fitted[i] = R(phi[i]);
    if (model_.loop[k].kind == LoopKind::joint) fit(*taped_.closure, k, seen.X_AB, fitted, inner);
    LoopRows<R> rows;
    loop_rows(taped_, k, seen, fitted, rows, inner);
    return rows;
  }

  /// Fits φ on the tape. Derivatives come nearer to those of the fitted φ by the factor |e| in each step.
  static void fit(const ModelOf<R>& closure, int k, const Pose<R>& X_AB, R* phi, Workspace<R> w) {
    constexpr int steps = 4;
    const Joint& joint = closure.joint[k];
    if (joint.shape == tree::Shape::revolute) return;
    if (joint.shape == tree::Shape::helical) count_turns(closure, k, X_AB, phi);
    auto* const columns = take<Motion<R>>(w, closure.stored_columns);
    for (int n = 0; n < steps; ++n) {
      LoopFit<R> f;
      constraints::fit(closure, k, X_AB, static_cast<const R*>(phi), columns, f);
      R step[6], moved[7];
      fit_step(f, step);
      dynamics::retract<R>(joint.block, joint.blocks, phi + joint.q, step, moved);
      for (int i = 0; i < joint.nq; ++i) phi[joint.q + i] = moved[i];
    }
  }

  /// Rows of couplings, of the velocities of a term, null for none, or of the residuals.
  void add_couplings(const S* q, S time, const RowTerm<S>* term, const S* gamma, S* q_bar, Workspace<S> w) {
    const int begin = tape_.edges;
    const S* const m = term == nullptr ? gamma : term->m;
    const UsersPlaces places = users_places(w);
    S *const users_q = take<S>(w, model_.reduced_nq), *const users_x = take<S>(w, model_.reduced_nv);
    for (int i = 0; i < model_.reduced_nq; ++i) users_q[i] = q[places.q[i]];
    for (int i = 0; i < model_.reduced_nv; ++i) {
      users_x[i] = term == nullptr ? all<S>(0) : term->x[places.v[i]];
    }
    const R* const at = tree::take_inputs<S, differs>(users_q, model_.reduced_nq, tape_, w);
    const R* const rate = tree::take_inputs<S, differs>(users_x, model_.reduced_nv, tape_, w);
    Workspace<R> inner = {reinterpret_cast<R*>(w.next)};
    const Rows<R> rows = take_rows<R>(taped_, false, inner);
    const bool moves = term != nullptr && term->at_rate;
    evaluate_couplings<R>(
        taped_, Clock<R>{R(time), R(all<S>(moves ? 1 : 0))}, at, rate, nullptr, rows, inner);
    for (int k = 0; k < model_.couplings; ++k) {
      const int row = model_.coupling[k].row;
      tree::seed(term == nullptr ? rows.g[row] : rows.gd[row], m[row]);
    }
    tape_.pull(begin);
    for (int k = 0; k < model_.couplings; ++k) {
      const auto& coupling = model_.coupling[k];
      const auto take_of = [&](int first, int count) {
        for (int i = first; i < first + count; ++i) {
          q_bar[places.v[model_.term[i].v]] += tree::take_cotangent(at[model_.term[i].q]);
        }
      };
      take_of(coupling.first_term, coupling.terms);
      take_of(coupling.first_input, coupling.inputs);
    }
    for (int i = 0; term != nullptr && i < model_.reduced_nv; ++i) {
      const S bar = tree::take_cotangent(rate[i]);
      if (term->x_bar != nullptr) term->x_bar[places.v[i]] += bar;
    }
  }

  /// Places of the user's coordinates among the tree's.
  struct UsersPlaces {
    int *q, *v;
  };

  UsersPlaces users_places(Workspace<S>& w) const {
    const UsersPlaces at = {take<int>(w, model_.reduced_nq), take<int>(w, model_.reduced_nv)};
    for (int b = 0; b < model_.bodies; ++b) {
      const Joint& joint = model_.joint[b];
      for (int i = 0; joint.reduced_v >= 0 && i < joint.nq; ++i) at.q[joint.reduced_q + i] = joint.q + i;
      for (int i = 0; joint.reduced_v >= 0 && i < joint.nv; ++i) at.v[joint.reduced_v + i] = joint.v + i;
    }
    return at;
  }

  const ModelOf<S>& model_;
  const ModelOf<R>& taped_;
  simd::Tape<S>& tape_;
  bool has_room_ = true;
};

}  // namespace pysim::constraints
