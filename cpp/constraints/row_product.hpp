// Products of the derivatives of constraint rows with cotangents.
//
//     Φ(q, x) = Σ m_k·(J x_k − r) + γ·g + m·g̈        q̄ += ∂Φ/∂δ of q ⊕ δ      x̄_k += Jᵀ m_k
//
// r are the rates of prescribed motions, or zero. The text of the rows is run once more with displacements,
// twists and accelerations of a loop's bodies on a tape, each to first order on its own axes, so every kind
// of loop, joints of plugins and lengths by world among them, has its derivatives from there; sums over the
// tree are recursions (dynamics/rnea_product.hpp).
//
// Coordinates are the tree's; those of mimic joints follow the others in q and x. Rows of couplings, which
// the user's coordinates have, are differentiated by the coordinates that other joints mimic.
#pragma once

#include "constraints/constraint_rows.hpp"
#include "constraints/couplings.hpp"
#include "constraints/loop_motion.hpp"
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

/// One sum m·g̈,  g̈ = J v̇ + bias(q, v).
template <class S>
struct RowAccelerations {
  const S *v, *a;          ///< (nv)
  const S* m;              ///< [rows]
  const Motion<S>*V, *A;   ///< [bodies] that they give, at rest −g
  Force<S>*V_bar, *A_bar;  ///< [bodies] are added to
  S *v_bar, *a_bar;        ///< (nv) are added to by rows of couplings
};

template <class S, bool differs>
class RowProduct {
 public:
  using R = simd::Reverse<S, differs>;

  /// `taped` is the model whose numbers may be on the tape.
  RowProduct(const ModelOf<S>& model, const ModelOf<R>& taped, simd::Tape<S>& tape)
      : model_(model), taped_(taped), tape_(tape) {}

  /// Adds to q̄ (nv) and x̄, and to the cotangents of numbers on the tape, at q, where `tree` is. φ are
  /// coordinates of loops' joints near those of q; `gamma` [rows] and `accelerations` may be null.
  void add(const dynamics::TreeProduct<S>& tree,
           const S* q,
           const S* phi,
           S time,
           const RowTerms<S>& terms,
           const S* gamma,
           S* q_bar,
           Workspace<S> w,
           const RowAccelerations<S>* accelerations = nullptr) {
    const int edges = tape_.edges, nodes = tape_.nodes;
    Sums sums = {time, phi, terms, gamma, accelerations};
    for (int n = 0; n < terms.count; ++n) {
      sums.x[n] = take<Motion<S>>(w, model_.bodies);
      sums.x_bar[n] = take<Force<S>>(w, model_.bodies);
      tree.spread(terms.term[n].x, sums.x[n]);
      for (int b = 0; b < model_.bodies; ++b) sums.x_bar[n][b] = spatial::zero_force<S>();
    }
    sums.X_WB = take<Pose<S>>(w, model_.bodies);
    sums.displaced = take<Force<S>>(w, model_.bodies);
    for (int b = 0; b < model_.bodies; ++b) sums.displaced[b] = spatial::zero_force<S>();
    tree.poses(sums.X_WB);
    for (int k = 0; k < model_.loops; ++k) {
      if (model_.loop[k].rows > 0) add_loop(k, sums, w);
    }
    for (int n = 0; n < terms.count; ++n) {
      const RowTerm<S>& term = terms.term[n];
      tree.gather(sums.x[n], term.x, sums.x_bar[n], q_bar, term.x_bar);
    }
    tree.gather_displacements(sums.displaced, q_bar);
    if (model_.couplings > 0) {
      for (const RowTerm<S>& term : terms) {
        const auto rate = all<S>(term.at_rate ? 1 : 0);
        add_couplings(q, time, {&Rows<R>::gd, term.m, rate, term.x, nullptr, term.x_bar, nullptr}, q_bar, w);
      }
      if (gamma != nullptr) add_couplings(q, time, {&Rows<R>::g, gamma}, q_bar, w);
      if (accelerations != nullptr) {
        const auto& of = *accelerations;
        add_couplings(q, time, {&Rows<R>::gdd, of.m, all<S>(1), of.v, of.a, of.v_bar, of.a_bar}, q_bar, w);
      }
    }
    has_room_ = has_room_ && !tape_.is_full();
    tape_.edges = edges;
    tape_.nodes = nodes;
  }

  /// Adds the wrenches Σ λ W of all loops to those on the bodies, at poses X_WB, all of them on the tape.
  void add_wrenches(const Pose<R>* X_WB,
                    S time,
                    const S* phi,
                    const R* lambda,
                    Force<R>* sum,
                    const Workspace<S>& w) const {
    for (int k = 0; k < model_.loops; ++k) {
      const Loop& loop = model_.loop[k];
      if (loop.rows == 0) continue;
      Placed on;
      on.at_a = stored_pose<R>(taped_.loop_constants[k].at_a);
      on.at_b = stored_pose<R>(taped_.loop_constants[k].at_b);
      if (loop.a >= 0) on.X_a = X_WB[loop.a];
      if (loop.b >= 0) on.X_b = X_WB[loop.b];
      const auto seen = relative(k, on, Clock<R>{R(time), R(all<S>(0))}, {}, nullptr, w);
      const LoopRows<R> rows = rows_of(k, seen, phi, w);
      const LoopFrame<R> at = loop_frame<R>(taped_, k, X_WB);
      for (int i = 0; i < loop.rows; ++i) {
        const Force<R> F = lambda[loop.row + i] * rows.W[loop.independent[i]];
        if (loop.a >= 0) sum[loop.a] = sum[loop.a] - to_parent(at.X_aB, F);
        if (loop.b >= 0) sum[loop.b] += to_parent(at.X_bB, F);
      }
    }
  }

  /// Whether the tape had room for all rows so far.
  bool has_room() const { return has_room_; }

 private:
  /// What is summed over the rows of loops, at poses X_WB of the bodies.
  struct Sums {
    S time;
    const S* phi;
    const RowTerms<S>& terms;
    const S* gamma;
    const RowAccelerations<S>* accelerations;
    Motion<S>* x[RowTerms<S>::most] = {};     ///< twists of the terms
    Force<S>* x_bar[RowTerms<S>::most] = {};  ///< their cotangents
    Pose<S>* X_WB = nullptr;
    Force<S>* displaced = nullptr;  ///< cotangents of displacements
  };

  /// Displacements, twists or accelerations of the bodies a and b on the tape, null for the world.
  struct Ends {
    const R *a = nullptr, *b = nullptr;
  };

  /// Bodies and frames of a loop on the tape.
  struct Placed {
    Ends moved;
    Pose<R> at_a, at_b, X_a, X_b;
  };

  Ends take_ends(const Loop& loop, const S* of_a, const S* of_b, Workspace<S>& w) {
    return {loop.a < 0 ? nullptr : inputs(of_a, w), loop.b < 0 ? nullptr : inputs(of_b, w)};
  }

  /// Of x [bodies].
  Ends take_ends(const Loop& loop, const Motion<S>* x, Workspace<S>& w) {
    S of_a[6], of_b[6];
    if (loop.a >= 0) write(x[loop.a], of_a);
    if (loop.b >= 0) write(x[loop.b], of_b);
    return take_ends(loop, of_a, of_b, w);
  }

  const R* inputs(const S* six, Workspace<S>& w) { return tree::take_inputs<S, differs>(six, 6, tape_, w); }

  static Motion<R> motion(const R* six) { return {{six[0], six[1], six[2]}, {six[3], six[4], six[5]}}; }

  static void add_to(const R* six, Force<S>& bar) {
    if (six == nullptr) return;
    S of[6];
    for (int i = 0; i < 6; ++i) of[i] = tree::take_cotangent(six[i]);
    bar += Force<S>{{of[0], of[1], of[2]}, {of[3], of[4], of[5]}};
  }

  static void add_to(const Loop& loop, const Ends& ends, Force<S>* bar) {
    if (loop.a >= 0) add_to(ends.a, bar[loop.a]);
    if (loop.b >= 0) add_to(ends.b, bar[loop.b]);
  }

  /// X with a displacement on its axes, to first order.
  static Pose<R> displace(const Pose<S>& X, const R* by) {
    const R e(all<S>(1));
    const auto constant = [](const Vec3<S>& a) { return Vec3<R>{R(a.x), R(a.y), R(a.z)}; };
    const Mat3<R> axes = {constant(X.R.x), constant(X.R.y), constant(X.R.z)};
    return {axes * Mat3<R>{{e, by[5], -by[4]}, {-by[5], e, by[3]}, {by[4], -by[3], e}},
            constant(X.p) + axes * Vec3<R>{by[0], by[1], by[2]}};
  }

  Placed place(int k, const Pose<S>* X_WB, Workspace<S>& w) {
    const Loop& loop = model_.loop[k];
    S zero[6];
    for (S& each : zero) each = all<S>(0);
    Placed on;
    on.moved = take_ends(loop, zero, zero, w);
    on.at_a = stored_pose<R>(taped_.loop_constants[k].at_a);
    on.at_b = stored_pose<R>(taped_.loop_constants[k].at_b);
    if (loop.a >= 0) on.X_a = displace(X_WB[loop.a], on.moved.a);
    if (loop.b >= 0) on.X_b = displace(X_WB[loop.b], on.moved.b);
    return on;
  }

  /// Motion of frame B relative to frame A, of `rate` times that of prescribed motions. Accelerations, null
  /// for none, are those of bodies that move.
  RelativeMotion<R> relative(int k,
                             const Placed& on,
                             const Clock<R>& clock,
                             const Ends& twists,
                             const Ends* accelerations,
                             const Workspace<S>& w) const {
    const Loop& loop = model_.loop[k];
    Motion<R> V_a, V_b;
    Pose<R> X_WF;
    if (twists.a != nullptr) V_a = motion(twists.a);
    if (twists.b != nullptr) V_b = motion(twists.b);
    const Motion<R>* const at_b = twists.b == nullptr ? nullptr : &V_b;
    RelativeMotion<R> seen = relative_motion<R>(on.at_a,
                                                on.at_b,
                                                loop.a < 0 ? nullptr : &on.X_a,
                                                loop.b < 0 ? nullptr : &on.X_b,
                                                twists.a == nullptr ? nullptr : &V_a,
                                                at_b,
                                                X_WF);
    if (accelerations != nullptr) {
      const Motion<R> rest = dynamics::minus_gravity<R>(taped_);
      set_acceleration<R>(on.at_a,
                          on.at_b,
                          at_b,
                          loop.a < 0 ? rest : motion(accelerations->a),
                          loop.b < 0 ? rest : motion(accelerations->b),
                          seen);
    }
    Workspace<R> inner = {reinterpret_cast<R*>(w.next)};
    follow_drive(taped_, loop, clock, seen, inner);
    return seen;
  }

  void add_loop(int k, const Sums& sums, Workspace<S> w) {
    const Loop& loop = model_.loop[k];
    const int begin = tape_.edges;
    const Placed on = place(k, sums.X_WB, w);
    const auto clock = [&](bool moves) { return Clock<R>{R(sums.time), R(all<S>(moves ? 1 : 0))}; };
    const auto* const acceleration = sums.accelerations;
    Ends twists, rates;
    if (acceleration != nullptr) {
      twists = take_ends(loop, acceleration->V, w);
      rates = take_ends(loop, acceleration->A, w);
    }
    const RelativeMotion<R> moving = relative(
        k, on, clock(acceleration != nullptr), twists, acceleration == nullptr ? nullptr : &rates, w);
    const LoopRows<R> rows = rows_of(k, moving, sums.phi, w);
    for (int i = 0; i < loop.rows; ++i) {
      const int column = loop.independent[i], row = loop.row + i;
      if (sums.gamma != nullptr) tree::seed(rows.g[column], sums.gamma[row]);
      if (acceleration == nullptr) continue;
      tree::seed(dot(moving.A, rows.W[column]) + rows.bias[column], acceleration->m[row]);
    }
    Ends of_terms[RowTerms<S>::most];
    for (int n = 0; n < sums.terms.count; ++n) {
      const RowTerm<S>& term = sums.terms.term[n];
      of_terms[n] = take_ends(loop, sums.x[n], w);
      const RelativeMotion<R> seen = relative(k, on, clock(term.at_rate), of_terms[n], nullptr, w);
      for (int i = 0; i < loop.rows; ++i) {
        tree::seed(dot(seen.V, rows.W[loop.independent[i]]), term.m[loop.row + i]);
      }
    }
    tape_.pull(begin);
    add_to(loop, on.moved, sums.displaced);
    for (int n = 0; n < sums.terms.count; ++n) add_to(loop, of_terms[n], sums.x_bar[n]);
    if (acceleration == nullptr) return;
    add_to(loop, twists, acceleration->V_bar);
    add_to(loop, rates, acceleration->A_bar);
  }

  static void write(const Motion<S>& V, S (&six)[6]) {
    dynamics::store(V.v, six);
    dynamics::store(V.w, six + 3);
  }

  /// Rows of loop k on the tape, where φ follows.
  LoopRows<R> rows_of(int k, const RelativeMotion<R>& seen, const S* phi, Workspace<S> w) const {
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

  /// m times a number of the rows of couplings, at velocities x and accelerations a (nv); null for zero, and
  /// for cotangents that are not needed.
  struct CouplingSum {
    R* Rows<R>::* number;
    const S* m;
    S rate = all<S>(0);  ///< of prescribed motions
    const S *x = nullptr, *a = nullptr;
    S *x_bar = nullptr, *a_bar = nullptr;
  };

  void add_couplings(const S* q, S time, const CouplingSum& sum, S* q_bar, Workspace<S> w) {
    const int begin = tape_.edges;
    const UsersPlaces places = users_places(w);
    const auto users = [&](const S* x) {
      S* const to = take<S>(w, model_.reduced_nv);
      for (int i = 0; i < model_.reduced_nv; ++i) to[i] = x == nullptr ? all<S>(0) : x[places.v[i]];
      return tree::take_inputs<S, differs>(to, model_.reduced_nv, tape_, w);
    };
    S* const users_q = take<S>(w, model_.reduced_nq);
    for (int i = 0; i < model_.reduced_nq; ++i) users_q[i] = q[places.q[i]];
    const R* const at = tree::take_inputs<S, differs>(users_q, model_.reduced_nq, tape_, w);
    const R *const x = users(sum.x), *const a = users(sum.a);
    Workspace<R> inner = {reinterpret_cast<R*>(w.next)};
    const Rows<R> rows = take_rows<R>(taped_, true, inner);
    evaluate_couplings<R>(taped_, Clock<R>{R(time), R(sum.rate)}, at, x, a, rows, inner);
    for (int k = 0; k < model_.couplings; ++k) {
      const int row = model_.coupling[k].row;
      tree::seed((rows.*sum.number)[row], sum.m[row]);
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
    for (int i = 0; i < model_.reduced_nv; ++i) {
      const S of_x = tree::take_cotangent(x[i]), of_a = tree::take_cotangent(a[i]);
      if (sum.x_bar != nullptr) sum.x_bar[places.v[i]] += of_x;
      if (sum.a_bar != nullptr) sum.a_bar[places.v[i]] += of_a;
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
