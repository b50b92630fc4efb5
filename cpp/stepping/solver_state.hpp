// State that an implicit scheme carries from step to step in each world, and its counts.
#pragma once

#include "tree/model_view.hpp"
#include "tree/workspace.hpp"

namespace pysim::stepping {

using simd::all;
using simd::select;
using tree::take;

/// Counts are kept if a step fails; the fields after them are restored when the step is repeated.
constexpr int solver_counts = 4;
constexpr int solver_numbers(int nv) {
  return solver_counts + 3 + 4 * nv;
}

template <class S>
struct SolverState {
  S* numbers;
  int nv;

  S& iterations() const { return numbers[0]; }  ///< of Newton's method
  S& rejected() const { return numbers[1]; }    ///< steps that did not converge and were repeated in halves
  S& worst() const { return numbers[2]; }       ///< coordinate of v with the largest residual
  S& lost() const { return numbers[3]; }        ///< 1 if halving did not help
  S& step() const { return numbers[4]; }        ///< length of the last step [s]; 0 before the first
  /// 1 if iterations need derivatives, more if all of them, see newton.hpp.
  S& stiff() const { return numbers[5]; }
  S& apart() const { return numbers[6]; }            ///< 1 if no row depended on others in the last step
  S* last() const { return numbers + 7; }            ///< acceleration that solved the last step
  S* before() const { return last() + nv; }          ///< the one before
  S* earlier() const { return before() + nv; }       ///< and the one before that
  S* algorithmic() const { return earlier() + nv; }  ///< generalised α's own acceleration
  /// State of a variational scheme in place of accelerations, see carried_momentum.hpp.
  S* momenta() const { return numbers == nullptr ? nullptr : last(); }

  /// The next step is the first one again, where others have made this step.
  void restart(simd::Mask<S> worlds) const {
    step() = select(worlds, all<S>(0), step());
    lost() = select(worlds, all<S>(0), lost());
  }

  SolverState copy(tree::Workspace<S>& w) const {
    S* const to = take<S>(w, solver_numbers(nv));
    for (int i = 0; i < solver_numbers(nv); ++i) to[i] = numbers[i];
    return {to, nv};
  }

  /// Copies the counts of `other` in `counted` worlds, and the rest in `good` ones.
  void keep(const SolverState& other, simd::Mask<S> counted, simd::Mask<S> good) const {
    for (int i = 0; i < solver_counts; ++i) numbers[i] = select(counted, other.numbers[i], numbers[i]);
    for (int i = solver_counts; i < solver_numbers(nv); ++i) {
      numbers[i] = select(good, other.numbers[i], numbers[i]);
    }
  }
};

}  // namespace pysim::stepping
