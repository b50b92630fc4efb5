// Velocity terms at the middle of a step.
#include "mechanism.hpp"
// kernels, which call functions of numbers by their qualified names
#include "stepping/velocity_terms_product.hpp"
#include "taped_model.hpp"

namespace pysim::adjoints {

class Turning : Mechanism {
 public:
  Turning(const Scene& scene, Random& random) : Mechanism(scene, random, true) {
    retract(1);
    aim();
  }

  /// Accelerations, their change and the share that counts, of velocities of this size; in rows of joint
  /// space or by recursion.
  void compare(double speed, bool in_rows) {
    const auto base = positive(), dbase = scaled(random_.normals(nv_), 0.01);
    const auto v = scaled(random_.normals(nv_), speed), dv = random_.normals(nv_),
               before = scaled(random_.normals(nv_), speed), dbefore = random_.normals(nv_);
    const auto a_bar = random_.normals(nv_), change_bar = random_.normals(nv_);
    const double share_bar = random_.normal();
    const std::vector<char> single(static_cast<std::size_t>(model_.bodies), 0);
    const auto* const none_single = reinterpret_cast<const bool*>(single.data());
    Comparison made;
    {
      T *const base_dual = dual_of(with_blocks(base), with_blocks(dbase)), *const v_dual = dual_of(v, dv),
               *const before_dual = dual_of(before, dbefore);
      auto w = scratch();
      dynamics::LoadedFactor<T> factor(dual_model_, w);
      dynamics::StepMatrix<T> A(factor, in_rows, w);
      accelerate(A, q_dual_, v_dual, base_dual, none_single, w);
      stepping::VelocityTerms<T> terms(A, none_single, base_dual, constant(h), w);
      const T share = terms.share();
      if (none(terms.solve(simd::everywhere<T>(), q_dual_, before_dual, w))) std::exit(5);
      push(terms.rate(), a_bar, made), push(terms.change(), change_bar, made);
      made.dual(share_bar, slope(share));
      counts_ = value(share);
    }
    auto& w = plain_;
    P *const base_plain = plain(with_blocks(base)), *const v_plain = plain(v),
             *const before_plain = plain(before);
    dynamics::LoadedFactor<P> factor(model_, w);
    dynamics::StepMatrix<P> A(factor, in_rows, w);
    accelerate(A, q_, v_plain, base_plain, none_single, w);
    stepping::VelocityTerms<P> terms(A, none_single, base_plain, P{h}, w);
    stepping::VelocityRounds<P> rounds(nv_, w);
    rounds.share = terms.share();
    simd::copy_each<P>(before_plain, nv_, rounds.before);
    if (none(terms.solve(simd::everywhere<P>(), q_, before_plain, w, &rounds))) std::exit(5);
    dynamics::TreeProduct<P> tree(model_, nullptr, w);
    TapedModel taped(model_, directions_.varied(), w);
    tree.gather_places(taped.places());
    tree.place(q_, v_plain, w);
    P *const a = plain(a_bar), *const change = plain(change_bar), *const before_bar = zeros(nv_),
             *const v_bar = zeros(nv_), *const q_bar = zeros(nv_),
             *const base_bar = zeros(dynamics::step_block_numbers(nv_)),
             *const theta = zeros(10 * model_.bodies);
    stepping::pull_velocity_terms<P>(rounds,
                                     A,
                                     tree,
                                     none_single,
                                     base_plain,
                                     P{h},
                                     q_,
                                     v_plain,
                                     {a, change, before_bar, v_bar, P{share_bar}},
                                     {q_bar, base_bar, theta},
                                     w);
    pull(q_bar, along_, made), pull(v_bar, dv, made), pull(before_bar, dbefore, made),
        pull(base_bar, dbase, made);
    pull(theta, directions_.theta, made), taped.pull(base_bar, directions_.along, made);
    note(in_rows ? "velocity terms in rows of joint space" : "velocity terms by recursion", made);
  }

  /// Share of the rounds that counted last.
  double counts() const { return counts_; }

 private:
  static constexpr double h = 1e-3;

  static std::vector<double> scaled(std::vector<double> x, double by) {
    for (double& each : x) each *= by;
    return x;
  }

  std::vector<double> positive() {
    auto x = random_.normals(nv_);
    for (double& each : x) each = 0.01 * std::fabs(each);
    return x;
  }

  /// With the entries beside the diagonal, which no spring has.
  std::vector<double> with_blocks(std::vector<double> diagonal) const {
    diagonal.resize(static_cast<std::size_t>(dynamics::step_block_numbers(nv_)), 0.0);
    return diagonal;
  }

  template <class S>
  static void accelerate(dynamics::StepMatrix<S>& A,
                         const S* q,
                         const S* v,
                         const S* base,
                         const bool* single,
                         tree::Workspace<S> w) {
    const int nv = A.recursion.model.nv;
    S *const tau = tree::take<S>(w, nv), *const unused = tree::take<S>(w, nv);
    for (int i = 0; i < nv; ++i) tau[i] = all<S>(0);
    A.recursion.move(q, v, w);
    A.accelerate(base, single, tau, unused, w);
  }

  double counts_ = 0;
};

}  // namespace pysim::adjoints

int main(int count, char** words) {
  if (count != 3) return 2;
  using namespace pysim::adjoints;
  const Scene scene(words[1]);
  Random random = {std::mt19937_64(std::strtoull(words[2], nullptr, 10))};
  for (int k = 0; k < 600; ++k) {
    const double speed = std::pow(10.0, random.uniform(-2, 1));
    Turning(scene, random).compare(speed, k % 2 == 0);
  }
  print_errors();
  return 0;
}
