// Rows of constraints, projections onto them, and accelerations that satisfy them.
#include "mechanism.hpp"
// kernels, which call functions of numbers by their qualified names
#include "constraints/projection_product.hpp"
#include "constraints/row_product.hpp"
#include "fitted_loops.hpp"
#include "stepping/acceleration_product.hpp"
#include "taped_model.hpp"

namespace pysim::adjoints {

class Constrained : Mechanism {
 public:
  /// At constraints that are off by steps of this size.
  Constrained(const Scene& scene, Random& random, double off)
      : Mechanism(scene, random, !scene.model().planar_loops), phi_(zeros(model_.loop_nq())) {
    for (int i = 0; i < model_.loop_nq(); ++i) phi_[i] = P{scene.worlds().parts().loop_q[i]};
    for (int n = 0; n < 20; ++n) {
      retract(0.01);
      settle();
    }
    retract(off);
    aim();
  }

  void compare() {
    compare_rows();
    compare_projections();
    compare_accelerations();
  }

 private:
  static constexpr double time = 0.3;

  void settle() {
    P* const v = zeros(nv_);
    auto w = plain_;
    const auto projected = constraints::project<P>(model_, P{time}, q_, v, phi_, w);
    if (!all(projected.is_closed))
      std::fprintf(stderr, "not closed: %g\n", value(projected.residual)), std::exit(4);
  }

  static constraints::Clock<T> clock(double rate) { return {constant(time), constant(rate)}; }

  T* constants(const P* x, int count) {
    T* const to = take<T>(dual_, count);
    for (int i = 0; i < count; ++i) to[i] = constant(value(x[i]));
    return to;
  }

  /// Σ m·(J x) + n·(J y − r) + γ·g.
  void compare_rows() {
    const int rows = model_.rows;
    const auto x = random_.normals(nv_), dx = random_.normals(nv_), y = random_.normals(nv_),
               dy = random_.normals(nv_), m = random_.normals(rows), n = random_.normals(rows),
               gamma = random_.normals(rows);
    Comparison made;
    {
      T *const x_dual = dual_of(x, dx), *const y_dual = dual_of(y, dy),
               *const phi = constants(phi_, model_.loop_nq());
      auto w = scratch();
      constraints::MechanismFactor<T> factor(dual_model_, w);
      const auto r = constraints::take_rows(dual_model_, false, w);
      const auto evaluate = [&](const T* v, double rate) {
        auto inner = w;
        const T* const q = tree::full_q(dual_model_, static_cast<const T*>(q_dual_), inner);
        factor.move(q, tree::full_v(dual_model_, v, inner), inner);
        constraints::evaluate_rows(dual_model_, factor, clock(rate), phi, r, true, inner);
        constraints::evaluate_couplings<T>(dual_model_, clock(rate), q_dual_, v, nullptr, r, inner);
      };
      evaluate(x_dual, 0);
      for (int i = 0; i < rows; ++i) made.dual(m[static_cast<std::size_t>(i)], slope(r.times(i, x_dual)));
      evaluate(y_dual, 1);
      for (int i = 0; i < rows; ++i) {
        made.dual(n[static_cast<std::size_t>(i)], slope(r.gd[i]));
        made.dual(gamma[static_cast<std::size_t>(i)], slope(r.g[i]));
      }
    }
    TapedModel taped(model_, directions_.varied(), plain_);
    constraints::RowProduct<P, true> product(model_, taped.view, taped.tape);
    dynamics::TreeProduct<P> tree(model_, nullptr, plain_);
    tree.gather_places(taped.places());
    P *const q_bar = zeros(model_.nv), *const x_bar = zeros(model_.nv), *const y_bar = zeros(model_.nv);
    const P *const q = tree::full_q(model_, static_cast<const P*>(q_), plain_),
                   *const x_full = tree::full_v(model_, static_cast<const P*>(plain(x)), plain_),
                   *const y_full = tree::full_v(model_, static_cast<const P*>(plain(y)), plain_);
    P *const m_plain = plain(m), *const n_plain = plain(n), *const gamma_plain = plain(gamma);
    tree.place(q, zeros(model_.nv), plain_);
    product.add(tree,
                q,
                phi_,
                P{time},
                {{{x_full, m_plain, false, x_bar}, {y_full, n_plain, true, y_bar}}, 2},
                gamma_plain,
                q_bar,
                plain_);
    pull(users(q_bar), along_, made), pull(users(x_bar), dx, made), pull(users(y_bar), dy, made);
    taped.pull(nullptr, directions_.along, made);
    note("rows of constraints", made);
  }

  /// q and v of a state that is projected.
  void compare_projections() {
    const auto v = random_.normals(nv_), dv = random_.normals(nv_), q_bar = random_.normals(nv_),
               v_bar = random_.normals(nv_);
    T *const q_dual = moved(q_, along_), *const v_dual = dual_of(v, dv),
             *const phi = constants(phi_, model_.loop_nq());
    auto w = scratch();
    constraints::Projection<T> projection(dual_model_, q_dual, v_dual, phi, nullptr, w);
    projection.begin(constant(time), w);
    projection.settle_position(simd::everywhere<T>());
    projection.settle_velocity();

    TapedModel taped(model_, directions_.varied(), plain_);
    constraints::RowProduct<P, true> rows(model_, taped.view, taped.tape);
    constraints::ProjectionProduct<P, true> product(model_, plain_);
    product.make(P{time}, q_, plain(v), phi_, plain_);
    P *const q_plain = plain(q_bar), *const v_plain = plain(v_bar),
             *const armature = zeros(dynamics::step_block_numbers(model_.nv)),
             *const theta = zeros(10 * model_.bodies);
    Comparison made;
    push(v_dual, v_bar, made), push_configuration(q_dual, q_bar, made);
    product.pull(q_plain, v_plain, {nullptr, armature, theta}, taped.places(), rows, plain_);
    pull(q_plain, along_, made), pull(v_plain, dv, made), pull(theta, directions_.theta, made);
    taped.pull(armature, directions_.along, made);
    note("projection onto constraints", made);
  }

  /// v̇ under passive forces, with the forces of constraints.
  void compare_accelerations() {
    const auto v = random_.normals(nv_), dv = random_.normals(nv_), a_bar = random_.normals(nv_),
               none = still(nv_);
    Comparison made;
    {
      T *const v_dual = dual_of(v, dv), *const tau = dual_of(none, none),
               *const phi = constants(phi_, model_.loop_nq());
      auto w = scratch();
      T *const a = take<T>(w, nv_), *const lambda = take<T>(w, model_.rows);
      constraints::ConstrainedMechanism<T> mechanism(dual_model_, clock(1), w);
      const Force<T>* const unloaded = nullptr;
      mechanism.accelerate(q_dual_, v_dual, tau, unloaded, true, phi, a, lambda, w);
      for (int i = 0; i < nv_; ++i) made.dual(a_bar[static_cast<std::size_t>(i)], slope(a[i]));
    }
    TapedModel taped(model_, directions_.varied(), plain_);
    constraints::RowProduct<P, true> rows(model_, taped.view, taped.tape);
    const stepping::SharedInStep<P, true> shared = {rows, nullptr, copy(phi_, model_.loop_nq())};
    stepping::TapedAccelerations<R> accelerations(model_, shared, taped.tape, false, plain_);
    accelerations.begin(model_, {});
    const R *const dq = tree::take_inputs<P, true>(plain(none), nv_, taped.tape, plain_),
                   *const v_taped = tree::take_inputs<P, true>(plain(v), nv_, taped.tape, plain_);
    R *const q = take<R>(plain_, model_.reduced_nq), *const a = take<R>(plain_, nv_);
    for (int i = 0; i < model_.reduced_nq; ++i) q[i] = R(q_[i]);
    dynamics::retract<R>(taped.view, q, dq, q);
    const stepping::Actuation actuation = {none.data(), none.data(), none.data(), none.data()};
    stepping::System<R> system = {taped.view, actuation, {reinterpret_cast<R*>(plain_.next)}, nullptr};
    system.taped = &accelerations;
    system.acceleration(R(P{time}), q, v_taped, a);
    for (int i = 0; i < nv_; ++i) tree::seed(a[i], P{a_bar[static_cast<std::size_t>(i)]});

    P *const armature = zeros(model_.nv), *const theta = zeros(10 * model_.bodies);
    P gravity[3] = {P{0}, P{0}, P{0}};
    accelerations.pull(taped.tape.edges, {theta, armature, taped.places(), gravity}, plain_);
    for (int i = 0; i < 3; ++i) tree::seed(taped.view.gravity[i], gravity[i]);
    for (int i = 0; i < nv_; ++i) {
      made.adjoint(value(tree::take_cotangent(dq[i])), along_[static_cast<std::size_t>(i)]);
      made.adjoint(value(tree::take_cotangent(v_taped[i])), dv[static_cast<std::size_t>(i)]);
    }
    pull(theta, directions_.theta, made);
    taped.pull(armature, directions_.along, made);
    note("accelerations of mechanisms", made);
  }

  P* copy(const P* x, int count) {
    P* const to = zeros(count);
    for (int i = 0; i < count; ++i) to[i] = x[i];
    return to;
  }

  P* const phi_;
};

}  // namespace pysim::adjoints

int main(int count, char** words) {
  if (count != 3) return 2;
  using namespace pysim::adjoints;
  const Scene scene(words[1]);
  Random random = {std::mt19937_64(std::strtoull(words[2], nullptr, 10))};
  for (int k = 0; k < 5; ++k) Constrained(scene, random, 1e-3).compare();
  print_errors();
  return 0;
}
