// Batches of steps with contacts, and distances of shapes, on the instruction set in use.
#pragma once

#include <vector>

#include "engine/contact_kernels.hpp"
#include "tree/model.hpp"

namespace pysim::engine {

/// Runs a kernel on a batch's states, on `threads` threads (0: one a processor). Any split gives the same
/// bits.
void run_contacts(ContactKernel ContactKernels::* kernel,
                  const tree::Model& model,
                  const ContactBatch& batch,
                  int threads);

/// Advances worlds whose models differ in some numbers; the batch is a WorldBatch with VariedNumbers.
void run_varied(const tree::Model& model, const ContactBatch& batch, bool convex, int threads);

/// The same of worlds in single precision; the batch is a WorldBatch<float>.
void run_float_worlds(Kernel<float> FloatWorlds::Schemes::* kernel,
                      const tree::Model& model,
                      const ContactBatchOf<float>& batch,
                      int threads);

/// The smooth law of the instruction set in use; `law`, `bodies` [pairs] and `work` are referred to.
tree::ContactForces contact_forces(const stepping::SmoothContacts& law,
                                   const std::vector<tree::ContactForces::Bodies>& bodies,
                                   const int* work);

/// Gaps of the instruction set in use; `contacts` and `bodies` [pairs] are referred to.
stepping::PairGaps pair_gaps(const stepping::Contacts<double>& contacts,
                             const std::vector<tree::ContactForces::Bodies>& bodies);

/// Distances of the instruction set in use.
const DistanceMap& distance_map();

}  // namespace pysim::engine
