// Derivatives of a convex step as matrices: of the state at its end by that at its start, and by inputs.
//
//     H v̇₁ = A v̇* − Ȧ (v₁ − v*) + (Σ Jᵀγ)˙ at v₁        H = A + Σ JᵀGJ at the solution, factored once
//     A v̇* = h τ̇ − h (RNEA(q₀, v₀, a))˙ + A v̇₀ + …       a = (v* − v₀)/h, ∂RNEA of rnea_derivatives.hpp
//
// A dot is a derivative by a column: q₀ along δ, v₀, what contacts and dry friction remember, states of
// elements, inputs. Ȧ and Jᵀ, as they vary with the pose, are part of inverse dynamics with the accelerations
// and wrenches of the impulses. All that is local has one text with product.hpp: rows of the tape, of the
// velocity terms, and of pairs of bodies (contact_derivatives.hpp).
//
// Radii of friction that were renewed are numbers of their own, which follow from the pass before.
//
// Matrices are those of the tree's coordinates until the end. With mimic joints, x_tree = E x:
//
//     v̇₁ = E (EᵀHE)⁻¹ Eᵀ (…)
#pragma once

#include "stepping/convex/chain_rows.hpp"
#include "stepping/convex/contact_derivatives.hpp"
#include "stepping/velocity_terms_derivatives.hpp"

namespace pysim::stepping {

template <class S>
class ConvexStepDerivatives {
 public:
  /// Of a step that `product` has made.
  ConvexStepDerivatives(ConvexStepProduct<S>& product, const StateList& list, Workspace<S>& w)
      : of_(product),
        model_(product.model_),
        contacts_(product.contacts_),
        list_(list),
        nv_(product.model_.nv),
        h_(product.h_),
        at_(list, nv_, contacts_.turning_points),
        rows_(at_.states),
        columns_(at_.all),
        memory_(contact_columns(w)),
        moves_(product.rounds_.count > 0),
        chain_(product.tape_, nv_, columns_, moves_, contacts_.points, w),
        contact_(product.contact_,
                 model_,
                 {memory_.point, memory_.turning},
                 columns_,
                 product.start_v_,
                 product.free().shift,
                 product.velocity_,
                 w),
        torque_(nv_, w),
        at_start_(nv_, w),
        factor_(model_.reduced_nv, w),
        A_factor_(nv_, w),
        w_(w) {
    shift_ = zeros(moves_ ? nv_ * columns_ : 0);
    A_ = take<S>(w_, nv_ * nv_);
    entries_ = zeros(nv_ * nv_);
    number_inputs();
  }

  /// Writes the derivatives (rows, columns) of the user's coordinates. Returns whether the tape had room.
  bool evaluate(S* to) {
    if (!model_.mimic) return evaluate_tree(to);
    S* const of_tree = take<S>(w_, std::ptrdiff_t{rows_} * columns_);
    const bool has_room = evaluate_tree(of_tree);
    reduce(of_tree, to);
    return has_room;
  }

 private:
  using Chain = ChainRows<S>;

  /// Those of the tree's coordinates.
  bool evaluate_tree(S* to) {
    has_room_ = true;
    first_ = radius_ = nullptr;
    add_entries();
    if (any(of_.renewal_.worlds)) {
      first_ = zeros(nv_ * columns_);
      solve_pass(1, first_);
      radius_ = zeros(contact_.count() * columns_);
      for (int n = 0; n < contact_.count(); ++n) add_radius(n);
    }
    solve_pass(0, chain_.of(Chain::v1));
    for (int i = 0; i < rows_ * columns_; ++i) to[i] = all<S>(0);
    add_coordinates_end(to);
    add_memory(to + at_.points * columns_);
    return has_room_;
  }

  /// Leaves out rows of mimic joints, and adds their columns to those of the joints that they mimic.
  void reduce(const S* from, S* to) const {
    const int users = model_.reduced_nv, fewer = 2 * (nv_ - users), columns = columns_ - fewer;
    const auto put = [&](const S* row, S* own) {
      for (int c = 0; c < columns; ++c) own[c] = all<S>(0);
      for (int i = 0; i < nv_; ++i) {
        const auto& mimic = model_.mimic_v[i];
        for (const int half : {0, 1}) {
          S& sum = own[half * users + mimic.reduced];
          sum = fma(all<S>(mimic.ratio), row[half * nv_ + i], sum);
        }
      }
      for (int c = 2 * users; c < columns; ++c) own[c] = row[c + fewer];
    };
    of_.each_users_joint([&](const tree::Joint& joint) {
      for (int i = 0; i < joint.nv; ++i) {
        for (const int half : {0, 1}) {
          put(from + (half * nv_ + joint.v + i) * columns_,
              to + (half * users + joint.reduced_v + i) * columns);
        }
      }
    });
    for (int r = 2 * nv_; r < rows_; ++r) put(from + r * columns_, to + (r - fewer) * columns);
  }

  struct MemoryColumns {
    int *point, *turning;
  };

  S* zeros(int count) {
    S* const x = take<S>(w_, count);
    for (int i = 0; i < count; ++i) x[i] = all<S>(0);
    return x;
  }

  MemoryColumns contact_columns(Workspace<S>& w) const {
    const MemoryColumns to = {take<int>(w, contacts_.points), take<int>(w, contacts_.turning_points)};
    for (int k = 0; k < contacts_.points; ++k) to.point[k] = -1;
    for (int k = 0; k < list_.point_count; ++k) to.point[list_.points[k]] = at_.points + 3 * k;
    for (int k = 0; k < contacts_.turning_points; ++k) to.turning[k] = at_.turnings + 3 * k;
    return to;
  }

  void number_inputs() {
    chain_.set_columns(of_.dq_, nv_, 0);
    chain_.set_columns(of_.v_, nv_, nv_);
    for (int k = 0; k < list_.state_count + list_.input_count; ++k) {
      chain_.set_columns(of_.number_ + list_.numbers[k], 1, at_.numbers + k);
    }
    chain_.set_rows(of_.v1_, nv_, Chain::v1);
    if (!moves_) return;
    chain_.set_rows(of_.before_, nv_, Chain::before);
    chain_.set_rows(of_.rate_, nv_, Chain::rate);
    chain_.set_rows(of_.rate_change_, nv_, Chain::change);
    chain_.set_rows(of_.share_, 1, Chain::share);
  }

  /// What A has beside M, (nv, nv).
  void add_entries() {
    const S* const base = of_.free().base;
    for (int i = 0; i < nv_; ++i) entries_[i * nv_ + i] = base[i];
    dynamics::each_entry_beside_diagonal(
        model_, [&](int i, int j, int at) { entries_[i * nv_ + j] = entries_[j * nv_ + i] = base[at]; });
  }

  /// X −= Ė x, of what A has beside M.
  void subtract_entries(const S* x, S* X) {
    const auto subtract = [&](int at, int i, S by) { chain_.add(of_.base_[at], -by, X + i * columns_); };
    for (int i = 0; i < nv_; ++i) subtract(i, i, x[i]);
    dynamics::each_entry_beside_diagonal(model_, [&](int i, int j, int at) {
      subtract(at, i, x[j]);
      subtract(at, j, x[i]);
    });
  }

  template <class Visit>
  void each_joint(bool single, const Visit& visit) const {
    for (int b = 0; b < model_.bodies; ++b) {
      if (contacts_.single[b] == single) visit(model_.joint[b]);
    }
  }

  /// Adds A of the trees in the columns of v₀, and h τ̇.
  void add_start(S* to) {
    each_joint(false, [&](const tree::Joint& joint) {
      for (int i = joint.v; i < joint.v + joint.nv; ++i) {
        chain_.add(of_.tau_[i], h_, to + i * columns_);
        for (int k = 0; k < nv_; ++k) to[i * columns_ + nv_ + k] += A_[i * nv_ + k];
      }
    });
  }

  /// Subtracts h times the derivatives of inverse dynamics, by trees.
  void subtract_torque(const dynamics::TorqueMatrices<S>& torque, S* to) const {
    each_joint(false, [&](const tree::Joint& joint) {
      for (int i = joint.v; i < joint.v + joint.nv; ++i) {
        S *const q = to + i * columns_, *const v = q + nv_;
        for (int k = 0; k < nv_; ++k) {
          q[k] = fnma(h_, torque.q[i * nv_ + k], q[k]);
          v[k] = fnma(h_, torque.v[i * nv_ + k], v[k]);
        }
      }
    });
  }

  /// Accelerations of the trees to v* before velocity terms.
  void accelerations(S* a) const {
    for (int i = 0; i < nv_; ++i) a[i] = all<S>(0);
    each_joint(false, [&](const tree::Joint& joint) {
      for (int i = joint.v; i < joint.v + joint.nv; ++i) {
        a[i] = (of_.rounds_.before[i] - of_.start_v_[i]) / h_;
      }
    });
  }

  /// Places coordinates and A, once; leaves A v̇* in `drift_`, but for the forces that make a_, the part of
  /// the accelerations of a pass that is not in it.
  void begin(const RneaDerivatives<S>& d) {
    contact_.place(d, moves_, first_ == nullptr ? 1 : 2);
    if (drift_ != nullptr) return;
    for (int i = 0; i < nv_ * nv_; ++i) A_[i] = torque_.a[i] + entries_[i];
    drift_ = zeros(nv_ * columns_);
    if (moves_) {
      add_velocity_terms();
      add_moving_drift();
    } else {
      add_start(drift_);
      for (int b = 0; b < model_.bodies; ++b) {
        const tree::Joint& joint = model_.joint[b];
        if (!contacts_.single[b] && joint.shape != tree::Shape::free) continue;
        for (int i = joint.v; i < joint.v + joint.nv; ++i) add_drift(i);
      }
    }
  }

  /// Adds A times the derivative of coordinate i of v*, but for what follows from v* before velocity terms.
  void add_drift(int i) {
    const Workspace<S> mark = w_;
    S* const row = zeros(columns_);
    const S o = all<S>(0);
    chain_.add(of_.free_[i], all<S>(1), row);
    int begin = 0, end = columns_;
    while (begin < end && all(row[begin] == o)) ++begin;
    while (begin < end && all(row[end - 1] == o)) --end;
    for (int k = 0; k < nv_; ++k) {
      const S share = A_[k * nv_ + i];
      S* const to = drift_ + k * columns_;
      for (int c = begin; c < end; ++c) to[c] = fma(share, row[c], to[c]);
    }
    w_ = mark;
  }

  /// Adds A v̇*, and derivatives of shifts.
  void add_moving_drift() {
    S* const minus = zeros(nv_ * columns_);
    for (int i = 0; i < nv_; ++i) {
      chain_.add(of_.free_[i], all<S>(-1), minus + i * columns_);
      chain_.add(of_.shift_[i], all<S>(1), shift_ + i * columns_);
    }
    A_factor_.subtract_product(A_, minus, columns_, drift_);
  }

  /// Derivatives of v* before velocity terms, of these, and of shifts. Leaves those of inverse dynamics
  /// without impulses.
  void add_velocity_terms() {
    Workspace<S>& w = w_;
    S *const a = take<S>(w, nv_), *const x = take<S>(w, nv_);
    accelerations(a);
    S* const L = take<S>(w, nv_ * nv_);
    Workspace<S> inner = w;
    at_start_.evaluate(model_, of_.start_q_, of_.start_v_, static_cast<const S*>(a), nullptr, inner);
    simd::copy_each<S>(static_cast<const S*>(A_), nv_ * nv_, L);
    A_factor_.mark_branches(model_);
    A_factor_.factor(L);
    S* const before = chain_.of(Chain::before);
    for (int i = 0; i < nv_ * columns_; ++i) before[i] = all<S>(0);
    add_start(before);
    subtract_torque(at_start_, before);
    for (int i = 0; i < nv_; ++i) x[i] = h_ * a[i];
    subtract_entries(x, before);
    A_factor_.solve(before, columns_);
    VelocityTermsDerivatives<S> terms(
        of_.rounds_, of_.matrix(), A_factor_, of_.tree_, contacts_.single, entries_, h_, inner);
    terms.evaluate(
        of_.start_q_,
        of_.start_v_,
        {columns_, before, chain_.of(Chain::rate), chain_.of(Chain::change), chain_.of(Chain::share)},
        [this](const S* by, S* X) { subtract_entries(by, X); });
    const auto moving = of_.rounds_.share > all<S>(0);
    for (const auto kind : {Chain::rate, Chain::change, Chain::share}) {
      S* const rows = chain_.of(kind);
      for (int i = 0; i < (kind == Chain::share ? 1 : nv_) * columns_; ++i) {
        rows[i] = select(moving, rows[i], all<S>(0));
      }
    }
  }

  /// Derivatives (nv, columns) of the solution of a pass.
  void solve_pass(int pass, S* to) {
    of_.evaluate(pass);
    S* const a = take<S>(w_, nv_);
    auto* const wrench = take<Force<S>>(w_, model_.bodies);
    accelerations(a);
    const S per_step = all<S>(1) / h_;
    const S* const change = of_.change_[pass];
    for (int b = 0; b < model_.bodies; ++b) wrench[b] = spatial::zero_force<S>();
    of_.contact_.add_impulses(wrench);
    for (int b = 0; b < model_.bodies; ++b) {
      wrench[b] = contacts_.single[b] ? spatial::zero_force<S>() : per_step * wrench[b];
    }
    for (int i = 0; i < nv_; ++i) a[i] = fma(per_step, change[i], a[i]);
    const auto d = torque_.evaluate(model_, of_.start_q_, of_.start_v_, static_cast<const S*>(a), wrench, w_);
    begin(d);
    simd::copy_each<S>(static_cast<const S*>(drift_), nv_ * columns_, to);
    subtract_torque(torque_, to);
    if (moves_) {
      for (int i = 0; i < nv_ * nv_; ++i) {
        torque_.q[i] = -at_start_.q[i];
        torque_.v[i] = -at_start_.v[i];
      }
      subtract_torque(torque_, to);
    }
    for (int i = 0; i < nv_; ++i) a[i] = moves_ ? change[i] : h_ * a[i];
    subtract_entries(a, to);
    add_impulses(pass, to);
  }

  /// Adds the derivatives of impulses, and solves for those of the velocity.
  void add_impulses(int pass, S* to) {
    S *const H = zeros(nv_ * nv_), *const now = zeros(nv_ * nv_), *const by_shift = zeros(nv_ * nv_);
    const bool by_radii = pass == 0 && radius_ != nullptr;
    S* const by_radius = by_radii ? zeros(nv_ * contact_.count()) : nullptr;
    has_room_ &= contact_.add_forces(pass, *of_.start_, {to, by_shift, now, by_radius}, w_);
    add_laws(to, by_shift, now);
    for (int i = 0; i < nv_ * nv_; ++i) H[i] = A_[i] - now[i];
    for (int i = 0; i < nv_; ++i) {
      S* const row = to + i * columns_;
      if (moves_) chain_.add_multiples(by_shift + i * nv_, nv_, shift_, row);
      if (by_radii) chain_.add_multiples(by_radius + i * contact_.count(), contact_.count(), radius_, row);
    }
    if (model_.mimic) return solve_reduced(H, to);
    factor_.mark_branches(model_);
    contact_.each_pair([this](int b, int a) {
      if (a >= 0) mark_pair(b, a);
    });
    factor_.factor(H);
    factor_.solve(to, columns_);
  }

  /// X ← E (EᵀHE)⁻¹Eᵀ X.
  void solve_reduced(S* H, S* X) {
    const int users = model_.reduced_nv;
    S *const reduced = tree::reduced_inertia(model_, H, w_), *const Y = zeros(users * columns_);
    for (int i = 0; i < nv_; ++i) {
      const auto& mimic = model_.mimic_v[i];
      chain_.add_multiple(all<S>(mimic.ratio), X + i * columns_, Y + mimic.reduced * columns_);
    }
    for (int i = 0; i < users; ++i) {
      for (int j = 0; j <= i; ++j) factor_.mark(i, j);
    }
    factor_.factor(reduced);
    factor_.solve(Y, columns_);
    for (int i = 0; i < nv_; ++i) {
      const auto& mimic = model_.mimic_v[i];
      const S ratio = all<S>(mimic.ratio);
      for (int c = 0; c < columns_; ++c) X[i * columns_ + c] = ratio * Y[mimic.reduced * columns_ + c];
    }
  }

  void mark_pair(int b, int a) {
    for (int c = b; c >= 0; c = model_.joint[c].parent) {
      for (int d = a; d >= 0; d = model_.joint[d].parent) {
        for (int i = 0; i < model_.joint[c].nv; ++i) {
          for (int k = 0; k < model_.joint[d].nv; ++k)
            factor_.mark(model_.joint[c].v + i, model_.joint[d].v + k);
        }
      }
    }
  }

  /// Adds derivatives of stops, dry friction and bounded forces, whose impulses have been made.
  void add_laws(S* to, S* by_shift, S* now) {
    const auto& kinds = of_.kinds();
    const S e = all<S>(1);
    for (int k = 0; k < contacts_.coordinates; ++k) {
      const auto& C = kinds.coordinates.coordinate[k];
      const auto& law = contacts_.coordinate[k];
      const int i = law.v, diagonal = i * nv_ + i;
      now[diagonal] -= C.impulse.slope;
      constraints::CoordinateCotangents<S> by = {};
      constraints::coordinate_impulse_product<S>(law, C.at, h_, C.now, e, by);
      const S position = by.above - by.below;
      by_shift[diagonal] += by.s + position;
      to[i * columns_ + i] += position;
      if (const int column = coordinate_column(k); column >= 0) to[i * columns_ + column] += by.s;
    }
    for (int n = 0; n < of_.bounded_count_; ++n) {
      const auto& B = kinds.bounded.bounded[n];
      const auto& own = of_.bounded_[n];
      now[own.v * nv_ + own.v] -= B.impulse.slope;
      contact::BoundedForce<S> by = {};
      contact::bounded_impulse_product<S>(B.law, h_, B.now, e, by);
      chain_.seed(own.a, by.a), chain_.seed(own.c, by.c), chain_.seed(own.lower, by.lower);
      chain_.seed(own.upper, by.upper), chain_.seed(own.constant, by.constant),
          chain_.seed(own.share, by.share);
      chain_.add_seeded(e, to + own.v * columns_);
    }
  }

  /// −1 if its deflection is no state.
  int coordinate_column(int k) const {
    for (int n = 0; n < list_.coordinate_count; ++n) {
      if (list_.coordinates[n] == k) return at_.coordinates + n;
    }
    return -1;
  }

  /// The row of a number of contacts by what has no column of its own.
  ContactRows<S> begin_row(S* states, bool by_radii) {
    const ContactRows<S> row = {states, zeros(nv_), zeros(nv_), by_radii ? zeros(contact_.count()) : nullptr};
    return row;
  }

  void end_row(const ContactRows<S>& row, const S* velocity) const {
    chain_.add_multiples(row.now, nv_, velocity, row.states);
    if (moves_) chain_.add_multiples(row.shift, nv_, shift_, row.states);
    if (row.radius != nullptr) chain_.add_multiples(row.radius, contact_.count(), radius_, row.states);
  }

  void add_radius(int n) {
    const Workspace<S> mark = w_;
    const ContactRows<S> row = begin_row(radius_ + n * columns_, false);
    has_room_ &= contact_.add_radius(n, of_.renewal_.worlds, *of_.start_, row, w_);
    end_row(row, first_);
    w_ = mark;
  }

  /// Deflections that contacts leave.
  void add_memory(S* to) {
    const auto row_of = [&](int column, int i) { return to + (column + i - at_.points) * columns_; };
    const Workspace<S> mark = w_;
    for (int n = 0; n < contact_.count(); ++n) {
      const int turning = contact_.turning_number(n);
      for (const bool turns : {false, true}) {
        if (turns && turning < 0) continue;
        const int column = turns ? memory_.turning[turning] : memory_.point[contact_.point_number(n)];
        for (int i = 0; column >= 0 && i < 3; ++i) {
          const ContactRows<S> row = begin_row(row_of(column, i), radius_ != nullptr);
          has_room_ &= contact_.add_memory(n, i, turns, *of_.start_, row, w_);
          end_row(row, chain_.of(Chain::v1));
          w_ = mark;
        }
      }
    }
  }

  /// q₁ along δ, v₁, deflections of dry friction, and states of elements.
  void add_coordinates_end(S* to) {
    const S e = all<S>(1);
    for (int b = 0; b < model_.bodies; ++b) {
      const tree::Joint& joint = model_.joint[b];
      for (int i = 0; i < joint.nv; ++i) {
        S at[8] = {}, q_bar[8] = {}, along[tree::max_joint_nv];
        for (int k = 0; k < joint.nv; ++k) along[k] = all<S>(i == k ? 1 : 0);
        for (int k = 0; k < joint.nq; ++k) at[k] = of_.q1_[joint.q + k].value;
        seed_joint<S>(joint, at, along, q_bar);
        for (int k = 0; k < joint.nq; ++k) chain_.seed(of_.q1_[joint.q + k], q_bar[k]);
        chain_.add_seeded(e, to + (joint.v + i) * columns_);
        chain_.add(of_.end_v_[joint.v + i], e, to + (nv_ + joint.v + i) * columns_);
      }
    }
    for (int n = 0; n < list_.coordinate_count; ++n) {
      const int k = list_.coordinates[n];
      const auto& C = of_.kinds().coordinates.coordinate[k];
      const auto& law = contacts_.coordinate[k];
      S by_s = all<S>(0), by_v = all<S>(0);
      constraints::next_deflection_product<S>(law, C.at, h_, C.now, e, by_s, by_v);
      S* const row = to + (at_.coordinates + n) * columns_;
      row[at_.coordinates + n] += by_s;
      if (moves_) chain_.add_multiple(by_s, shift_ + law.v * columns_, row);
      chain_.add_multiple(by_v, chain_.of(Chain::v1) + law.v * columns_, row);
    }
    for (int k = 0; k < list_.state_count; ++k) {
      chain_.add(of_.current_[list_.numbers[k]], e, to + (at_.numbers + k) * columns_);
    }
  }

  ConvexStepProduct<S>& of_;
  const ModelOf<S>& model_;
  const contact::Contacts<typename S::Parameter>& contacts_;
  const StateList list_;
  const int nv_;
  const S h_;
  const StateColumns at_;
  const int rows_, columns_;
  const MemoryColumns memory_;
  const bool moves_;  ///< whether velocity terms act in some world
  ChainRows<S> chain_;
  ContactDerivatives<S> contact_;
  dynamics::TorqueMatrices<S> torque_, at_start_;  ///< of a pass, and without impulses
  dynamics::SparseFactor<S> factor_, A_factor_;
  Workspace<S> w_;
  S* shift_;         ///< (nv, columns)
  S *A_, *entries_;  ///< (nv, nv), and what it has beside M
  bool has_room_ = true;
  S* drift_ = nullptr;                      ///< (nv, columns)
  S *first_ = nullptr, *radius_ = nullptr;  ///< of the first pass's velocity, and of radii (points, columns)
};

}  // namespace pysim::stepping
