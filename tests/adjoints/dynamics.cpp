// Recursions over trees, and steps of configurations.
#include "mechanism.hpp"
// kernels, which call functions of numbers by their qualified names
#include "dynamics/crba.hpp"
#include "dynamics/retract_product.hpp"
#include "dynamics/rnea.hpp"
#include "dynamics/step_matrix_product.hpp"

namespace pysim::adjoints {

/// A tree at a random state, and random directions of all that its dynamics depend on.
class Tree : Mechanism {
 public:
  Tree(const Scene& scene, Random& random) : Mechanism(scene, random, false) {
    retract(1);
    aim();
  }

  void compare() {
    compare_inverse_dynamics();
    compare_twists();
    compare_poses();
    compare_matrices();
    compare_steps();
  }

 private:
  /// A direction of the inertias of all bodies, in the copied model.
  std::vector<double> turn_inertias() {
    std::vector<double> direction;
    for (int b = 0; b < model_.bodies; ++b) {
      auto& own = const_cast<tree::Constants<T>&>(dual_model_.constants[b]);
      for (int i = 0; i < 10; ++i) {
        const double x = value(model_.constants[b].inertia[i]);
        direction.push_back((std::fabs(x) + 0.01) * random_.normal());
        own.inertia[i] = dual(x, direction.back());
      }
    }
    return direction;
  }

  dynamics::TreeProduct<P> product(const P* v) {
    dynamics::TreeProduct<P> made(model_, nullptr, plain_);
    made.place(q_, v, plain_);
    return made;
  }

  void compare_inverse_dynamics() {
    const auto theta = turn_inertias();
    const auto gravity = random_.normals(3);
    for (int i = 0; i < 3; ++i)
      dual_model_.gravity[i] = dual(value(model_.gravity[i]), gravity[static_cast<std::size_t>(i)]);
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
    tree_product.add(
        v_plain, a_plain, bar_plain, true, q_bar, v_bar, a_bar, theta_bar, nullptr, nullptr, gravity_bar);
    pull(q_bar, along_, made), pull(v_bar, dv, made), pull(a_bar, da, made);
    pull(theta_bar, theta, made), pull(gravity_bar, gravity, made);
    note("inverse dynamics", made);
  }

  /// Twists X_BP x_P + S f of all bodies.
  void compare_twists() {
    const auto f = random_.normals(nv_), df = random_.normals(nv_), bar = random_.normals(6 * model_.bodies);
    auto memory = tangents(1 << 20);
    dynamics::TreeProduct<T> forward(dual_model_, nullptr, memory);
    const T* const rest = dual_of(still(nv_), still(nv_));
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
    auto memory = tangents(1 << 20);
    dynamics::TreeProduct<T> forward(dual_model_, nullptr, memory);
    const T* const rest = dual_of(still(nv_), still(nv_));
    forward.place(q_dual_, rest, scratch());
    auto* const X = take<spatial::Pose<T>>(dual_, model_.bodies);
    forward.poses(X);
    auto* const x_bar = take<Force<P>>(plain_, model_.bodies);
    Comparison made;
    for (int b = 0; b < model_.bodies; ++b) {
      const double* const own = bar.data() + 6 * b;
      const auto& R = X[b].R;
      const auto along = [](const Vec3<T>& axis, const Vec3<T>& moves) {
        const double a[] = {value(axis.x), value(axis.y), value(axis.z)};
        return a[0] * slope(moves.x) + a[1] * slope(moves.y) + a[2] * slope(moves.z);
      };
      const double d[] = {along(R.x, X[b].p),
                          along(R.y, X[b].p),
                          along(R.z, X[b].p),
                          along(R.z, R.y),
                          along(R.x, R.z),
                          along(R.y, R.x)};
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
      made.dual(lambda[static_cast<std::size_t>(i / nv_)] * x[static_cast<std::size_t>(i % nv_)],
                slope(M[i]));
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
    Comparison made;
    for (int b = 0; b < model_.bodies; ++b) {
      const tree::Joint& joint = model_.joint[b];
      const int q = joint.q, v = joint.v;
      P at[8] = {}, numbers[8] = {};
      for (int i = 0; i < joint.nq; ++i) at[i] = P{value(end[q + i])};
      dynamics::seed_joint<P>(joint, at, bar_plain + v, numbers);
      for (int i = 0; i < joint.nq; ++i) made.dual(value(numbers[i]), slope(end[q + i]));
      dynamics::add_retract_product<P>(joint, dq_plain + v, bar_plain + v, q_bar + v, dq_bar + v);
    }
    pull(q_bar, along_, made), pull(dq_bar, ddq, made);
    note("steps of configurations", made);
  }
};

}  // namespace pysim::adjoints

int main(int count, char** words) {
  if (count != 3) return 2;
  using namespace pysim::adjoints;
  const Scene scene(words[1]);
  Random random = {std::mt19937_64(std::strtoull(words[2], nullptr, 10))};
  for (int k = 0; k < 5; ++k) Tree(scene, random).compare();
  print_errors();
  return 0;
}
