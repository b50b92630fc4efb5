// The convex problem of a step with contacts, solved by Newton's method in the velocities of contacts.
//
//     minimise over v    ½ |v − v*|²_A + Σ P_i(J_i v)             γ_i = −∇P_i,  G_i = ∇²P_i
//
//     (A + Σ JᵀGJ) Δ = Σ Jᵀ (γ(u) + G (u − u*))     γ' = γ(u) − G (u' − u)     v = v* + Δ,  u = J v,  A Δ = Σ
//     Jᵀ γ̂
//
// γ̂ are the impulses that make Δ, so the balance of momentum holds to rounding in every iterate; where γ(u) =
// γ̂ the step is solved. The line search needs velocities and impulses of contacts alone, for the slope of the
// function is
//
//     l'(α) = Σ (u' − u)·(γ̂ + α (γ' − γ̂) − γ(u + α (u' − u)))
//
// The full step is taken where l' has not risen past half of what it fell by, unless a joint starts or stops
// sticking on the way. Lanes that are done are frozen.
//
// Newton's method ends where every impulse is that of its law to the tolerance. The radii of friction are
// renewed before, as soon as normal impulses change by less than 1 %: only they are used of that solution.
//
// After the first iteration, corrections of Δ are solved for, so that rounding is relative to them alone.
//
// Loops, couplings and mimic joints are rows K v = 0; v* and every Δ are projected onto them
// (constraints/velocity_rows.hpp).
//
// Points in reach that push neither at u nor at u' push nowhere between, because their gap is linear in the
// velocity: their impulses are zero, and only the others, those `at work`, are evaluated and summed. Of lanes
// that are done no point is at work, and no load is solved for.
//
// Loads between two bodies are no part of the factor of the trees. In worlds with few of them they are rows
// B = G^½ J beside it, with what they push by (contact/rows.hpp); else they couple the trees of
// their bodies, which are then solved by dynamics/coupled_trees.hpp. A world chooses by the number of its own
// loads, and keeps to blocks once it has chosen them. Points whose impulse is zero and stays so near u load
// nothing.
#pragma once

#include "constraints/velocity_rows.hpp"
#include "contact/kinds/bounded.hpp"
#include "contact/rows.hpp"
#include "contact/run.hpp"
#include "dynamics/coupled_trees.hpp"
#include "simd/sorting.hpp"

namespace pysim::contact {

using constraints::ContactImpulse;
using constraints::ContactPoint;
using constraints::CoordinateImpulse;
using constraints::CoordinateState;
using constraints::turning_impulse;
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

constexpr int most_iterations = 50;

/// Velocities and impulses of a point, or of a coordinate, while Newton's method runs.
template <class V>
struct Iterate {
  V start;        ///< u where Newton's method begins
  V free;         ///< u*
  V now, next;    ///< u, u'
  V made, aimed;  ///< γ̂, γ'
};

template <class S>
struct PointIterate : Iterate<Vec3<S>> {
  ContactPoint<S> at;
  ContactImpulse<S> impulse;  ///< at u
  Vec3<S> p_A;                ///< the point in body a [m], of a pair of two bodies
  S speed;                    ///< of either body there, at u or u*: rounding is relative to it
  S feature;                  ///< see collision/manifold.hpp
  S lagged;                   ///< `limit` where Newton's method begins
  Vec3<S> push, beside;       ///< γ(u) + G (u − u*), or γ(u) − γ̂; the part beside rows
  S change;                   ///< of the normal impulse in the last iteration
  Mask<S> pushing;            ///< where the impulse at u or γ̂ can differ from zero
  bool pushes;                ///< whether that is so in some world that is not done
};

/// Rolling and spinning friction of a point, in angular velocities.
template <class S>
struct TurningIterate : Iterate<Vec3<S>> {
  Vec3<S> s;                  ///< θ₀
  ContactImpulse<S> impulse;  ///< at ω
  Vec3<S> push, beside;       ///< as of a point
  S speed;  ///< of either body at ω or ω*, and the point's over L: rounding is relative to it
};

template <class S>
struct CoordinateIterate : Iterate<S> {
  CoordinateState<S> at;
  CoordinateImpulse<S> impulse;
};

template <class S>
struct BoundedIterate : Iterate<S> {
  BoundedForce<S> law;
  BoundedImpulse<S> impulse;
};

template <class S>
class ConvexProblem {
 public:
  using Real = typename S::Real;
  using Parameter = typename S::Parameter;

  ConvexProblem(dynamics::LoadedFactor<S>& factor,
                constraints::VelocityRows<S>& rows,
                const Contacts<Parameter>& contacts,
                int bounded_forces,
                S h,
                Real tolerance,
                Workspace<S>& w)
      : point(take<PointIterate<S>>(w, contacts.points)),
        slot(take<int>(w, contacts.points)),
        turning(take<TurningIterate<S>>(w, contacts.turning_points)),
        coordinate(take<CoordinateIterate<S>>(w, contacts.coordinates)),
        bounded(take<BoundedIterate<S>>(w, bounded_forces)),
        R_AB(take<Mat3<S>>(w, contacts.pairs)),
        used(take<int>(w, contacts.pairs)),
        index(take<int>(w, contacts.pairs)),
        first(take<int>(w, contacts.pairs)),
        first_turning(take<int>(w, contacts.pairs)),
        trees(factor, contacts.moving_pairs, !rows.empty(), w),
        factor_(factor),
        rows_(rows),
        contacts_(contacts),
        bounded_forces_(bounded_forces),
        h_(h),
        tolerance_(tolerance),
        active_(take<int>(w, contacts.pairs)),
        pair_(tree::take_aligned<const ContactPair<Parameter>*>(w, contacts.pairs)),
        copy_(tree::take_aligned<ContactPair<Parameter>>(w, copies_pairs(contacts) ? contacts.pairs : 0)),
        at_work_(tree::take_aligned<PointAtWork>(w, contacts.points)),
        most_in_rows_(contacts.moving_pairs > 0 ? most_loads_in_rows<S>(factor.model) : 0),
        contact_rows_(factor, most_in_rows_, w),
        load_(tree::take_aligned<Load>(w, most_in_rows_ > 0 ? contacts.points + contacts.turning_points : 0)),
        couples_(take<bool>(w, contacts.pairs)),
        delta_(take<S>(w, factor.model.nv)),
        rhs_(take<S>(w, factor.model.nv)),
        diagonal_(take<S>(w, factor.model.nv)),
        corner_(take<S>(w, 2 * contacts.coordinates)) {}

  // Pairs that may touch, and their points, lie one after the other in the order in which they are placed.
  PointIterate<S>* const point;            ///< [points]
  int* const slot;                         ///< [points] their numbers among all points, ascending in a pair
  TurningIterate<S>* const turning;        ///< [turning points]
  CoordinateIterate<S>* const coordinate;  ///< [coordinates]
  BoundedIterate<S>* const bounded;        ///< [bounded forces]
  Mat3<S>* const R_AB;                     ///< [pairs] axes of b in a, or in the world
  int* const used;                         ///< [pairs] points that some world has
  int* const index;                        ///< [pairs] number among all pairs
  int *const first, *const first_turning;  ///< [pairs] among the points, and among those that resist turning
  dynamics::CoupledTrees<S> trees;

  /// Place of pair k, whose points may be written from first[place] on, until it is included. Its record may
  /// go afterwards.
  int place(int k, const ContactPair<Parameter>& pair) {
    const int p = active_pairs_;
    index[p] = k;
    first[p] = points_;
    first_turning[p] = turning_points_;
    pair_[p] = &pair;
    return p;
  }

  /// Lets the pair at a place touch within the step at so many points.
  void include(int p, int points) {
    if (__builtin_expect(copies_pairs(contacts_), 0)) pair_[p] = &(copy_[p] = *pair_[p]);
    used[p] = points;
    points_ += points;
    if (pair_[p]->turning >= 0) turning_points_ += points;
    active_[active_pairs_++] = p;
  }

  /// The pair at a place.
  const ContactPair<Parameter>& pair(int p) const { return *pair_[p]; }

  /// Restores the order of the pairs, which decides how sums are rounded.
  void sort_pairs() {
    simd::sort_ascending(active_, active_pairs_, [this](int p) { return index[p]; });
  }

  /// visit(place, pair) for the pairs that may touch.
  template <class Visit>
  void each_pair(const Visit& visit) const {
    for (int n = 0; n < active_pairs_; ++n) visit(active_[n], *pair_[active_[n]]);
  }

  /// Where contacts change anything at v*.
  Mask<S> touched() const {
    const S o = all<S>(0);
    auto found = simd::nowhere<S>();
    each_point([&](const PointIterate<S>& P, const ContactPair<Parameter>&) {
      found |= (fnma(h_, dot(P.at.n, P.free), P.at.x) > o) | (P.at.limit > o);
    });
    for (int k = 0; k < contacts_.coordinates; ++k) {
      const auto& law = contacts_.coordinate[k];
      const auto& C = coordinate[k];
      if (simd::is_there(law.friction)) return simd::everywhere<S>();
      found |= (fma(h_, C.free, C.at.above) > o) | (fnma(h_, C.free, C.at.below) > o);
    }
    each_bounded(
        [&](const BoundedIterate<S>& B) { found |= !(bounded_impulse(B.law, h_, B.free).gamma == o); });
    return found;
  }

  /// Solves the worlds `wanted`; `x` (nv) is Δ, zero elsewhere. `base` (nv) is the diagonal that A has beside
  /// M. Radii of friction are renewed `passes` − 1 times at most. Returns the worlds where Newton's method
  /// converged; counts its iterations. Stops before an iterate Δ with !covers(Δ).
  template <class Covers>
  Mask<S> solve(
      Mask<S> wanted, int passes, const S* base, S* x, S& iterations, Workspace<S> w, const Covers& covers) {
    const int nv = factor_.model.nv;
    found_ = x;
    stopped_ = false;
    failed_ = simd::nowhere<S>();
    for (int i = 0; i < nv; ++i) x[i] = all<S>(0);
    start();
    if (none(wanted)) return simd::everywhere<S>();
    auto left = wanted;
    S renewals = all<S>(static_cast<Real>(passes - 1)), made = all<S>(0);
    for (bool first = true; any(left); first = false) {
      iterations += number(left);
      made += number(left);
      linearize(left, base, first, w);
      if (!covers(static_cast<const S*>(delta_))) {
        stopped_ = true;
        return simd::nowhere<S>();
      }
      advance(left, first ? all<S>(1) : search(left), x);
      evaluate();
      const auto done = left & converged();
      left &= !done;
      const auto due = (done | (left & settled())) & (renewals > all<S>(0));
      if (any(due)) {
        const auto renewed = renew_limits(due);
        left |= renewed;
        renewals -= number(renewed);
        made = select(renewed, all<S>(0), made);
      }
      const auto given_up = left & (made >= all<S>(Real(most_iterations)));
      failed_ |= given_up;
      left &= !given_up;
    }
    return !failed_;
  }

  /// Whether the last solution stopped before an iterate that is not covered.
  bool stopped() const { return stopped_; }

  /// Index of the point whose impulse is farthest from its law, in world k.
  S worst() const {
    S most = all<S>(-1), found = all<S>(0);
    each_point([&](const PointIterate<S>& P, const ContactPair<Parameter>&) {
      const Vec3<S> off = P.impulse.gamma - P.made;
      const S size = dot(off, off);
      found = select(size > most, all<S>(static_cast<Real>(slot[&P - point])), found);
      most = max(size, most);
    });
    return found;
  }

 private:
  static constexpr Real rounding = sizeof(Real) == 8 ? Real(1e-15) : Real(1e-6);
  /// Impulses at rest decay from step to step; below this size their digits get lost.
  static constexpr Real vanished = sizeof(Real) == 8 ? Real(1e-250) : Real(1e-25);

  /// A point whose impulse can differ from zero somewhere between u and u', in some world.
  struct PointAtWork {
    PointIterate<S>* point;
    const ContactPair<Parameter>* pair;
  };

  /// What a point adds to the matrix between two bodies: [1 | −p×]ᵀ G [1 | −p×], or G on their rotation.
  struct Load {
    int pair;
    const ContactImpulse<S>* impulse;
    const Vec3<S>*push, *beside, *made;
    Vec3<S>* aimed;
    const PointIterate<S>* point;
    bool turns;
    Mask<S> worlds;
    S index;  ///< among the loads of a world
  };

  /// Impulses at the velocities where Newton's method begins; none are made yet.
  void start() {
    trees.uncouple();
    in_blocks_ = most_in_rows_ > 0 ? simd::nowhere<S>() : simd::everywhere<S>();
    each_pair([&](int k, const ContactPair<Parameter>&) { couples_[k] = false; });
    points_at_work_ = 0;
    each_point([this](PointIterate<S>& P, const ContactPair<Parameter>& pair) {
      P.at.limit = P.lagged;
      P.now = P.start;
      P.made = P.aimed = spatial::zero3<S>();
      const auto apart = fnma(h_, dot(P.at.n, P.now), P.at.x) <= all<S>(0);
      P.pushing = (!apart) | (P.at.limit > all<S>(0));
      P.pushes = any(P.pushing);
      if (P.pushes) {
        at_work_[points_at_work_++] = {&P, &pair};
      } else {
        P.impulse = constraints::no_impulse<S>();
      }
    });
    each_turning([](TurningIterate<S>& T, const PointIterate<S>&, const ContactPair<Parameter>&) {
      T.now = T.start;
      T.made = spatial::zero3<S>();
    });
    for (int k = 0; k < contacts_.coordinates; ++k) {
      auto& C = coordinate[k];
      // Joints that stuck in the last step begin within their range, which a projection onto loops leaves.
      const auto stuck = abs(C.at.s) < all<S>(constraints::sticking_deflection<Real>);
      C.now =
          simd::is_there(contacts_.coordinate[k].friction) ? select(stuck, -C.at.s / h_, C.start) : C.start;
      C.made = all<S>(0);
    }
    each_bounded([](BoundedIterate<S>& B) {
      B.now = B.start;
      B.made = all<S>(0);
    });
    evaluate();
  }

  void evaluate() {
    each_at_work([&](PointIterate<S>& P, const ContactPair<Parameter>& pair) {
      P.impulse = contact_impulse(pair.law, P.at, h_, P.now);
      P.pushing = yields(P.impulse) | (P.at.limit > all<S>(0)) | (sum_of_sizes(P.made) > all<S>(0));
      P.pushes = any(P.pushing);
    });
    each_turning([&](TurningIterate<S>& T, const PointIterate<S>& P, const ContactPair<Parameter>& pair) {
      T.impulse = turning_impulse(pair.law, P.at.n, T.s, P.at.limit, h_, T.now);
    });
    for (int k = 0; k < contacts_.coordinates; ++k) {
      auto& C = coordinate[k];
      C.impulse = coordinate_impulse(contacts_.coordinate[k], C.at, h_, C.now);
    }
    each_bounded([&](BoundedIterate<S>& B) { B.impulse = bounded_impulse(B.law, h_, B.now); });
  }

  /// u' and γ' of the problem that is linear at u, in the worlds that are `left`; `whole` solves for Δ, else
  /// for its correction.
  void linearize(Mask<S> left, const S* base, bool whole, Workspace<S> w) {
    const auto& model = factor_.model;
    each_at_work([&](PointIterate<S>& P, const ContactPair<Parameter>&) {
      P.pushes = P.pushes && any(P.pushing & left);
      if (!P.pushes) P.aimed = spatial::zero3<S>();
    });
    factor_.unload();
    for (int b = 0; b < model.bodies; ++b) factor_.pA[b] = spatial::zero_force<S>();
    for (int i = 0; i < model.nv; ++i) {
      diagonal_[i] = base[i];
      rhs_[i] = all<S>(0);
    }
    if (most_in_rows_ > 0) list_loads(left);
    each_pair([&](int k, const ContactPair<Parameter>& pair) { load(left, k, pair, whole); });
    for (int k = 0; k < contacts_.coordinates; ++k) {
      const auto& C = coordinate[k];
      const int i = contacts_.coordinate[k].v;
      diagonal_[i] += C.impulse.slope;
      rhs_[i] = whole ? fma(C.impulse.slope, C.now - C.free, C.impulse.gamma) : C.impulse.gamma - C.made;
    }
    each_bounded([&](const BoundedIterate<S>& B) {
      diagonal_[B.law.v] += B.impulse.slope;
      rhs_[B.law.v] +=
          whole ? fma(B.impulse.slope, B.now - B.free, B.impulse.gamma) : B.impulse.gamma - B.made;
    });
    trees.arrange(w);
    trees.begin(left);
    if (!trees.empty()) add_couplings(left);
    const auto alone = [this](int b) { return !trees.replaces(b); };
    factor_.factor(diagonal_, alone);
    if (most_in_rows_ > 0) factor_rows();
    factor_.solve(rhs_, spatial::zero_motion<S>(), nullptr, delta_, alone, [this] { add_rows(true); });
    if (!trees.empty()) solve_coupled(left, base, w);
    if (!rows_.empty()) hold_rows();
    bool aims = true;
    if (trees.iterates()) {
      place_next(left, whole, true, false);
      trees.complete(delta_);
      aims = false;
    }
    place_next(left, whole, aims, true);
    if (rows_.empty()) aim_by_rows();
    if (whole) return;
    for (int i = 0; i < model.nv; ++i) delta_[i] = select(left, delta_[i] + found_[i], found_[i]);
  }

  /// u' at the solution; `aims` computes γ' there, and `lists` the points at work between u and u'.
  void place_next(Mask<S> left, bool whole, bool aims, bool lists) {
    if (lists) points_at_work_ = 0;
    each_pair([&](int k, const ContactPair<Parameter>& pair) {
      const Motion<S>& V = factor_.acceleration[pair.b];
      for (int i = first[k]; i < first[k] + used[k]; ++i) {
        PointIterate<S>& P = point[i];
        Vec3<S> change = cross_add(V.w, P.at.p, V.v);
        if (pair.a >= 0) {
          const Motion<S>& V_A = factor_.acceleration[pair.a];
          change = change - transpose_times(R_AB[k], cross_add(V_A.w, P.p_A, V_A.v));
        }
        P.next = (whole ? P.free : P.now) + change;
        if (P.pushes && aims) P.aimed = P.impulse.gamma + P.impulse.slope_times(P.at.n, P.now - P.next);
        if (lists && (P.pushes || reaches(left, P))) at_work_[points_at_work_++] = {&P, &pair};
      }
      for (int i = 0; pair.turning >= 0 && i < used[k]; ++i) {
        TurningIterate<S>& T = turning[first_turning[k] + i];
        Vec3<S> change = V.w;
        if (pair.a >= 0) change = change - transpose_times(R_AB[k], factor_.acceleration[pair.a].w);
        T.next = (whole ? T.free : T.now) + change;
        if (!aims) continue;
        T.aimed = T.impulse.gamma + T.impulse.slope_times(point[first[k] + i].at.n, T.now - T.next);
      }
    });
    for (int k = 0; k < contacts_.coordinates; ++k) {
      auto& C = coordinate[k];
      C.next = (whole ? C.free : C.now) + delta_[contacts_.coordinate[k].v];
      if (aims) C.aimed = fma(C.impulse.slope, C.now - C.next, C.impulse.gamma);
    }
    each_bounded([&](BoundedIterate<S>& B) {
      B.next = (whole ? B.free : B.now) + delta_[B.law.v];
      if (aims) B.aimed = fma(B.impulse.slope, B.now - B.next, B.impulse.gamma);
    });
  }

  void add_couplings(Mask<S> left) {
    each_pair([&](int k, const ContactPair<Parameter>& pair) {
      if (pair.a >= 0 && couples_[k]) trees.add(pair.a, pair.b, coupling(left, k, pair));
    });
  }

  void solve_coupled(Mask<S> left, const S* base, Workspace<S> w) {
    trees.factor(diagonal_, base);
    if (trees.solve(rhs_, delta_)) return;
    trees.demand_factor(w);
    trees.begin(left);
    add_couplings(left);
    trees.factor(diagonal_, base);
    trees.solve(rhs_, delta_);
  }

  static S sum_of_sizes(const Vec3<S>& a) { return abs(a.x) + abs(a.y) + abs(a.z); }

  /// Whether a point that pushes nothing at u may push before or at u', but for rounding.
  bool reaches(Mask<S> left, const PointIterate<S>& P) const {
    constexpr Real margin = 16 * (sizeof(Real) == 8 ? Real(2.3e-16) : Real(1.2e-7));
    const S gap = fnma(h_, dot(P.at.n, P.next), P.at.x);
    const S size = fma(h_, sum_of_sizes(P.now) + sum_of_sizes(P.next), abs(P.at.x));
    return any(left & !(fma(all<S>(margin), size, gap) <= all<S>(0)));
  }

  /// Projects the solution onto K v = 0.
  void hold_rows() {
    rows_.factor([&](const S* b, S* x) {
      factor_.apply_inverse(b, x, [this] { add_rows(false); });
      if (trees.empty()) return;
      trees.clear_forces();
      trees.solve(b, x);
    });
    rows_.project(delta_);
    factor_.spread(static_cast<const S*>(delta_));
  }

  /// Where an impulse changes with the velocity.
  static Mask<S> yields(const ContactImpulse<S>& I) {
    return (I.normal_slope > all<S>(0)) | (I.slope > all<S>(0));
  }

  /// Lists the loads between two bodies in the worlds that are `left`, and chooses where they go.
  void list_loads(Mask<S> left) {
    loads_ = 0;
    S count = all<S>(0);
    const auto list = [&](int k, auto& of, const PointIterate<S>& P, bool turns) {
      const auto worlds = yields(of.impulse) & left;
      if (none(worlds)) return;
      load_[loads_++] = {k, &of.impulse, &of.push, &of.beside, &of.made, &of.aimed, &P, turns, worlds, count};
      count += number(worlds);
    };
    each_pair([&](int k, const ContactPair<Parameter>& pair) {
      if (pair.a < 0) return;
      for (int i = 0; i < used[k]; ++i) {
        PointIterate<S>& P = point[first[k] + i];
        if (P.pushes) list(k, P, P, false);
        if (pair.turning >= 0) list(k, turning[first_turning[k] + i], P, true);
      }
    });
    in_blocks_ |= count > all<S>(static_cast<Real>(most_in_rows_));
  }

  /// Puts the loads of worlds with few of them into rows, the n-th of every world into the same three.
  void factor_rows() {
    contact_rows_.clear();
    for (int n = 0; n < most_in_rows_; ++n) {
      bool found = false;
      for (const Load* L = load_; L != load_ + loads_; ++L) {
        const auto worlds = L->worlds & (!in_blocks_) & (L->index == all<S>(static_cast<Real>(n)));
        if (none(worlds)) continue;
        if (!found) contact_rows_.begin();
        found = true;
        put_in_rows(*L, worlds);
      }
      if (!found) break;
      contact_rows_.end();
    }
    if (!contact_rows_.empty()) contact_rows_.factor();
  }

  /// γ' of the loads in rows: the impulses that the solution has, which G (u − u') is but for its rounding.
  void aim_by_rows() {
    if (contact_rows_.empty()) return;
    for (Load* L = load_; L != load_ + loads_; ++L) {
      const auto worlds = L->worlds & !in_blocks_;
      if (none(worlds)) continue;
      Vec3<S> sum = *L->beside + *L->made;
      const Principal G = principal(*L->impulse, L->point->at.n);
      for (int r = 0; r < 3; ++r) {
        S w = all<S>(0);
        for (int n = 0; n < contact_rows_.loads(); ++n) {
          w = select(L->index == all<S>(static_cast<Real>(n)), contact_rows_.made(n, r), w);
        }
        sum = fma(sqrt(max(G.g[r], all<S>(0))) * w, G.d[r], sum);
      }
      Vec3<S>& aimed = *L->aimed;
      aimed = {
          select(worlds, sum.x, aimed.x), select(worlds, sum.y, aimed.y), select(worlds, sum.z, aimed.z)};
    }
  }

  /// `pushed` by the pushes of the loads in rows, too.
  void add_rows(bool pushed) {
    if (!contact_rows_.empty()) contact_rows_.correct(pushed);
  }

  /// G = Σ g d dᵀ.
  struct Principal {
    Vec3<S> d[3];
    S g[3];
  };

  /// Along n, t, along which friction slides, and the direction across both; without sliding, t is any
  /// direction across n [Duff et al. 2017].
  static Principal principal(const ContactImpulse<S>& I, const Vec3<S>& n) {
    const S o = all<S>(0), e = all<S>(1);
    const S sign = select(n.z < o, -e, e), a = e / (sign + n.z);
    const Vec3<S> across = {fnma(sign * a * n.x, n.x, e), -sign * a * n.x * n.y, -sign * n.x};
    const auto slides = I.slide_slope > o;
    const Vec3<S> t = {
        select(slides, I.t.x, across.x), select(slides, I.t.y, across.y), select(slides, I.t.z, across.z)};
    return {{n, cross(n, t), t}, {I.normal_slope, I.slope, I.slope - I.slide_slope}};
  }

  /// The part of `push` that no row of its load has, in the worlds `in_rows`: along directions with g = 0,
  /// where it is that of `impulse`.
  static Vec3<S> beside_rows(Mask<S> in_rows,
                             const ContactImpulse<S>& I,
                             const Vec3<S>& n,
                             const Vec3<S>& impulse,
                             const Vec3<S>& push) {
    const S o = all<S>(0);
    const Principal G = principal(I, n);
    Vec3<S> rest = spatial::zero3<S>();
    for (int r = 0; r < 3; ++r) {
      rest = fma(select(G.g[r] > o, o, dot(G.d[r], impulse)), G.d[r], rest);
    }
    return {
        select(in_rows, rest.x, push.x), select(in_rows, rest.y, push.y), select(in_rows, rest.z, push.z)};
  }

  void put_in_rows(const Load& L, Mask<S> worlds) {
    const S o = all<S>(0);
    const PointIterate<S>& P = *L.point;
    const Principal G = principal(*L.impulse, P.at.n);
    const ContactPair<Parameter>& pair = *pair_[L.pair];
    const Vec3<S> zero = spatial::zero3<S>();
    Force<S> on_b[3], on_a[3];
    S pushes[3];
    for (int r = 0; r < 3; ++r) {
      const auto acts = worlds & (G.g[r] > o);
      const S root = select(acts, sqrt(G.g[r]), o);
      const Vec3<S> d = root * G.d[r], opposite = -(R_AB[L.pair] * d);
      on_b[r] = L.turns ? Force<S>{zero, d} : Force<S>{d, cross(P.at.p, d)};
      on_a[r] = L.turns ? Force<S>{zero, opposite} : Force<S>{opposite, cross(P.p_A, opposite)};
      pushes[r] = select(acts, dot(G.d[r], *L.push) / root, o);
    }
    contact_rows_.add(pair.b, on_b);
    contact_rows_.add(pair.a, on_a);
    contact_rows_.push(pushes);
  }

  /// G in the worlds where loads between two bodies are in blocks.
  spatial::Sym3<S> in_blocks(const spatial::Sym3<S>& G) const {
    const S o = all<S>(0);
    const auto keep = [&](S number) { return select(in_blocks_, number, o); };
    return {keep(G.xx), keep(G.yy), keep(G.zz), keep(G.xy), keep(G.yz), keep(G.zx)};
  }

  /// Puts the points of a pair into the bodies' inertias and forces, for the worlds that are `left`.
  void load(Mask<S> left, int k, const ContactPair<Parameter>& pair, bool whole) {
    const Vec3<S> zero = spatial::zero3<S>();
    const S o = all<S>(0);
    auto yielding = simd::nowhere<S>();
    const auto push_on = [&](int body, const Vec3<S>& p, const Vec3<S>& f) {
      factor_.pA[body] = factor_.pA[body] - Force<S>{f, cross(p, f)};
    };
    const auto put = [&](int body, const Vec3<S>& p, const spatial::Sym3<S>& G) {
      const dynamics::ArticulatedInertia<S> load = {G, {zero, zero, zero}, {o, o, o, o, o, o}};
      factor_.IA[body] = factor_.IA[body] + translate(p, load);
    };
    const bool has_rows = pair.a >= 0 && most_in_rows_ > 0;
    const auto push_of = [&](auto& of, const Vec3<S>& n) {
      const ContactImpulse<S>& I = of.impulse;
      const Vec3<S> impulse = whole ? I.gamma : I.gamma - of.made;
      of.push = whole ? impulse + I.slope_times(n, of.now - of.free) : impulse;
      if (!has_rows) return of.push;
      return of.beside = beside_rows(yields(I) & left & !in_blocks_, I, n, impulse, of.push);
    };
    for (int i = first[k]; i < first[k] + used[k]; ++i) {
      PointIterate<S>& P = point[i];
      if (!P.pushes) continue;
      const Vec3<S> push = push_of(P, P.at.n);
      push_on(pair.b, P.at.p, push);
      if (pair.a >= 0) push_on(pair.a, P.p_A, -(R_AB[k] * push));
      auto yields_here = yields(P.impulse) & left;
      if (pair.a >= 0) yields_here &= in_blocks_;
      if (none(yields_here)) continue;
      yielding |= yields_here;
      auto G = P.impulse.matrix(P.at.n);
      if (pair.a >= 0) G = in_blocks(G);
      put(pair.b, P.at.p, G);
      if (pair.a >= 0) put(pair.a, P.p_A, rotate(R_AB[k], G));
    }
    const auto twist = [&](int body, const Vec3<S>& t, const spatial::Sym3<S>& G) {
      factor_.pA[body].t = factor_.pA[body].t - t;
      factor_.IA[body].I = factor_.IA[body].I + G;
    };
    for (int i = 0; pair.turning >= 0 && i < used[k]; ++i) {
      TurningIterate<S>& T = turning[first_turning[k] + i];
      const Vec3<S>& n = point[first[k] + i].at.n;
      const Vec3<S> push = push_of(T, n);
      auto G = T.impulse.matrix(n);
      if (pair.a >= 0) G = in_blocks(G);
      yielding |= yields(T.impulse) & in_blocks_ & left;
      twist(pair.b, push, G);
      if (pair.a >= 0) twist(pair.a, -(R_AB[k] * push), rotate(R_AB[k], G));
    }
    if (pair.a < 0 || none(yielding)) return;
    trees.couple(pair.a, pair.b, yielding, couples_[k]);
    couples_[k] = true;
  }

  /// −[1 | −p_A×]ᵀ R_AB G [1 | −p_B×], summed over the points of a pair.
  dynamics::BodyCoupling<S> coupling(Mask<S> left, int k, const ContactPair<Parameter>& pair) const {
    dynamics::BodyCoupling<S> K;
    for (auto& column : K.column) column = spatial::zero_force<S>();
    const auto times = [&](const spatial::Sym3<S>& G) {
      const Mat3<S>& R = R_AB[k];
      return Mat3<S>{
          R * Vec3<S>{G.xx, G.xy, G.zx}, R * Vec3<S>{G.xy, G.yy, G.yz}, R * Vec3<S>{G.zx, G.yz, G.zz}};
    };
    const auto subtract = [](Force<S>& column, const Vec3<S>& p, const Vec3<S>& f) {
      column = column - Force<S>{f, cross(p, f)};
    };
    for (int i = first[k]; i < first[k] + used[k]; ++i) {
      const PointIterate<S>& P = point[i];
      if (none(yields(P.impulse) & left)) continue;
      const Mat3<S> W = times(in_blocks(P.impulse.matrix(P.at.n)));
      const Vec3<S>& p = P.at.p;
      subtract(K.column[0], P.p_A, W.x);
      subtract(K.column[1], P.p_A, W.y);
      subtract(K.column[2], P.p_A, W.z);
      subtract(K.column[3], P.p_A, fnma(p.z, W.y, p.y * W.z));
      subtract(K.column[4], P.p_A, fnma(p.x, W.z, p.z * W.x));
      subtract(K.column[5], P.p_A, fnma(p.y, W.x, p.x * W.y));
    }
    for (int i = 0; pair.turning >= 0 && i < used[k]; ++i) {
      const Mat3<S> W =
          times(in_blocks(turning[first_turning[k] + i].impulse.matrix(point[first[k] + i].at.n)));
      K.column[3].t = K.column[3].t - W.x;
      K.column[4].t = K.column[4].t - W.y;
      K.column[5].t = K.column[5].t - W.z;
    }
    return K;
  }

  /// l'(0).
  S slope_at_start() const {
    S sum = all<S>(0);
    each_point([&](const PointIterate<S>& P, const ContactPair<Parameter>&) {
      sum = dot_add(P.next - P.now, P.made - P.impulse.gamma, sum);
    });
    each_turning([&](const TurningIterate<S>& T, const PointIterate<S>&, const ContactPair<Parameter>&) {
      sum = dot_add(T.next - T.now, T.made - T.impulse.gamma, sum);
    });
    for (int k = 0; k < contacts_.coordinates; ++k) {
      const auto& C = coordinate[k];
      sum = fma(C.next - C.now, C.made - C.impulse.gamma, sum);
    }
    each_bounded(
        [&](const BoundedIterate<S>& B) { sum = fma(B.next - B.now, B.made - B.impulse.gamma, sum); });
    return sum;
  }

  /// l'(α).
  S slope_along(S alpha) const {
    S sum = all<S>(0);
    each_at_work([&](const PointIterate<S>& P, const ContactPair<Parameter>& pair) {
      const Vec3<S> du = P.next - P.now;
      const auto I = contact_impulse(pair.law, P.at, h_, fma(alpha, du, P.now));
      sum = dot_add(du, fma(alpha, P.aimed - P.made, P.made) - I.gamma, sum);
    });
    each_turning(
        [&](const TurningIterate<S>& T, const PointIterate<S>& P, const ContactPair<Parameter>& pair) {
          const Vec3<S> du = T.next - T.now;
          const auto I = turning_impulse(pair.law, P.at.n, T.s, P.at.limit, h_, fma(alpha, du, T.now));
          sum = dot_add(du, fma(alpha, T.aimed - T.made, T.made) - I.gamma, sum);
        });
    for (int k = 0; k < contacts_.coordinates; ++k) {
      const auto& C = coordinate[k];
      const S du = C.next - C.now;
      const auto I = coordinate_impulse(contacts_.coordinate[k], C.at, h_, fma(alpha, du, C.now));
      sum = fma(du, fma(alpha, C.aimed - C.made, C.made) - I.gamma, sum);
    }
    each_bounded([&](const BoundedIterate<S>& B) {
      const S du = B.next - B.now;
      const auto I = bounded_impulse(B.law, h_, fma(alpha, du, B.now));
      sum = fma(du, fma(alpha, B.aimed - B.made, B.made) - I.gamma, sum);
    });
    return sum;
  }

  /// Finds the corners of l' that dry friction has in closed form: where y = ±h f. Between the two corners of
  /// a coordinate l' rises by 2 h f |Δv|, within some 10⁻⁷ of the way.
  void find_corners() {
    corners_ = 0;
    for (int k = 0; k < contacts_.coordinates; ++k) {
      const auto& law = contacts_.coordinate[k];
      if (!simd::is_there(law.friction)) continue;
      const auto& C = coordinate[k];
      const S inverse =
          all<S>(1) / (h_ * (C.next - C.now));  // infinite or NaN corners are never in a bracket
      const S middle = -fma(h_, C.now, C.at.s) * inverse;
      const S half_width = all<S>(constraints::sticking_deflection<Real>) * inverse;
      corner_[corners_++] = middle - half_width;
      corner_[corners_++] = middle + half_width;
    }
  }

  /// Moves α to the nearest corner between `low` and `high`; returns where there is one.
  Mask<S> snap_to_corner(S low, S high, S& alpha) const {
    const S infinite = all<S>(Real(__builtin_inf()));
    S found = alpha, least = infinite;
    for (int k = 0; k < corners_; ++k) {
      const S distance = abs(corner_[k] - alpha);
      const auto nearer = (corner_[k] > low) & (corner_[k] < high) & (distance < least);
      found = select(nearer, corner_[k], found);
      least = select(nearer, distance, least);
    }
    alpha = found;
    return least < infinite;
  }

  /// α of every world: 1, or near the root of l' where the full step goes too far.
  ///
  /// A joint that sticks moves by 10⁻¹⁰ rad at most. A secant ends beside so narrow a range, where the joint
  /// slides, and Newton's method cycles. So trials are made at corners until the bracket has none: then the
  /// root is within a range of sticking, or between two.
  S search(Mask<S> wanted) {
    constexpr int trials = 30;
    const S o = all<S>(0), e = all<S>(1), half = all<S>(Real(0.5));
    const S fall = slope_at_start(), rise = slope_along(e), accepted = half * abs(fall);
    auto left = wanted & (rise > o);
    if (none(left)) return e;
    find_corners();
    S first_corner = o;
    left &= (rise > accepted) | snap_to_corner(o, e, first_corner);
    S low = o, high = e, at_low = fall, at_high = rise, alpha = e;
    for (int n = 0; n < trials && any(left); ++n) {
      const S width = high - low;
      const S secant = low - at_low * width / (at_high - at_low);
      const S inside =
          max(min(secant, fma(all<S>(Real(0.9)), width, low)), fma(all<S>(Real(0.1)), width, low));
      S trial = n % 3 == 2 ? half * (low + high) : inside;
      const auto at_corner = snap_to_corner(low, high, trial);
      const S at_trial = slope_along(trial);
      alpha = select(left, trial, alpha);
      const auto above = at_trial > o;
      high = select(left & above, trial, high);
      at_high = select(left & above, at_trial, at_high);
      low = select(left & !above, trial, low);
      at_low = select(left & !above, at_trial, at_low);
      left &= (abs(at_trial) > accepted) | at_corner;
    }
    return alpha;
  }

  /// Goes α of the way, in the worlds that are `left`.
  void advance(Mask<S> left, S alpha, S* x) {
    const auto all_the_way = alpha == all<S>(1);
    const auto mix = [&](S from, S to) {
      return select(left, select(all_the_way, to, fma(alpha, to - from, from)), from);
    };
    const auto mix3 = [&](const Vec3<S>& a, const Vec3<S>& b) {
      return Vec3<S>{mix(a.x, b.x), mix(a.y, b.y), mix(a.z, b.z)};
    };
    for (int i = 0; i < factor_.model.nv; ++i) x[i] = mix(x[i], delta_[i]);
    each_point([&](PointIterate<S>& P, const ContactPair<Parameter>&) { P.now = mix3(P.now, P.next); });
    each_at_work([&](PointIterate<S>& P, const ContactPair<Parameter>&) {
      const Vec3<S> made = mix3(P.made, P.aimed);
      P.change = dot(P.at.n, made - P.made);
      P.made = made;
    });
    each_turning([&](TurningIterate<S>& T, const PointIterate<S>&, const ContactPair<Parameter>&) {
      T.now = mix3(T.now, T.next);
      T.made = mix3(T.made, T.aimed);
    });
    for (int k = 0; k < contacts_.coordinates; ++k) {
      auto& C = coordinate[k];
      C.now = mix(C.now, C.next);
      C.made = mix(C.made, C.aimed);
    }
    each_bounded([&](BoundedIterate<S>& B) {
      B.now = mix(B.now, B.next);
      B.made = mix(B.made, B.aimed);
    });
  }

  /// Where every impulse is that of its law: relative to the largest of its kind, and within rounding.
  Mask<S> converged() const {
    const S o = all<S>(0);
    S most = o, most_coordinate = o;
    each_at_work([&](const PointIterate<S>& P, const ContactPair<Parameter>&) {
      most = max(most, dot(P.made, P.made));
    });
    for (int k = 0; k < contacts_.coordinates; ++k)
      most_coordinate = max(most_coordinate, abs(coordinate[k].made));
    const S allowed = fma(all<S>(tolerance_), sqrt(most), all<S>(vanished));
    const S allowed_on_coordinates = fma(all<S>(tolerance_), most_coordinate, all<S>(vanished));
    auto good = simd::everywhere<S>();
    each_at_work([&](const PointIterate<S>& P, const ContactPair<Parameter>&) {
      const Vec3<S> off = P.impulse.gamma - P.made;
      const S speed = max(sqrt(dot(P.now, P.now)), P.speed);
      const S blurred = all<S>(rounding) * (P.impulse.normal_slope + P.impulse.slope) * speed;
      good &= sqrt(dot(off, off)) <= allowed + blurred;
    });
    each_turning([&](const TurningIterate<S>& T, const PointIterate<S>&, const ContactPair<Parameter>& pair) {
      const Vec3<S> off = T.impulse.gamma - T.made;
      const S speed = max(sqrt(dot(T.now, T.now)), T.speed);
      const S blurred = all<S>(rounding) * (T.impulse.normal_slope + T.impulse.slope) * speed;
      const S length = max(all<S>(pair.law.rolling), all<S>(pair.law.spinning));
      good &= sqrt(dot(off, off)) <= fma(length, allowed, blurred);
    });
    for (int k = 0; k < contacts_.coordinates; ++k) {
      const auto& C = coordinate[k];
      const S blurred = all<S>(rounding) * C.impulse.slope * max(abs(C.now), abs(C.free));
      good &= abs(C.impulse.gamma - C.made) <= allowed_on_coordinates + blurred;
    }
    each_bounded([&](const BoundedIterate<S>& B) {
      const BoundedForce<S>& law = B.law;
      const S size = fma(law.c, max(abs(B.now), abs(B.free)), abs(law.a));
      const S off = abs(B.impulse.gamma - B.made);
      good &= off <= h_ * fma(all<S>(tolerance_), law.upper - law.lower, all<S>(rounding) * size);
    });
    return good;
  }

  /// Where normal impulses are known well enough to limit friction.
  Mask<S> settled() const {
    S most = all<S>(0), change = all<S>(0);
    each_at_work([&](const PointIterate<S>& P, const ContactPair<Parameter>&) {
      most = max(most, dot(P.at.n, P.made));
      change = max(change, abs(P.change));
    });
    return change < all<S>(Real(0.01)) * most;
  }

  /// Puts μ times the normal impulses just found in place of the radii; returns where that changes friction.
  Mask<S> renew_limits(Mask<S> worlds) {
    constexpr Real same = sizeof(Real) == 8 ? Real(1e-9) : Real(1e-4);
    auto changed = simd::nowhere<S>();
    each_at_work([&](PointIterate<S>& P, const ContactPair<Parameter>&) {
      const S limit = P.at.mu * max(dot(P.at.n, P.made), all<S>(0));
      const auto differs = abs(limit - P.at.limit) > all<S>(same) * max(limit, P.at.limit);
      const Vec3<S> friction = fnma(dot(P.at.n, P.made), P.at.n, P.made);
      const auto slides = (!P.impulse.sticks) | (dot(friction, friction) > limit * limit);
      changed |= differs & slides;
    });
    each_turning(
        [&](const TurningIterate<S>& T, const PointIterate<S>& P, const ContactPair<Parameter>& pair) {
          const S limit = P.at.mu * max(dot(P.at.n, P.made), all<S>(0));
          const auto differs = abs(limit - P.at.limit) > all<S>(same) * max(limit, P.at.limit);
          const S spun = dot(P.at.n, T.made);
          const Vec3<S> rolled = fnma(spun, P.at.n, T.made);
          const S least = min(limit, P.at.limit) * all<S>(Real(1 - same));
          const S roll = all<S>(pair.law.rolling) * least, spin = all<S>(pair.law.spinning) * least;
          changed |= differs & ((dot(rolled, rolled) > roll * roll) | (abs(spun) > spin));
        });
    changed &= worlds;
    if (none(changed)) return changed;
    each_at_work([&](PointIterate<S>& P, const ContactPair<Parameter>& pair) {
      const S limit = P.at.mu * max(dot(P.at.n, P.made), all<S>(0));
      P.at.limit = select(changed, limit, P.at.limit);
      P.impulse = contact_impulse(pair.law, P.at, h_, P.now);
    });
    each_turning([&](TurningIterate<S>& T, const PointIterate<S>& P, const ContactPair<Parameter>& pair) {
      T.impulse = turning_impulse(pair.law, P.at.n, T.s, P.at.limit, h_, T.now);
    });
    return changed;
  }

  template <class Visit>
  void each_point(const Visit& visit) const {
    each_pair([&](int k, const ContactPair<Parameter>& pair) {
      for (int i = first[k]; i < first[k] + used[k]; ++i) visit(point[i], pair);
    });
  }

  template <class Visit>
  void each_at_work(const Visit& visit) const {
    for (int n = 0; n < points_at_work_; ++n) visit(*at_work_[n].point, *at_work_[n].pair);
  }

  /// visit(turning, point, pair) for the points of pairs with rolling or spinning friction.
  template <class Visit>
  void each_turning(const Visit& visit) const {
    if (contacts_.turning_points == 0) return;
    each_pair([&](int k, const ContactPair<Parameter>& pair) {
      for (int i = 0; pair.turning >= 0 && i < used[k]; ++i) {
        visit(turning[first_turning[k] + i], point[first[k] + i], pair);
      }
    });
  }

  template <class Visit>
  void each_bounded(const Visit& visit) const {
    for (int n = 0; n < bounded_forces_; ++n) visit(bounded[n]);
  }

  dynamics::LoadedFactor<S>& factor_;
  constraints::VelocityRows<S>& rows_;
  const Contacts<Parameter>& contacts_;
  const int bounded_forces_;
  const S h_;
  const Real tolerance_;
  /// Of many pairs, those that may touch are copied next to each other.
  static bool copies_pairs(const Contacts<Parameter>& contacts) {
    return contacts.pair == nullptr || (S::width == 1 && contacts.pairs > most_listed_pairs);
  }

  int* const active_;  ///< [active_pairs_] places, in the order of the pairs
  const ContactPair<Parameter>** const pair_;
  ContactPair<Parameter>* const copy_;
  int active_pairs_ = 0, points_ = 0, turning_points_ = 0;
  PointAtWork* const at_work_;  ///< [points_at_work_] in the order of their pairs
  int points_at_work_ = 0;
  const int most_in_rows_;  ///< loads between two bodies in a world
  ContactRows<S> contact_rows_;
  Load* const load_;  ///< [loads_] between two bodies
  int loads_ = 0;
  Mask<S> in_blocks_ = simd::nowhere<S>();  ///< worlds whose loads between two bodies are in blocks
  bool* const couples_;                     ///< [pairs] whether their loads have coupled trees
  bool stopped_ = false;
  const S* found_ = nullptr;  ///< [nv] Δ so far
  S *delta_, *rhs_, *diagonal_;
  S* const corner_;  ///< [corners_] α where l' has corners
  int corners_ = 0;
  Mask<S> failed_ = simd::nowhere<S>();
};

}  // namespace pysim::contact
