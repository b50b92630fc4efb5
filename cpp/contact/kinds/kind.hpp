// Kinds of unknowns of the convex problem: what each does in an iteration of Newton's method.
//
//     start                begins at u, with no impulse
//     touched              where it changes anything at u*
//     evaluate             γ(u) and G(u) of its law, and whether γ̂ is that impulse
//     add_yielding         where loads act at the points of a pair
//     load                 pushes, and G, in the matrix of the step
//     move                 u' and γ' at the solution
//     begin_search         its share of l'(0), of what is linear in l', and records for the rest
//     add_slope_along      Δu·γ(u + α Δu), to be subtracted
//     advance              goes α of the way
//     converged            whether γ̂ was the impulse of the law at the last evaluation
//     note                 its share of the statistics of an iteration
//
// and, if it has them, corners of l', and radii of friction that are renewed as `settled` says. Kinds that
// act at contact points load, couple and move pair by pair, so that sums are rounded in the order of the
// pairs.
#pragma once

#include "constraints/contact_law.hpp"
#include "contact/active_pairs.hpp"
#include "contact/iteration_log.hpp"
#include "contact/matrix.hpp"

namespace pysim::contact {

using simd::all;
using simd::fma;
using simd::fnma;
using simd::Mask;
using simd::select;
using spatial::Mat3;
using spatial::Motion;
using spatial::Vec3;

/// Where an impulse changes with the velocity.
template <class S>
Mask<S> yields(const constraints::ContactImpulse<S>& I) {
  return (I.normal_slope > all<S>(0)) | (I.slope > all<S>(0));
}

/// R G.
template <class S>
Mat3<S> times(const Mat3<S>& R, const spatial::Sym3<S>& G) {
  return {R * Vec3<S>{G.xx, G.xy, G.zx}, R * Vec3<S>{G.xy, G.yy, G.yz}, R * Vec3<S>{G.zx, G.yz, G.zz}};
}

/// Velocities and impulses of an unknown while Newton's method runs.
template <class V>
struct Iterate {
  V start;             ///< u where Newton's method begins
  V free;              ///< u*
  V now, next;         ///< u, u'
  V gamma_hat, aimed;  ///< γ̂, γ'
};

/// What kinds are made from.
template <class S>
struct KindContext {
  const ActivePairs<S>& pairs;
  const Contacts<typename S::Parameter>& contacts;
  int bounded_forces;
  S h;
  typename S::Real tolerance;  ///< of impulses, relative to the largest one of a kind
  tree::Workspace<S>& w;
};

/// One iteration: solved in the worlds that are `left`; `from_free` for Δ, else for its correction.
template <class S>
struct Iteration {
  Mask<S> left;
  bool from_free;
};

/// An unknown's push at the normal n: γ(u) + G (u − u*), or γ(u) − γ̂ of a correction.
template <class S, class Of>
PYSIM_INLINE Vec3<S> push_of(const Iteration<S>& iteration, const Of& of, const Vec3<S>& n) {
  if (!iteration.from_free) return of.impulse.gamma - of.gamma_hat;
  return of.impulse.gamma + of.impulse.slope_times(n, of.now - of.free);
}

/// γ' where the solution has moved an unknown: from u*, or from u by a correction, whose digits u' has lost.
template <class S, class Of>
PYSIM_INLINE Vec3<S> aimed_at(const Iteration<S>& iteration,
                              const Of& of,
                              const Vec3<S>& n,
                              const Vec3<S>& moved) {
  const Vec3<S> back = iteration.from_free ? of.now - of.free - moved : -moved;
  return of.impulse.gamma + of.impulse.slope_times(n, back);
}

/// Goes α of the way from an iterate to the next one, in the worlds that are `left`.
template <class S>
struct Advance {
  Mask<S> left, all_the_way;
  S alpha;

  Advance(Mask<S> worlds, S a) : left(worlds), all_the_way(a == all<S>(1)), alpha(a) {}

  PYSIM_INLINE S operator()(S from, S to) const {
    return select(left, select(all_the_way, to, fma(alpha, to - from, from)), from);
  }

  PYSIM_INLINE Vec3<S> operator()(const Vec3<S>& a, const Vec3<S>& b) const {
    return {(*this)(a.x, b.x), (*this)(a.y, b.y), (*this)(a.z, b.z)};
  }
};

/// A line search from u to u' = u + Δu: l'(α) = base + α change − Σ Δu·γ(u + α Δu).
template <class S>
struct Search {
  S fall;          ///< l'(0)
  S base, change;  ///< Σ Δu·γ̂ and Σ Δu·(γ' − γ̂)
  S* corner;       ///< α at which l' has corners that are known in closed form
  int corners;

  void begin() {
    fall = base = change = all<S>(0);
    corners = 0;
  }

  /// Adds a number of an unknown.
  PYSIM_INLINE void add(S du, S now, S aimed, S impulse) {
    fall = fma(du, now - impulse, fall);
    base = fma(du, now, base);
    change = fma(du, aimed - now, change);
  }

  PYSIM_INLINE void add(const Vec3<S>& du, const Vec3<S>& now, const Vec3<S>& aimed, const Vec3<S>& impulse) {
    fall = dot_add(du, now - impulse, fall);
    base = dot_add(du, now, base);
    change = dot_add(du, aimed - now, change);
  }

  /// Adds a corner; it is infinite in worlds that do not pass it.
  PYSIM_INLINE void add_corner(S alpha) { corner[corners++] = alpha; }
};

template <class S>
struct Kind {
  using Real = typename S::Real;
  using Parameter = typename S::Parameter;
  using Pair = ContactPair<Parameter>;

  static constexpr Real rounding = sizeof(Real) == 8 ? Real(1e-15) : Real(1e-6);
  /// Impulses at rest decay from step to step; below this size their digits get lost.
  static constexpr Real vanished = sizeof(Real) == 8 ? Real(1e-250) : Real(1e-25);

  static int most_corners(const Contacts<Parameter>&) { return 0; }

  void begin_iteration(const Iteration<S>&) {}
  void add_yielding(const Iteration<S>&, int, Mask<S>&) const {}
  void load_pair(const Iteration<S>&, int, const Pair&, ContactMatrix<S>&) {}
  void couple_pair(const Iteration<S>&, int, dynamics::BodyCoupling<S>&) const {}
  void load(const Iteration<S>&, ContactMatrix<S>&) {}
  void begin_move(bool) {}
  template <class Change>
  void move_pair(const Iteration<S>&, int, const Pair&, const Change&, bool, bool) {}
  void move(const Iteration<S>&, const S*, bool) {}
  Mask<S> settled() const { return simd::everywhere<S>(); }
  Mask<S> limits_differ() const { return simd::nowhere<S>(); }
  void renew_limits(Mask<S>) {}

 protected:
  /// Adds P, and ½ (u − u*)·γ̂ to ½ |v − v*|²_A.
  static void add_cost(NewtonIteration& last, S potential, S work) {
    last.cost += static_cast<double>(simd::lane(potential, 0) + Real(0.5) * simd::lane(work, 0));
  }

  static void add_residual(NewtonIteration& last, S off, S largest) {
    const double share = static_cast<double>(simd::lane(off, 0) / simd::lane(largest, 0));
    if (share > last.residual) last.residual = share;
  }
};

}  // namespace pysim::contact
