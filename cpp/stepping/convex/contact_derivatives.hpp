// Derivatives of a convex step's contact points as rows by the coordinates, for the matrices of a step
// (derivatives.hpp).
//
//     Jᵀγ = Σ_b S_bᵀ F_b(δ, V₀, V_s, V₁, s, r)         F_b six numbers of every pair and body
//
// δ are displacements, V twists: at the start, of shifts, and at the solution of a pass; r radii of friction.
// Rows of F_b by these are the products of contact_product.hpp with unit twists, so that both have one text.
// On the axes of the tree's root, where S_k are columns,
//
//     ∂/∂q_k = S_k·δ̄ + Ψ_k·V̄      ∂/∂v_k = S_k·V̄       Ψ_k = V_P × S_k + Σ_i v_i ∂S_i/∂q_k
#pragma once

#include "dynamics/rnea_derivatives.hpp"
#include "simd/row_sum.hpp"
#include "stepping/convex/contact_product.hpp"

namespace pysim::stepping {

using dynamics::RneaDerivatives;

/// Columns of contacts' memory among those of the states; −1 for none.
struct ContactColumns {
  const int *point, *turning;  ///< the first of three, [points], [turning points]
};

/// Derivatives of forces on the coordinates (nv), or of a number, sums.
template <class S>
struct ContactRows {
  S* states;       ///< (nv, columns) by q, v and contacts' memory
  S *shift, *now;  ///< (nv, nv) by shifts of the coordinates, and by the velocities of the pass
  S* radius;       ///< (nv, points) by radii of friction; null if they follow from the start
};

template <class S>
class ContactDerivatives {
 public:
  using Parameter = typename S::Parameter;
  using Product = ContactProduct<S>;

  /// `columns` is the number of the states' columns. Velocities are those of the passes.
  ContactDerivatives(Product& contact,
                     const ModelOf<S>& model,
                     const ContactColumns& of_memory,
                     int columns,
                     const S* start_v,
                     const S* shift,
                     S* const* velocity,
                     Workspace<S>& w)
      : contact_(contact),
        model_(model),
        of_memory_(of_memory),
        columns_(columns),
        velocities_{start_v, shift, velocity[0], velocity[1]},
        L_(take<Motion<S>>(w, model.bodies)),
        pushed_(take<Force<S>>(w, model.bodies)),
        path_(take<int>(w, 2 * model.nv)),
        place_(take<int>(w, model.nv)),
        deflections_(take<S>(w, 3 * contact.contacts_.points)),
        turnings_(take<S>(w, 3 * contact.contacts_.turning_points)),
        sum_(take<S>(w, most_numbers())) {
    for (S*& row : row_) row = take<S>(w, most_numbers());
    for (Motion<S>*& psi : psi_) psi = take<Motion<S>>(w, model.nv);
    for (int b = 0; b < model.bodies; ++b) L_[b] = spatial::zero_motion<S>();
    for (int i = 0; i < model.nv; ++i) place_[i] = -1;
  }

  /// Points that push in some pass.
  int count() const { return contact_.count(); }

  /// Places coordinates, where derivatives of inverse dynamics have been prepared.
  void place(const RneaDerivatives<S>& d, bool shifts, int passes) {
    d_ = d;
    shifts_ = shifts;
    if (count() == 0) return;
    add_turning(start_, contact_.twists_.start);
    if (shifts) add_turning(shift_, contact_.twists_.shift);
    for (int pass = 0; pass < passes; ++pass) add_turning(now_ + pass, contact_.twists_.now[pass]);
  }

  /// visit(b, a or −1) for the pairs of the points.
  template <class Visit>
  void each_pair(const Visit& visit) const {
    for (int n = 0; n < count(); n = contact_.end_of_pair(n)) {
      visit(contact_.point_[n].pair->b, contact_.point_[n].pair->a);
    }
  }

  /// Adds those of the forces that points make in a pass, whose impulses have been made. Returns whether the
  /// tape had room.
  bool add_forces(int pass, const ContactState<S>& start, const ContactRows<S>& to, const Workspace<S>& w) {
    bool has_room = true;
    for (int begin = 0, end = 0; begin < count(); begin = end) {
      end = contact_.end_of_pair(begin);
      const Pair& pair = *contact_.point_[begin].pair;
      find_path(pair);
      for (const int body : {pair.b, pair.a}) {
        for (int i = 0; body >= 0 && i < 6; ++i) {
          clear(begin, end);
          L_[body] = to_child(d_.body[body].X_RB, unit(i));
          for (int n = begin; n < end; ++n) contact_.pull_pass(contact_.point_[n], pass, L_, pushed_);
          L_[body] = spatial::zero_motion<S>();
          has_room &= make_row(begin, end, pass, to.radius != nullptr, start, row_[i], w);
        }
        each_above(body, [&](int k) { add_row(begin, end, combine(d_.coordinate[k].Sj), k, to); });
      }
    }
    return has_room;
  }

  /// Adds those of the radius of point n, in the worlds where it is renewed, to row 0.
  bool add_radius(
      int n, Mask<S> renewed, const ContactState<S>& start, const ContactRows<S>& to, const Workspace<S>& w) {
    int begin = n;
    while (begin > 0 && contact_.point_[begin - 1].place == contact_.point_[n].place) --begin;
    const int end = contact_.end_of_pair(begin);
    find_path(*contact_.point_[n].pair);
    clear(begin, end);
    auto& T = contact_.point_[n];
    T.sums.limit = all<S>(1);
    contact_.pull_renewed(T, renewed);
    const bool has_room = make_row(begin, end, 1, false, start, sum_, w);
    add_row(begin, end, sum_, 0, to);
    return has_room;
  }

  /// Adds those of component i of the deflection, or of the angular one, that point n leaves, to row 0.
  bool add_memory(int n,
                  int i,
                  bool turns,
                  const ContactState<S>& start,
                  const ContactRows<S>& to,
                  const Workspace<S>& w) {
    int begin = n;
    while (begin > 0 && contact_.point_[begin - 1].place == contact_.point_[n].place) --begin;
    const int end = contact_.end_of_pair(begin);
    auto& T = contact_.point_[n];
    find_path(*T.pair);
    clear(begin, end);
    const Vec3<S> zero = spatial::zero3<S>(), bar = constraints::where(T.touches, unit(i).v);
    contact_.pull_end(T, turns ? zero : bar, turns ? bar : zero);
    const bool has_room = make_row(begin, end, 0, to.radius != nullptr, start, sum_, w);
    add_row(begin, end, sum_, 0, to);
    return has_room;
  }

  int point_number(int n) const { return contact_.number(contact_.point_[n]); }

  /// −1 if nothing resists its turning.
  int turning_number(int n) const {
    const auto& T = contact_.point_[n];
    return T.turning < 0 ? -1 : contact_.turning_number(T);
  }

 private:
  using Pair = typename Product::Pair;
  enum Twists { start_, shift_, now_ };  ///< and of the second pass
  /// Parts of a row, each of the coordinates on the path; radii and what points remember are behind them.
  enum Part { of_q, of_v, of_now, of_shift };
  static constexpr int parts = 4;

  static Motion<S> unit(int i) {
    const auto at = [i](int k) { return all<S>(i == k ? 1 : 0); };
    return {{at(0), at(1), at(2)}, {at(3), at(4), at(5)}};
  }

  static S component(const Motion<S>& a, int i) {
    const Vec3<S>& part = i < 3 ? a.v : a.w;
    return i % 3 == 0 ? part.x : i % 3 == 1 ? part.y : part.z;
  }

  /// Ψ at the velocities of twists.
  void add_turning(int kind, const Motion<S>* twist) {
    const S* const v = velocities_[kind];
    for (int b = 0; b < model_.bodies; ++b) {
      const tree::Joint& joint = model_.joint[b];
      const Motion<S> V_P = joint.parent < 0 ? spatial::zero_motion<S>()
                                             : to_parent(d_.body[joint.parent].X_RB, twist[joint.parent]);
      for (int k = 0; k < joint.nv; ++k) {
        Motion<S>& psi = psi_[kind][joint.v + k];
        psi = cross(V_P, d_.coordinate[joint.v + k].Sj);
        if (joint.first_slope < 0) continue;
        const dynamics::SubspaceDerivative<S> D = {joint.nv, d_.slope + joint.first_slope};
        for (int i = 0; i < joint.nv; ++i) psi = fma(v[joint.v + i], D.column(i, k), psi);
      }
    }
  }

  template <class Visit>
  void each_above(int body, const Visit& visit) const {
    for (int c = body; c >= 0; c = model_.joint[c].parent) {
      for (int i = 0; i < model_.joint[c].nv; ++i) visit(model_.joint[c].v + i);
    }
  }

  int most_numbers() const {
    const auto& contacts = contact_.contacts_;
    return parts * model_.nv + 4 * contacts.points + 3 * contacts.turning_points;
  }

  /// The coordinates that move a pair.
  void find_path(const Pair& pair) {
    while (length_ > 0) place_[path_[--length_]] = -1;
    for (const int body : {pair.b, pair.a}) {
      each_above(body, [&](int k) {
        if (place_[k] >= 0) return;
        place_[k] = length_;
        path_[length_++] = k;
      });
    }
  }

  void clear(int begin, int end) {
    const auto& sums = contact_.sums_;
    const Pair& pair = *contact_.point_[begin].pair;
    for (int n = begin; n < end; ++n) Product::clear(contact_.point_[n]);
    for (const int body : {pair.b, pair.a}) {
      if (body < 0) continue;
      for (Force<S>* const on :
           {sums.displacement, sums.start, sums.shift, sums.now[0], sums.now[1], pushed_})
        on[body] = spatial::zero_force<S>();
    }
  }

  /// The row of what has been taken back to the points [begin, end) of a pair in a pass.
  bool make_row(int begin,
                int end,
                int pass,
                bool by_radii,
                const ContactState<S>& start,
                S* row,
                const Workspace<S>& w) {
    for (int i = 0; i < parts * length_; ++i) row[i] = all<S>(0);
    S* next = row + parts * length_;
    for (int n = begin; n < end; ++n) {
      auto& sums = contact_.point_[n].sums;
      *next++ = sums.limit;
      if (by_radii) sums.limit = all<S>(0);
    }
    const bool has_room = contact_.pull_pair(begin, end, start, deflections_, turnings_, w);
    const Pair& pair = *contact_.point_[begin].pair;
    for (const int body : {pair.b, pair.a}) {
      if (body >= 0) gather(body, pass, row);
    }
    const auto put = [&](const S* from) {
      for (int i = 0; i < 3; ++i) *next++ = from[i];
    };
    each_remembered(begin, end, [&](int point, int turning) {
      put(deflections_ + 3 * point);
      if (turning >= 0) put(turnings_ + 3 * turning);
    });
    numbers_ = static_cast<int>(next - row);
    return has_room;
  }

  void gather(int body, int pass, S* row) const {
    const auto& sums = contact_.sums_;
    const spatial::Pose<S>& X_RB = d_.body[body].X_RB;
    const Force<S> displacement = to_parent(X_RB, sums.displacement[body]),
                   start = to_parent(X_RB, sums.start[body]), now = to_parent(X_RB, sums.now[pass][body]);
    const auto add = [&](Part part, int k, S x) { row[part * length_ + place_[k]] += x; };
    each_above(body, [&](int k) {
      const Motion<S>& Sj = d_.coordinate[k].Sj;
      add(of_q, k, dot(Sj, displacement) + dot(psi_[start_][k], start) + dot(psi_[now_ + pass][k], now));
      add(of_v, k, dot(Sj, start));
      add(of_now, k, dot(Sj, now));
    });
    if (!shifts_) return;
    const Force<S> shift = to_parent(X_RB, sums.shift[body]);
    each_above(body, [&](int k) {
      add(of_q, k, dot(psi_[shift_][k], shift));
      add(of_shift, k, dot(d_.coordinate[k].Sj, shift));
    });
  }

  /// The sum of the six rows of a body's wrench, by a twist.
  const S* combine(const Motion<S>& by) const {
    S share[6];
    for (int i = 0; i < 6; ++i) share[i] = component(by, i);
    for (int i = 0; i < numbers_; ++i) sum_[i] = all<S>(0);
    simd::add_rows<S>(share, row_, 6, sum_, numbers_);
    return sum_;
  }

  /// Adds a row to that of coordinate j.
  void add_row(int begin, int end, const S* row, int j, const ContactRows<S>& to) const {
    const int nv = model_.nv;
    S* const states = to.states + j * columns_;
    const auto add = [&](Part part, S* sums) {
      for (int n = 0; n < length_; ++n) sums[path_[n]] += row[part * length_ + n];
    };
    add(of_q, states);
    add(of_v, states + nv);
    add(of_now, to.now + j * nv);
    if (shifts_) add(of_shift, to.shift + j * nv);
    const S* next = row + parts * length_;
    S* const radius = to.radius == nullptr ? nullptr : to.radius + j * count();
    for (int n = begin; n < end; ++n, ++next) {
      if (radius != nullptr) radius[n] += *next;
    }
    const auto add_three = [&](int column) {
      for (int i = 0; column >= 0 && i < 3; ++i) states[column + i] += next[i];
      next += 3;
    };
    each_remembered(begin, end, [&](int point, int turning) {
      add_three(of_memory_.point[point]);
      if (turning >= 0) add_three(of_memory_.turning[turning]);
    });
  }

  /// visit(number of a point, that of its angular deflection or −1) for what the points of a pair recall.
  template <class Visit>
  void each_remembered(int begin, int end, const Visit& visit) const {
    const Pair& pair = *contact_.point_[begin].pair;
    if (contact::recalls_features(pair)) {
      for (int j = 0; j < pair.points; ++j) visit(pair.first + j, pair.turning < 0 ? -1 : pair.turning + j);
    } else {
      for (int n = begin; n < end; ++n) visit(point_number(n), turning_number(n));
    }
  }

  Product& contact_;
  const ModelOf<S>& model_;
  const ContactColumns of_memory_;
  const int columns_;
  const S* const velocities_[4];
  RneaDerivatives<S> d_ = {};
  bool shifts_ = false;
  Motion<S>* const L_;
  Force<S>* const pushed_;
  int *const path_, *const place_;  ///< coordinates that move a pair, and [nv] their places there or −1
  int length_ = 0;
  S *const deflections_, *const turnings_;
  S *row_[6], *const sum_;  ///< rows of a body's wrench, and their sum by a twist
  int numbers_ = 0;         ///< of a row
  Motion<S>* psi_[4];       ///< [nv] of `Twists`
};

}  // namespace pysim::stepping
