// Batches of steps with contacts, and distances of shapes, on the instruction set in use.
#pragma once

#include "engine/contact_kernels.hpp"
#include "tree/model.hpp"

namespace pysim::engine {

/// Makes a batch's steps on `threads` threads (0: one a processor). Any split gives the same bits.
void run_contacts(const tree::Model& model, const ContactBatch& batch, int threads);

/// Distances of the instruction set in use.
const DistanceMap& distance_map();

}  // namespace pysim::engine
