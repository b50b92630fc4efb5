// Laws of contacts, of turning friction and of coordinates, and what they remember.
#include "dual_numbers.hpp"
// kernels, which call functions of numbers by their qualified names
#include "constraints/contact_law_product.hpp"
#include "constraints/coordinate_law_product.hpp"

namespace pysim::adjoints {

/// Numbers of a law, and a direction of them.
struct DrawnLaw {
  constraints::ContactLaw<P> plain;
  constraints::ContactLaw<T> dual;
  std::vector<double> direction;

  explicit DrawnLaw(Random& random) {
    const constraints::ContactLaw<double> law = {random.uniform(1e3, 1e5),
                                                 random.normal() > 0,
                                                 random.uniform(0, 1),
                                                 0.5,
                                                 0.4,
                                                 random.uniform(1e3, 1e5),
                                                 random.uniform(1e-4, 1e-2),
                                                 random.uniform(0.01, 0.1),
                                                 random.uniform(0.01, 0.1),
                                                 random.uniform(0.05, 0.2)};
    constraints::ContactLaw<P>::visit(Constants(), plain, law);
    constraints::ContactLaw<T>::visit(Copy{*this, random}, dual, law);
    dual.lever = constant(law.lever);  // a size of shapes, which no parameter changes
    direction.back() = 0;
  }

  struct Copy {
    DrawnLaw& own;
    Random& random;
    void operator()(T& to, const double& from) const {
      own.direction.push_back(from * random.normal());
      to = adjoints::dual(from, own.direction.back());
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
  const constraints::ContactPoint<P> at = {
      spatial::zero3<P>(), n.plain(), s.plain(), P{x.x}, P{0.4}, P{limit.x}};
  const Vec3<T> origin = {constant(0), constant(0), constant(0)};
  const constraints::ContactPoint<T> at_dual = {
      origin, n.dual(), s.dual(), x.dual(), constant(0.4), limit.dual()};
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
  push(constraints::next_deflection<T>(law.dual, at_dual, constant(h), v.dual(), I_dual),
       next_bar,
       deflection);
  sums = no_cotangents();
  Vec3<P> gamma_bar = spatial::zero3<P>();
  constraints::next_deflection_product<P>(
      law.plain, at, P{h}, v.plain(), I, next_bar.plain(), gamma_bar, sums);
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
  push(constraints::next_turning<T>(law.dual, n.dual(), s.dual(), constant(h), w.dual(), I_dual),
       next_bar,
       deflection);
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
  const One f(random.uniform(0.1, 1), random), k(random.uniform(1e2, 1e4), random),
      d(random.uniform(1, 50), random), s(small * random.normal(), random),
      below(0.01 * random.normal(), random), above(-below.x - 0.1, random);
  const double v = small / h * random.normal(), v_stop = random.normal(), bar = random.normal();
  const constraints::CoordinateLaw<P> law = {0, 0, P{f.x}, P{-1.0}, P{1.0}, P{k.x}, P{d.x}};
  const constraints::CoordinateLaw<T> law_dual = {
      0, 0, f.dual(), constant(-1), constant(1), k.dual(), d.dual()};
  const constraints::CoordinateState<P> at = {P{s.x}, P{below.x}, P{above.x}};
  const constraints::CoordinateState<T> at_dual = {s.dual(), below.dual(), above.dual()};
  for (const double speed : {v, v_stop}) {
    Comparison made;
    made.dual(
        bar,
        slope(constraints::coordinate_impulse<T>(law_dual, at_dual, constant(h), constant(speed)).gamma));
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

}  // namespace pysim::adjoints

int main(int count, char** words) {
  if (count != 2) return 2;
  using namespace pysim::adjoints;
  Random random = {std::mt19937_64(std::strtoull(words[1], nullptr, 10))};
  for (int k = 0; k < 300; ++k) {
    compare_contact_laws(random), compare_turning_laws(random);
    compare_remembered_deflections(random), compare_coordinate_laws(random);
  }
  print_errors();
  return 0;
}
