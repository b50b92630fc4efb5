// Batches of steps with contacts, and distances of shapes, on the instruction set in use.
#pragma once

#include <vector>

#include "engine/contact_kernels.hpp"
#include "tree/model.hpp"

namespace pysim::engine {

template <class Real>
struct WorldBatch;

/// Runs a kernel on a batch's states, on `threads` threads (0: one a processor). Any split gives the same
/// bits.
void run_contacts(ContactKernel ContactKernels::* kernel,
                  const tree::Model& model,
                  const ContactBatch& batch,
                  int threads);

/// Advances worlds by convex steps or by the batch's scheme of fixed step, with numbers of their own if there
/// are any.
void run_worlds(const tree::Model& model, const WorldBatch<double>& batch, bool convex, int threads);
void run_worlds(const tree::Model& model, const WorldBatch<float>& batch, bool convex, int threads);

/// The smooth law of the instruction set in use; `law`, `bodies` [pairs] and `work` are referred to.
tree::ContactForces contact_forces(const contact::SmoothContacts& law,
                                   const std::vector<tree::ContactForces::Bodies>& bodies,
                                   const int* work);

/// Gaps of the instruction set in use; `contacts` and `bodies` [pairs] are referred to.
stepping::PairGaps pair_gaps(const contact::Contacts<double>& contacts,
                             const std::vector<tree::ContactForces::Bodies>& bodies);

/// Distances of the instruction set in use.
const DistanceMap& distance_map();

}  // namespace pysim::engine
