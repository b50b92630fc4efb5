// Kernels of worlds: steps with contacts, in single precision or with numbers that differ, and distances of
// shapes.
#pragma once

#include "contact/smooth.hpp"
#include "engine/isas.hpp"
#include "engine/kernels.hpp"

namespace pysim::engine {

/// A batch of steps with contacts. The operation's batch is always one of these.
template <class Real>
struct ContactBatchOf : Batch<Real> {
  contact::ContactCall<Real> contacts;
  const contact::SmoothContacts* smooth = nullptr;  ///< of reports of the smooth law
  double reach = -1;  ///< gap of reported points [m]; negative for the points that push
};

using ContactBatch = ContactBatchOf<double>;

using ContactKernel = Kernel<double>;

/// Kernels of one number type.
struct ContactKernels {
  ContactKernel advance_worlds;  ///< convex steps of worlds; the batch is a WorldBatch
  ContactKernel report;          ///< contact points of the smooth law
  ContactKernel slopes;          ///< its generalised forces and their derivatives
  ContactKernel damping;         ///< of actuators in convex steps
  tree::ContactForces::Wrench wrench;
  stepping::PairGaps::Gap gap;
};

/// Kernels of worlds whose models differ in some numbers; the batch is a WorldBatch.
struct VariedKernels {
  ContactKernel pack, single;
};

/// Advance of worlds in single precision; the batch is a WorldBatch<float>.
struct FloatSteps {
  Kernel<float> convex, smooth;
};

/// Signed distances of pairs of shapes (collision/pairs.hpp).
struct DistanceMap {
  static constexpr int in = 15, out = 10;  ///< numbers a row
  void (*run)(int pair,
              const collision::Shape<double>& shape_a,
              const collision::Shape<double>& shape_b,
              const double* a,
              const double* b,
              double* y,
              std::ptrdiff_t rows);
};

}  // namespace pysim::engine

#define PYSIM_DECLARE_CONTACT_TABLES(isa)                                                         \
  namespace pysim::engine::isa {                                                                  \
  extern const ContactKernels double_contacts, one_double_contacts;                               \
  extern const FloatSteps float_worlds, one_float_world, varied_float_worlds, varied_float_world; \
  extern const VariedKernels varied_contacts, varied_steps;                                       \
  extern const ContactKernel worlds_twice, varied_twice;                                          \
  extern const DistanceMap distances;                                                             \
  }

PYSIM_FOR_EACH_ISA(PYSIM_DECLARE_CONTACT_TABLES)
