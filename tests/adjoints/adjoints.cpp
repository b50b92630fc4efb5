// Adjoints of the engine beside dual numbers over the same templates.
//
//     ⟨λ, J x⟩  by the text of the primal with numbers that carry a slope (simd/tangent.hpp)
//     ⟨Jᵀλ, x⟩  by the adjoint
//
//     adjoints FILE SEED      prints the name of each and |difference| / Σ |terms|, the largest of some draws

#ifndef NDEBUG
#define NDEBUG  // memory without guards, which objects of release builds have not
#endif

// before the kernels, which call functions of these by their qualified names
#include "simd/reverse.hpp"
#include "simd/tangent.hpp"

namespace pysim::simd {

struct Plain;
struct Dual;  // packs of this tag have numbers of the model that carry slopes, too

template <>
struct ParameterOf<double, 1, Dual> {
  using type = Tangent<Pack<double, 1, Dual>>;
};

using DualNumber = Tangent<Pack<double, 1, Dual>>;

template <>
struct FixedOf<DualNumber> {
  using type = double;
};

inline bool is_there(const DualNumber& x) {
  return lane(x, 0) != 0;
}

inline bool is_finite(const DualNumber& x) {
  return lane(x, 0) < infinity && lane(x, 0) > -infinity;
}

inline DualNumber lookup(const DualNumber* table, const DualNumber& index, int stride, int rows) {
  return table[stride * static_cast<int>(lane(nearest_row(index.value, rows), 0))];
}

}  // namespace pysim::simd

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "constraints/contact_law_product.hpp"
#include "constraints/coordinate_law_product.hpp"
#include "dynamics/crba.hpp"
#include "dynamics/retract_product.hpp"
#include "dynamics/rnea.hpp"
#include "dynamics/step_matrix_product.hpp"
#include "library/handles.hpp"
#include "tree/model_copy.hpp"

namespace {

namespace constraints = pysim::constraints;
namespace dynamics = pysim::dynamics;
namespace spatial = pysim::spatial;
namespace tree = pysim::tree;
using pysim::simd::all;
using P = pysim::simd::Pack<double, 1, pysim::simd::Plain>;
using D = pysim::simd::Pack<double, 1, pysim::simd::Dual>;
using T = pysim::simd::DualNumber;
using spatial::Force;
using spatial::Motion;
using spatial::Vec3;

double value(const P& x) { return pysim::simd::lane(x, 0); }
double slope(const T& x) { return pysim::simd::lane(x.slope, 0); }
T dual(double x, double dx) { return {D{x}, D{dx}}; }
T constant(double x) { return dual(x, 0); }

/// Sums of both, and of the sizes of their terms.
struct Comparison {
  double by_dual = 0, by_adjoint = 0, size = 0;

  void dual(double bar, double x) { by_dual += bar * x, size += std::fabs(bar * x); }
  void adjoint(double bar, double x) { by_adjoint += bar * x, size += std::fabs(bar * x); }
  double error() const { return std::fabs(by_dual - by_adjoint) / size; }
};

std::map<std::string, double> errors;

void note(const std::string& name, const Comparison& made) {
  errors[name] = std::max(errors[name], made.error());
}

struct Random {
  std::mt19937_64 draw;

  double uniform(double low, double high) { return std::uniform_real_distribution<double>(low, high)(draw); }
  double normal() { return std::normal_distribution<double>()(draw); }
  std::vector<double> normals(int count) {
    std::vector<double> x(static_cast<std::size_t>(count));
    for (double& each : x) each = normal();
    return x;
  }
};

/// Three numbers, and a direction of them.
struct Three {
  double x[3], dx[3];

  Three(Random& random, double size) {
    for (int i = 0; i < 3; ++i) x[i] = size * random.normal(), dx[i] = size * random.normal();
  }

  Vec3<P> plain() const { return {P{x[0]}, P{x[1]}, P{x[2]}}; }
  Vec3<T> dual() const { return {::dual(x[0], dx[0]), ::dual(x[1], dx[1]), ::dual(x[2], dx[2])}; }

  /// Of unit length, as its neighbours along the direction.
  void normalise() {
    const double size = std::sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
    for (double& each : x) each /= size;
    const double along = x[0] * dx[0] + x[1] * dx[1] + x[2] * dx[2];
    for (int i = 0; i < 3; ++i) dx[i] -= along * x[i];
  }

  void pull(const Vec3<P>& bar, Comparison& to) const {
    to.adjoint(value(bar.x), dx[0]), to.adjoint(value(bar.y), dx[1]), to.adjoint(value(bar.z), dx[2]);
  }
};

/// A number, and a direction of it.
struct One {
  double x, dx;

  One(double at, Random& random) : x(at), dx(at * random.normal()) {}
  T dual() const { return ::dual(x, dx); }
};

void push(const Vec3<T>& x, const Three& bar, Comparison& to) {
  to.dual(bar.x[0], slope(x.x)), to.dual(bar.x[1], slope(x.y)), to.dual(bar.x[2], slope(x.z));
}

/// Numbers of a law, and a direction of them.
struct DrawnLaw {
  constraints::ContactLaw<double> plain;
  constraints::ContactLaw<T> dual;
  std::vector<double> direction;

  explicit DrawnLaw(Random& random) {
    plain = {random.uniform(1e3, 1e5), random.normal() > 0, random.uniform(0, 1), 0.5, 0.4,
             random.uniform(1e3, 1e5), random.uniform(1e-4, 1e-2), random.uniform(0.01, 0.1),
             random.uniform(0.01, 0.1), random.uniform(0.05, 0.2)};
    constraints::ContactLaw<T>::visit(Copy{*this, random}, dual, plain);
    dual.lever = constant(plain.lever);  // a size of shapes, which no parameter changes
    direction.back() = 0;
  }

  struct Copy {
    DrawnLaw& own;
    Random& random;
    void operator()(T& to, const double& from) const {
      own.direction.push_back(from * random.normal());
      to = ::dual(from, own.direction.back());
    }
    void operator()(bool& to, const bool& from) const { to = from; }
  };

  void pull(const constraints::ContactLaw<P>& bar, Comparison& to) const {
    std::vector<P> numbers(direction.size(), P{0.0});
    constraints::add_law_numbers(bar, numbers.data());
    for (std::size_t i = 0; i < numbers.size(); ++i) to.adjoint(value(numbers[i]), direction[i]);
  }
};

constraints::ContactCotangents<P> no_cotangents() {
  constraints::ContactCotangents<P> sums;
  const P o{0.0};
  sums.n = sums.s = sums.u = spatial::zero3<P>();
  sums.x = sums.mu = sums.limit = o;
  sums.law = {o, false, o, o, o, o, o, o, o, o};
  return sums;
}

constexpr double h = 2e-3;

void compare_contact_laws(Random& random) {
  const DrawnLaw law(random);
  Three n(random, 1), s(random, 1e-3), v(random, 1);
  const Three bar(random, 1), next_bar(random, 1e3);
  n.normalise();
  const One x(random.uniform(-1e-3, 3e-3), random), limit(random.uniform(0.01, 1), random);
  const constraints::ContactPoint<P> at = {spatial::zero3<P>(), n.plain(), s.plain(), P{x.x}, P{0.4}, P{limit.x}};
  const Vec3<T> origin = {constant(0), constant(0), constant(0)};
  const constraints::ContactPoint<T> at_dual = {origin, n.dual(), s.dual(), x.dual(), constant(0.4), limit.dual()};
  const auto I = constraints::contact_impulse<P>(law.plain, at, P{h}, v.plain());
  const auto I_dual = constraints::contact_impulse<T>(law.dual, at_dual, constant(h), v.dual());
  const auto pull = [&](constraints::ContactCotangents<P>& sums, Comparison& to) {
    n.pull(sums.n, to), s.pull(sums.s, to), v.pull(sums.u, to), law.pull(sums.law, to);
    to.adjoint(value(sums.x), x.dx), to.adjoint(value(sums.limit), limit.dx);
  };
  Comparison impulse, deflection;
  push(I_dual.gamma, bar, impulse);
  auto sums = no_cotangents();
  constraints::contact_impulse_product<P>(law.plain, at, P{h}, v.plain(), I, bar.plain(), sums);
  pull(sums, impulse);
  note("contact_impulse", impulse);
  push(constraints::next_deflection<T>(law.dual, at_dual, constant(h), v.dual(), I_dual), next_bar, deflection);
  sums = no_cotangents();
  Vec3<P> gamma_bar = spatial::zero3<P>();
  constraints::next_deflection_product<P>(law.plain, at, P{h}, v.plain(), I, next_bar.plain(), gamma_bar, sums);
  constraints::contact_impulse_product<P>(law.plain, at, P{h}, v.plain(), I, gamma_bar, sums);
  pull(sums, deflection);
  note("next_deflection", deflection);
}

void compare_turning_laws(Random& random) {
  const DrawnLaw law(random);
  Three n(random, 1), s(random, 0.1), w(random, 1);
  const Three bar(random, 1), next_bar(random, 1e2);
  n.normalise();
  const One limit(random.uniform(0.01, 1), random);
  const auto I =
      constraints::turning_impulse<P>(law.plain, n.plain(), s.plain(), P{limit.x}, P{h}, w.plain());
  const auto I_dual =
      constraints::turning_impulse<T>(law.dual, n.dual(), s.dual(), limit.dual(), constant(h), w.dual());
  const auto pull = [&](constraints::ContactCotangents<P>& sums, Comparison& to) {
    n.pull(sums.n, to), s.pull(sums.s, to), w.pull(sums.u, to), law.pull(sums.law, to);
    to.adjoint(value(sums.limit), limit.dx);
  };
  Comparison impulse, deflection;
  push(I_dual.gamma, bar, impulse);
  auto sums = no_cotangents();
  const auto add_impulse = [&](const Vec3<P>& gamma_bar) {
    constraints::turning_impulse_product<P>(
        law.plain, n.plain(), s.plain(), P{limit.x}, P{h}, w.plain(), I, gamma_bar, sums);
  };
  add_impulse(bar.plain());
  pull(sums, impulse);
  note("turning_impulse", impulse);
  push(constraints::next_turning<T>(law.dual, n.dual(), s.dual(), constant(h), w.dual(), I_dual), next_bar, deflection);
  sums = no_cotangents();
  Vec3<P> gamma_bar = spatial::zero3<P>();
  constraints::next_turning_product<P>(
      law.plain, n.plain(), s.plain(), P{h}, w.plain(), I, next_bar.plain(), gamma_bar, sums);
  add_impulse(gamma_bar);
  pull(sums, deflection);
  note("next_turning", deflection);
}

void compare_remembered_deflections(Random& random) {
  const Three s(random, 1e-3), bar(random, 1);
  const One k(random.uniform(1e3, 1e5), random), limit(random.uniform(-0.1, 1), random);
  Comparison made;
  push(constraints::remembered_deflection<T>(k.dual(), constant(h), limit.dual(), s.dual()), bar, made);
  P k_bar{0.0}, limit_bar{0.0};
  s.pull(constraints::remembered_deflection_product<P>(
             P{k.x}, P{h}, P{limit.x}, s.plain(), bar.plain(), k_bar, limit_bar),
         made);
  made.adjoint(value(k_bar), k.dx), made.adjoint(value(limit_bar), limit.dx);
  note("remembered_deflection", made);
}

void compare_coordinate_laws(Random& random) {
  const double small = constraints::sticking_deflection<double>;
  const One f(random.uniform(0.1, 1), random), k(random.uniform(1e2, 1e4), random), d(random.uniform(1, 50), random),
      s(small * random.normal(), random), below(0.01 * random.normal(), random), above(-below.x - 0.1, random);
  const double v = small / h * random.normal(), v_stop = random.normal(), bar = random.normal();
  const constraints::CoordinateLaw<double> law = {0, 0, f.x, -1, 1, k.x, d.x};
  const constraints::CoordinateLaw<T> law_dual = {0, 0, f.dual(), constant(-1), constant(1), k.dual(), d.dual()};
  const constraints::CoordinateState<P> at = {P{s.x}, P{below.x}, P{above.x}};
  const constraints::CoordinateState<T> at_dual = {s.dual(), below.dual(), above.dual()};
  for (const double speed : {v, v_stop}) {
    Comparison made;
    made.dual(bar, slope(constraints::coordinate_impulse<T>(law_dual, at_dual, constant(h), constant(speed)).gamma));
    constraints::CoordinateCotangents<P> sums;
    sums.s = sums.below = sums.above = sums.friction = sums.stiffness = sums.damping = P{0.0};
    constraints::coordinate_impulse_product<P>(law, at, P{h}, P{speed}, P{bar}, sums);
    made.adjoint(value(sums.s), s.dx), made.adjoint(value(sums.below), below.dx);
    made.adjoint(value(sums.above), above.dx), made.adjoint(value(sums.friction), f.dx);
    made.adjoint(value(sums.stiffness), k.dx), made.adjoint(value(sums.damping), d.dx);
    note("coordinate_impulse", made);
  }
  const double dv = v * random.normal();
  Comparison made;
  made.dual(bar, slope(constraints::next_deflection<T>(law_dual, at_dual, constant(h), dual(v, dv))));
  P s_bar{0.0}, v_bar{0.0};
  constraints::next_deflection_product<P>(law, at, P{h}, P{v}, P{bar}, s_bar, v_bar);
  made.adjoint(value(s_bar), s.dx), made.adjoint(value(v_bar), dv);
  if (made.size > 0) note("next_deflection of a coordinate", made);
}

/// Numbers of a copied model without slopes.
struct Constants {
  void begin(const char*, int) {}
  void operator()(T& to, const double& from) { to = constant(from); }
};

/// A tree at a random state, and random directions of all that its dynamics depend on.
class Tree {
 public:
  Tree(const tree::ModelView<double>& model, const double* q, Random& random)
      : model_(model),
        random_(random),
        nv_(model.nv),
        plain_memory_(memory),
        dual_memory_(memory),
        plain_{reinterpret_cast<P*>(plain_memory_.data())},
        dual_{reinterpret_cast<D*>(dual_memory_.data())},
        copy_(dual_, constants_),
        dual_model_(copy_.of(model)) {
    const auto turn = random.normals(nv_);
    q_ = take<P>(plain_, model.nq);
    P* const dq = plain(turn);
    for (int i = 0; i < model.nq; ++i) q_[i] = P{q[i]};
    dynamics::retract<P>(model, q_, dq, q_);
    along_ = random.normals(nv_);
    q_dual_ = moved(q_, along_);
  }

  void compare() {
    compare_inverse_dynamics();
    compare_twists();
    compare_poses();
    compare_matrices();
    compare_steps();
  }

 private:
  static constexpr std::size_t memory = std::size_t{1} << 23;  // [doubles]
  using Tape = pysim::simd::Tape<P>;

  template <class N, class W>
  static N* take(tree::Workspace<W>& w, int count) {
    return tree::take<N>(w, count);
  }

  P* plain(const std::vector<double>& x) {
    P* const to = take<P>(plain_, static_cast<int>(x.size()));
    for (std::size_t i = 0; i < x.size(); ++i) to[i] = P{x[i]};
    return to;
  }

  T* dual_of(const std::vector<double>& x, const std::vector<double>& dx) {
    T* const to = take<T>(dual_, static_cast<int>(x.size()));
    for (std::size_t i = 0; i < x.size(); ++i) to[i] = dual(x[i], dx[i]);
    return to;
  }

  P* zeros(int count) { return plain(std::vector<double>(static_cast<std::size_t>(count), 0.0)); }

  /// q ⊕ δ along a direction of δ.
  T* moved(const P* q, const std::vector<double>& along) {
    T* const to = take<T>(dual_, model_.nq);
    for (int i = 0; i < model_.nq; ++i) to[i] = constant(value(q[i]));
    dynamics::retract<T>(dual_model_, to, dual_of(std::vector<double>(along.size(), 0.0), along), to);
    return to;
  }

  tree::Workspace<T> scratch() { return {reinterpret_cast<T*>(dual_.next)}; }

  /// A direction of the inertias of all bodies, in the copied model.
  std::vector<double> turn_inertias() {
    std::vector<double> direction;
    for (int b = 0; b < model_.bodies; ++b) {
      auto& own = const_cast<tree::Constants<T>&>(dual_model_.constants[b]);
      for (int i = 0; i < 10; ++i) {
        const double x = model_.constants[b].inertia[i];
        direction.push_back((std::fabs(x) + 0.01) * random_.normal());
        own.inertia[i] = dual(x, direction.back());
      }
    }
    return direction;
  }

  void pull(const P* bar, const std::vector<double>& direction, Comparison& to) const {
    for (std::size_t i = 0; i < direction.size(); ++i) to.adjoint(value(bar[i]), direction[i]);
  }

  dynamics::TreeProduct<P> product(const P* v) {
    dynamics::TreeProduct<P> made(model_, nullptr, plain_);
    made.place(q_, v, plain_);
    return made;
  }

  void compare_inverse_dynamics() {
    const auto theta = turn_inertias();
    const auto gravity = random_.normals(3);
    for (int i = 0; i < 3; ++i) dual_model_.gravity[i] = dual(model_.gravity[i], gravity[static_cast<std::size_t>(i)]);
    const auto v = random_.normals(nv_), a = random_.normals(nv_), dv = random_.normals(nv_),
               da = random_.normals(nv_), bar = random_.normals(nv_);
    T *const tau = take<T>(dual_, nv_), *const v_dual = dual_of(v, dv), *const a_dual = dual_of(a, da);
    const Force<T>* const none = nullptr;
    dynamics::rnea<T>(dual_model_, q_dual_, v_dual, a_dual, none, tau, scratch());
    Comparison made;
    for (int i = 0; i < nv_; ++i) made.dual(bar[static_cast<std::size_t>(i)], slope(tau[i]));
    P *const q_bar = zeros(nv_), *const v_bar = zeros(nv_), *const a_bar = zeros(nv_),
             *const theta_bar = zeros(10 * model_.bodies), *const gravity_bar = zeros(3);
    P *const v_plain = plain(v), *const a_plain = plain(a), *const bar_plain = plain(bar);
    auto tree_product = product(v_plain);
    tree_product.add(v_plain, a_plain, bar_plain, true, q_bar, v_bar, a_bar, theta_bar, nullptr, nullptr, gravity_bar);
    pull(q_bar, along_, made), pull(v_bar, dv, made), pull(a_bar, da, made);
    pull(theta_bar, theta, made), pull(gravity_bar, gravity, made);
    note("inverse dynamics", made);
  }

  /// Twists X_BP x_P + S f of all bodies.
  void compare_twists() {
    const auto f = random_.normals(nv_), df = random_.normals(nv_), bar = random_.normals(6 * model_.bodies);
    const auto still = std::vector<double>(static_cast<std::size_t>(nv_), 0.0);
    dynamics::TreeProduct<T> forward(dual_model_, nullptr, dual_as_tangents());
    const T* const rest = dual_of(still, still);
    forward.place(q_dual_, rest, scratch());
    auto* const x = take<Motion<T>>(dual_, model_.bodies);
    forward.spread(dual_of(f, df), x);
    auto* const x_plain = take<Motion<P>>(plain_, model_.bodies);
    auto* const x_bar = take<Force<P>>(plain_, model_.bodies);
    auto backward = product(zeros(nv_));
    backward.spread(plain(f), x_plain);
    Comparison made;
    for (int b = 0; b < model_.bodies; ++b) {
      const double* const own = bar.data() + 6 * b;
      const T parts[] = {x[b].v.x, x[b].v.y, x[b].v.z, x[b].w.x, x[b].w.y, x[b].w.z};
      for (int i = 0; i < 6; ++i) made.dual(own[i], slope(parts[i]));
      x_bar[b] = {{P{own[0]}, P{own[1]}, P{own[2]}}, {P{own[3]}, P{own[4]}, P{own[5]}}};
    }
    P *const q_bar = zeros(nv_), *const f_bar = zeros(nv_);
    backward.gather(x_plain, plain(f), x_bar, q_bar, f_bar);
    pull(q_bar, along_, made), pull(f_bar, df, made);
    note("twists of bodies", made);
  }

  /// Displacements of bodies on their axes.
  void compare_poses() {
    const auto bar = random_.normals(6 * model_.bodies);
    const auto still = std::vector<double>(static_cast<std::size_t>(nv_), 0.0);
    dynamics::TreeProduct<T> forward(dual_model_, nullptr, dual_as_tangents());
    const T* const rest = dual_of(still, still);
    forward.place(q_dual_, rest, scratch());
    auto* const X = take<spatial::Pose<T>>(dual_, model_.bodies);
    forward.poses(X);
    auto* const x_bar = take<Force<P>>(plain_, model_.bodies);
    Comparison made;
    for (int b = 0; b < model_.bodies; ++b) {
      const double* const own = bar.data() + 6 * b;
      const auto& R = X[b].R;
      const auto along = [](const Vec3<T>& axis, const Vec3<T>& moves) {
        const double a[] = {number(axis.x), number(axis.y), number(axis.z)};
        return a[0] * slope(moves.x) + a[1] * slope(moves.y) + a[2] * slope(moves.z);
      };
      const double d[] = {along(R.x, X[b].p), along(R.y, X[b].p), along(R.z, X[b].p),
                          along(R.z, R.y), along(R.x, R.z), along(R.y, R.x)};
      for (int i = 0; i < 6; ++i) made.dual(own[i], d[i]);
      x_bar[b] = {{P{own[0]}, P{own[1]}, P{own[2]}}, {P{own[3]}, P{own[4]}, P{own[5]}}};
    }
    P* const q_bar = zeros(nv_);
    product(zeros(nv_)).gather_displacements(x_bar, q_bar);
    pull(q_bar, along_, made);
    note("poses of bodies", made);
  }

  /// λᵀ M x.
  void compare_matrices() {
    const auto theta = turn_inertias();
    const auto lambda = random_.normals(nv_), x = random_.normals(nv_);
    T* const M = take<T>(dual_, nv_ * nv_);
    dynamics::crba<T>(dual_model_, q_dual_, M, scratch());
    Comparison made;
    for (int i = 0; i < nv_ * nv_; ++i) {
      made.dual(lambda[static_cast<std::size_t>(i / nv_)] * x[static_cast<std::size_t>(i % nv_)], slope(M[i]));
    }
    P *const q_bar = zeros(nv_), *const base = zeros(dynamics::step_block_numbers(nv_)),
             *const theta_bar = zeros(10 * model_.bodies);
    auto tree_product = product(zeros(nv_));
    P *const lambda_plain = plain(lambda), *const x_plain = plain(x);
    dynamics::subtract_matrix_product<P>(
        model_, tree_product, lambda_plain, x_plain, {q_bar, base, theta_bar}, plain_);
    auto minus = along_, minus_theta = theta;
    for (auto* const direction : {&minus, &minus_theta}) {
      for (double& each : *direction) each = -each;
    }
    pull(q_bar, minus, made), pull(theta_bar, minus_theta, made);
    note("joint-space inertia", made);
  }

  /// q ⊕ dq of every joint.
  void compare_steps() {
    const auto dq = random_.normals(nv_), ddq = random_.normals(nv_), bar = random_.normals(nv_);
    T* const end = take<T>(dual_, model_.nq);
    dynamics::retract<T>(dual_model_, q_dual_, dual_of(dq, ddq), end);
    P *const q_bar = zeros(nv_), *const dq_bar = zeros(nv_);
    P *const dq_plain = plain(dq), *const bar_plain = plain(bar);
    Tape tape = tree::take_tape<P>(plain_);
    Comparison made;
    for (int b = 0; b < model_.bodies; ++b) {
      const tree::Joint& joint = model_.joint[b];
      const int q = joint.q, v = joint.v;
      P at[8] = {}, numbers[8] = {};
      for (int i = 0; i < joint.nq; ++i) at[i] = P{number(end[q + i])};
      dynamics::seed_joint<P>(joint, at, bar_plain + v, numbers);
      for (int i = 0; i < joint.nq; ++i) made.dual(value(numbers[i]), slope(end[q + i]));
      dynamics::add_retract_product<P>(
          joint, q_ + q, dq_plain + v, bar_plain + v, q_bar + v, dq_bar + v, tape, plain_);
    }
    pull(q_bar, along_, made), pull(dq_bar, ddq, made);
    note("steps of configurations", made);
  }

  static double number(const T& x) { return pysim::simd::lane(x, 0); }

  tree::Workspace<T>& dual_as_tangents() {
    tangents_ = {reinterpret_cast<T*>(take<D>(dual_, 1 << 20))};
    return tangents_;
  }

  const tree::ModelView<double>& model_;
  Random& random_;
  const int nv_;
  std::vector<double> plain_memory_, dual_memory_;
  tree::Workspace<P> plain_;
  tree::Workspace<D> dual_;
  tree::Workspace<T> tangents_ = {nullptr};
  Constants constants_;
  tree::ModelCopy<T, D, Constants> copy_;
  tree::ModelView<T> dual_model_;
  P* q_ = nullptr;
  T* q_dual_ = nullptr;
  std::vector<double> along_;
};

}  // namespace

int main(int count, char** words) {
  if (count != 3) return 2;
  std::ifstream file(words[1], std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  pysim_scene* const scene = pysim_scene_load(bytes.data(), bytes.size());
  pysim_worlds* const worlds = scene == nullptr ? nullptr : pysim_worlds_new(scene, 1);
  if (worlds == nullptr) return 3;
  Random random = {std::mt19937_64(std::strtoull(words[2], nullptr, 10))};
  for (int k = 0; k < 300; ++k) {
    compare_contact_laws(random), compare_turning_laws(random);
    compare_remembered_deflections(random), compare_coordinate_laws(random);
  }
  const auto model = scene->scene.model().view<double>();
  for (int k = 0; k < 5; ++k) Tree(model, pysim_worlds_q(worlds), random).compare();
  for (const auto& [name, error] : errors) std::printf("%s: %.3g\n", name.c_str(), error);
  pysim_worlds_free(worlds);
  pysim_scene_free(scene);
  return 0;
}
