// Loads of contacts between two bodies, beside the factor of the trees.
//
// In worlds with few of them they are rows B = G^½ J, with what they push by (contact/rows.hpp); else they
// couple the trees of their bodies in blocks, which are then solved by dynamics/coupled_trees.hpp. A world
// chooses by the number of its own loads, and keeps to blocks once it has chosen them.
#pragma once

#include "constraints/contact_law.hpp"
#include "contact/active_pairs.hpp"
#include "contact/rows.hpp"
#include "dynamics/coupled_trees.hpp"

namespace pysim::contact {

using constraints::ContactImpulse;

/// Where an impulse changes with the velocity.
template <class S>
simd::Mask<S> yields(const ContactImpulse<S>& I) {
  return (I.normal_slope > all<S>(0)) | (I.slope > all<S>(0));
}

/// R G.
template <class S>
spatial::Mat3<S> times(const spatial::Mat3<S>& R, const spatial::Sym3<S>& G) {
  using Vec3 = spatial::Vec3<S>;
  return {R * Vec3{G.xx, G.xy, G.zx}, R * Vec3{G.xy, G.yy, G.yz}, R * Vec3{G.zx, G.yz, G.zz}};
}

template <class S>
class LoadsBetweenBodies {
 public:
  using Real = typename S::Real;
  using Parameter = typename S::Parameter;
  using Pair = ContactPair<Parameter>;
  using Vec3 = spatial::Vec3<S>;

  LoadsBetweenBodies(LoadedFactor<S>& factor,
                     const Contacts<Parameter>& contacts,
                     const ActivePairs<S>& pairs,
                     bool has_loops,
                     Workspace<S>& w)
      : trees(factor, contacts.moving_pairs, has_loops, w),
        pairs_(pairs),
        most_in_rows_(contacts.moving_pairs > 0 ? most_loads_in_rows<S>(factor.model) : 0),
        rows_(factor, most_in_rows_, w),
        load_(tree::take_aligned<Load>(w, most_in_rows_ > 0 ? contacts.points + contacts.turning_points : 0)),
        couples_(take<bool>(w, contacts.pairs)) {}

  dynamics::CoupledTrees<S> trees;

  /// Begins a solution.
  void start() {
    trees.uncouple();
    in_blocks_ = has_rows() ? simd::nowhere<S>() : simd::everywhere<S>();
    pairs_.each([&](int k, const Pair&) { couples_[k] = false; });
  }

  /// Whether loads may lie in rows.
  bool has_rows() const { return most_in_rows_ > 0; }

  /// Worlds whose loads are in blocks.
  Mask<S> in_blocks() const { return in_blocks_; }

  /// G in these worlds.
  spatial::Sym3<S> in_blocks(const spatial::Sym3<S>& G) const {
    const S o = all<S>(0);
    const auto keep = [&](S number) { return select(in_blocks_, number, o); };
    return {keep(G.xx), keep(G.yy), keep(G.zz), keep(G.xy), keep(G.yz), keep(G.zx)};
  }

  /// Begins to list the loads of an iteration.
  void begin_list() {
    loads_ = 0;
    count_ = all<S>(0);
  }

  /// Lists a load in the worlds that are `left`: [1 | −p×]ᵀ G [1 | −p×], or G on the rotation of the bodies
  /// of the pair at place k where no point p of b, and p_A of a, is given.
  template <class Of>
  void list(Mask<S> left, int k, Of& of, const Vec3& n, const Vec3* p, const Vec3* p_A) {
    const auto worlds = yields(of.impulse) & left;
    if (none(worlds)) return;
    load_[loads_++] = {k, &of.impulse, &of.push, &of.beside, &of.made, &of.aimed, &n, p, p_A, worlds, count_};
    count_ += number(worlds);
  }

  /// Chooses where the listed loads go.
  void end_list() { in_blocks_ |= count_ > all<S>(static_cast<Real>(most_in_rows_)); }

  /// What an unknown pushes by: γ(u) + G (u − u*), or γ(u) − γ̂; of a load `between` bodies the part that no
  /// row has.
  template <class Of>
  Vec3 push_of(Of& of, const Vec3& n, Mask<S> left, bool whole, bool between) const {
    const ContactImpulse<S>& I = of.impulse;
    const Vec3 impulse = whole ? I.gamma : I.gamma - of.made;
    of.push = whole ? impulse + I.slope_times(n, of.now - of.free) : impulse;
    if (!(between && has_rows())) return of.push;
    return of.beside = beside_rows(yields(I) & left & !in_blocks_, I, n, impulse, of.push);
  }

  /// Couples the bodies of the pair at place k in blocks.
  void couple(int k, const Pair& pair, Mask<S> yielding) {
    trees.couple(pair.a, pair.b, yielding, couples_[k]);
    couples_[k] = true;
  }

  bool couples(int k) const { return couples_[k]; }

  /// Puts the loads of worlds with few of them into rows, the n-th of every world into the same three.
  void factor_rows() {
    rows_.clear();
    for (int n = 0; n < most_in_rows_; ++n) {
      bool found = false;
      for (const Load* L = load_; L != load_ + loads_; ++L) {
        const auto worlds = L->worlds & (!in_blocks_) & (L->index == all<S>(static_cast<Real>(n)));
        if (none(worlds)) continue;
        if (!found) rows_.begin();
        found = true;
        put_in_rows(*L, worlds);
      }
      if (!found) break;
      rows_.end();
    }
    if (!rows_.empty()) rows_.factor();
  }

  /// Corrects a solution for the rows; `pushed` by the pushes of their loads, too.
  void correct(bool pushed) {
    if (!rows_.empty()) rows_.correct(pushed);
  }

  /// γ' of the loads in rows: the impulses that the solution has, which G (u − u') is but for its rounding.
  void aim() {
    if (rows_.empty()) return;
    for (Load* L = load_; L != load_ + loads_; ++L) {
      const auto worlds = L->worlds & !in_blocks_;
      if (none(worlds)) continue;
      Vec3 sum = *L->beside + *L->made;
      const Principal G = principal(*L->impulse, *L->n);
      for (int r = 0; r < 3; ++r) {
        S w = all<S>(0);
        for (int n = 0; n < rows_.loads(); ++n) {
          w = select(L->index == all<S>(static_cast<Real>(n)), rows_.made(n, r), w);
        }
        sum = fma(sqrt(max(G.g[r], all<S>(0))) * w, G.d[r], sum);
      }
      Vec3& aimed = *L->aimed;
      aimed = {
          select(worlds, sum.x, aimed.x), select(worlds, sum.y, aimed.y), select(worlds, sum.z, aimed.z)};
    }
  }

 private:
  struct Load {
    int pair;
    const ContactImpulse<S>* impulse;
    const Vec3 *push, *beside, *made;
    Vec3* aimed;
    const Vec3 *n, *p, *p_A;
    Mask<S> worlds;
    S index;  ///< among the loads of a world
  };

  /// G = Σ g d dᵀ.
  struct Principal {
    Vec3 d[3];
    S g[3];
  };

  /// Along n, t, along which friction slides, and the direction across both; without sliding, t is any
  /// direction across n [Duff et al. 2017].
  static Principal principal(const ContactImpulse<S>& I, const Vec3& n) {
    const S o = all<S>(0), e = all<S>(1);
    const S sign = select(n.z < o, -e, e), a = e / (sign + n.z);
    const Vec3 across = {fnma(sign * a * n.x, n.x, e), -sign * a * n.x * n.y, -sign * n.x};
    const auto slides = I.slide_slope > o;
    const Vec3 t = {
        select(slides, I.t.x, across.x), select(slides, I.t.y, across.y), select(slides, I.t.z, across.z)};
    return {{n, cross(n, t), t}, {I.normal_slope, I.slope, I.slope - I.slide_slope}};
  }

  /// The part of `push` that no row of its load has, in the worlds `in_rows`: along directions with g = 0,
  /// where it is that of `impulse`.
  static Vec3 beside_rows(
      Mask<S> in_rows, const ContactImpulse<S>& I, const Vec3& n, const Vec3& impulse, const Vec3& push) {
    const S o = all<S>(0);
    const Principal G = principal(I, n);
    Vec3 rest = spatial::zero3<S>();
    for (int r = 0; r < 3; ++r) {
      rest = fma(select(G.g[r] > o, o, dot(G.d[r], impulse)), G.d[r], rest);
    }
    return {
        select(in_rows, rest.x, push.x), select(in_rows, rest.y, push.y), select(in_rows, rest.z, push.z)};
  }

  void put_in_rows(const Load& L, Mask<S> worlds) {
    const S o = all<S>(0);
    const Principal G = principal(*L.impulse, *L.n);
    const Pair& pair = pairs_.pair(L.pair);
    const Vec3 zero = spatial::zero3<S>();
    const bool turns = L.p == nullptr;
    Force<S> on_b[3], on_a[3];
    S pushes[3];
    for (int r = 0; r < 3; ++r) {
      const auto acts = worlds & (G.g[r] > o);
      const S root = select(acts, sqrt(G.g[r]), o);
      const Vec3 d = root * G.d[r], opposite = -(pairs_.R_AB[L.pair] * d);
      on_b[r] = turns ? Force<S>{zero, d} : Force<S>{d, cross(*L.p, d)};
      on_a[r] = turns ? Force<S>{zero, opposite} : Force<S>{opposite, cross(*L.p_A, opposite)};
      pushes[r] = select(acts, dot(G.d[r], *L.push) / root, o);
    }
    rows_.add(pair.b, on_b);
    rows_.add(pair.a, on_a);
    rows_.push(pushes);
  }

  const ActivePairs<S>& pairs_;
  const int most_in_rows_;  ///< loads in a world
  ContactRows<S> rows_;
  Load* const load_;  ///< [loads_]
  int loads_ = 0;
  S count_ = all<S>(0);  ///< of loads in each world
  Mask<S> in_blocks_ = simd::nowhere<S>();
  bool* const couples_;  ///< [pairs] whether their loads have coupled trees
};

}  // namespace pysim::contact
