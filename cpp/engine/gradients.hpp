// Gradients of worlds: cotangents of the states of worlds, taken back step by step.
#pragma once

#include "engine/worlds.hpp"
#include "stepping/switch_counts.hpp"

namespace pysim::engine {

/// Cotangents of the states at the end of a step of worlds, which those at its start replace, and of numbers
/// of the model and counts of switches, to which those of the step are added. Every state has
/// `GradientBatch::rows` of them, one after the other; the states are whole packs.
struct Cotangents {
  double *q, *v;        ///< (states, nv), q along δ of q ⊕ δ
  double* deflections;  ///< (states, points, 3) of contacts, on the world's axes
  double* turnings;     ///< (states, turning points, 3) of angular deflections, on the world's axes
  double* coordinates;  ///< (states, coordinates) of deflections of dry friction
  double* signals;      ///< (states, signals)
  double* scheme;       ///< (states, numbers) that a scheme carries
  double* theta;        ///< (states, bodies, 10) of inertias in the engine's frames; null for none
  double* laws;         ///< (states, pairs, numbers of a law) in the order of ContactLaw; null for none
  double* numbers;      ///< (states, numbers) in which worlds may differ, but those above
  double* switches;     ///< (states, counts) of stepping/switch_counts.hpp; null for none
};

/// Signals at the start of worlds, see engine/signal_start.hpp.
struct SignalStart {
  bool is_pulled;  ///< in place of a step
  int settled;
  const int* place;  ///< [settled] of initial values that depend on one another
  int outputs;
  const int* output;  ///< [outputs] places of held outputs of sampled blocks with initial values
};

/// Of places of initial values that depend on one another, and of outputs, which it refers to.
SignalStart signal_start(const std::vector<int>& places, const std::vector<int>& outputs);

/// Derivatives of steps as matrices, by the numbers of the states that are listed.
struct StepMatrices {
  const int *points, *coordinates, *numbers;  ///< see stepping::StateList
  int point_count, coordinate_count, state_count, input_count;
  int rows, columns;
  double* to;        ///< (states, rows, columns)
  double* touching;  ///< (states, points) 1 where a point of contacts leaves a deflection
};

/// Lists that StepMatrices reads, checked.
class MatrixNumbers {
 public:
  /// Numbers of points, coordinates and signals that are states, and of signals that are inputs.
  MatrixNumbers(const Worlds<double>& worlds, const std::vector<std::vector<int>>& numbers);

  /// Without arrays to write to.
  StepMatrices view() const;

 private:
  std::vector<std::vector<int>> lists_;  ///< points, coordinates, signals
  int states_, rows_;
};

struct GradientBatch : WorldBatch<double> {
  SignalStart start;
  int rows;                                ///< cotangents of a state
  stepping::SwitchSizes switches;          ///< that steps may meet
  int carried;                             ///< numbers of a state that a scheme carries
  const double* solutions;                 ///< (states, contact::solution_numbers); null to solve steps again
  const StepMatrices* matrices = nullptr;  ///< which are made instead; null for none
  const double* readings =
      nullptr;              ///< (states, rows, readings) cotangents of signals at the end; null for none
  bool reads_late = false;  ///< some of these follow from accelerations, wrenches or contacts
  Cotangents bar;
  double *end_q, *end_v;  ///< (states, nq), (states, nv) at the end of the step
  double* good;  ///< (states) 1 where the step was solved in one part, 0 elsewhere, -1 if the tape was full
};

/// Worlds in a pack.
int worlds_in_pack();

/// Why steps of worlds have no gradient; empty if they have one.
std::string gradient_refusal(const Worlds<double>& worlds);

/// The part of worlds, whose steps have a gradient, that StepMatrices do not cover; empty for none.
std::string matrix_refusal(const Worlds<double>& worlds);

/// Names of the arrays of `Cotangents`, in their order, and numbers a state.
std::vector<std::pair<std::string, std::ptrdiff_t>> cotangent_sizes(const Worlds<double>& worlds);

/// Whether steps need not take cotangents of that name, which they add to.
bool may_be_left_out(const std::string& name);

/// Those in arrays of these sizes, null where they are left out.
Cotangents cotangents_in(const std::vector<double*>& parts);

/// Numbers of the solution of a step, of a world.
int solution_size(const Worlds<double>& worlds);

/// Makes the next step of worlds beside their records, on the grid of the scene's step, and takes cotangents
/// back through it.
void pull_step(const Worlds<double>& worlds, Selection selection, GradientBatch& batch, int threads);

/// Kernels of worlds that all have the model's numbers, and of those that may differ in some.
struct GradientKernels {
  ContactKernel same, varied;
};

/// Runs the kernel of the instruction set in use, of convex steps or of other schemes.
void run_gradients(const tree::Model& model, const GradientBatch& batch, bool convex, int threads);

}  // namespace pysim::engine

#define PYSIM_DECLARE_GRADIENTS(isa)                               \
  namespace pysim::engine::isa {                                   \
  extern const GradientKernels convex_gradients, scheme_gradients; \
  }

PYSIM_FOR_EACH_ISA(PYSIM_DECLARE_GRADIENTS)
