// Implicit equations of traced programs: the root of a residual within bounds, by safeguarded Newton's
// method.
//
//     r(x) = 0,  lower ≤ x ≤ upper        x ← x − r/r′ where that stays in the bracket and halves the last
//     step,
//                                         else the bracket's middle   [Press et al. 2007, section 9.4]
//
// The residual and its slope are the instructions that follow; they run again for every x. Each world stops
// at its own root, so that its bits do not depend on the others of the pack.
#pragma once

#include "tree/model_view.hpp"

namespace pysim::tree {

using simd::all;

template <class S>
void run(const ProgramView<typename S::Parameter>& program, int begin, int end, S* r);

constexpr int max_root_steps = 64;  // as many halvings leave nothing of a bracket

/// Solves the equation of the instruction at `at`. NaN where r has one sign at both bounds, or is not finite.
///
/// A bound at which r vanishes to its rounding error is a root.
template <class S>
void solve(const ProgramView<typename S::Parameter>& program, int at, S* r) {
  using Real = typename S::Real;
  constexpr Real epsilon = sizeof(Real) == 8 ? Real(__DBL_EPSILON__) : Real(__FLT_EPSILON__);
  const Instruction& in = program.code[at];
  const S lower = r[in.a + 1], upper = r[in.a + 2], width = upper - lower, zero = all<S>(0);
  const S none = all<S>(Real(simd::not_a_number));
  const auto evaluate = [&](S x) {
    r[in.out] = x;
    run(program, at + 1, at + 1 + in.c, r);
    return r[in.b];
  };
  const S at_lower = evaluate(lower), at_upper = evaluate(upper);
  const auto rises = at_lower < at_upper;
  S low = select(rises, lower, upper), high = select(rises, upper, lower);  // r < 0, r > 0
  const S least = select(rises, at_lower, at_upper), most = select(rises, at_upper, at_lower);
  const S rounding = all<S>(64 * epsilon) * (abs(least) + abs(most));
  const auto at_low = (least >= zero) & (least <= rounding), at_high = (most <= zero) & (-most <= rounding);
  const auto crosses = (least < zero) & (most > zero);

  S x = select(at_low, low, select(at_high, high, min(max(r[in.a], lower), upper)));
  S last_step = width;
  auto done = !crosses;
  for (int k = 0; k < max_root_steps && any(!done); ++k) {
    const S f = evaluate(x), slope = r[in.b + 1];
    low = select(f < zero, x, low);
    high = select(f < zero, high, x);
    const S newton = x - f / slope;
    const auto stays = (newton >= min(low, high)) & (newton <= max(low, high));
    const auto halves = all<S>(2) * abs(newton - x) <= last_step;
    S next = select(stays & halves, newton, all<S>(0.5) * (low + high));
    next = select(f == zero, x, next);
    last_step = abs(next - x);
    const S precision = all<S>(epsilon) * (all<S>(2) * abs(next) + all<S>(Real(1e-3)) * abs(width));
    x = select(done, x, select(f == f, next, none));
    done = done | (last_step <= precision) | !(f == f);
  }
  r[in.out] = select(done & (crosses | at_low | at_high), x, none);
}

}  // namespace pysim::tree
