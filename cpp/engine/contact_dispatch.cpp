// Dispatch of steps with contacts to the kernels of the instruction set in use.
#include "engine/contact_dispatch.hpp"

#include <string_view>

#include "dynamics/coupled_trees.hpp"
#include "engine/dispatch.hpp"
#include "engine/threads.hpp"
#include "engine/world_operations.hpp"
#include "tree/workspace.hpp"

namespace pysim::engine {

namespace {

struct Tables {
  std::string_view isa;
  const ContactSteps* steps;
  const DistanceMap* distances;
  const VariedKernels *varied_contacts, *varied_steps;
};

const Tables& tables() {
  static const Tables all[] = {
#if defined(PYSIM_ISA_BASELINE)
      {"baseline",
       &baseline::contact_steps,
       &baseline::distances,
       &baseline::varied_contacts,
       &baseline::varied_steps},
#endif
#if defined(PYSIM_ISA_AVX2)
      {"avx2", &avx2::contact_steps, &avx2::distances, &avx2::varied_contacts, &avx2::varied_steps},
#endif
#if defined(PYSIM_ISA_AVX512)
      {"avx512", &avx512::contact_steps, &avx512::distances, &avx512::varied_contacts, &avx512::varied_steps},
#endif
  };
  const std::string_view wanted = kernels().isa;
  for (const Tables& own : all) {
    if (own.isa == wanted) return own;
  }
  return all[0];
}

}  // namespace

/// Whether worlds run one at a time: many trees that touch each other are solved with matrices of their own
/// size.
static bool run_alone(const tree::ModelView<double>& view, const ContactBatch& batch) {
  int trees = 0;
  for (int b = 0; b < view.bodies; ++b) trees += view.joint[b].parent < 0 ? 1 : 0;
  return batch.contacts.contacts.moving_pairs > 0 && trees > dynamics::most_trees_in_packs;
}

void run_varied(const tree::Model& model, const ContactBatch& batch, bool convex, int threads) {
  auto view = model.view<double>();
  view.contacts = batch.contact_forces;
  view.joint_forces |= static_cast<const WorldBatch&>(batch).varied->joint_forces;
  const VariedKernels& kernels = *(convex ? tables().varied_contacts : tables().varied_steps);
  const int width = tables().steps->width;
  const bool alone = run_alone(view, batch);
  const auto run = [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
    void* const scratch = tree::workspace_memory();
    const std::ptrdiff_t whole = alone ? begin : end - (end - begin) % width;
    if (begin < whole) kernels.packs(view, batch, begin, whole, scratch);
    if (whole < end) kernels.singles(view, batch, whole, end, scratch);
  };
  if (threads == 1 || batch.states <= width) {
    run(0, batch.states);
  } else {
    parallel_for(batch.states, width, threads, run);
  }
}

void run_contacts(ContactKernel ContactKernels::* kernel,
                  const tree::Model& model,
                  const ContactBatch& batch,
                  int threads) {
  auto view = model.view<double>();
  view.contacts = batch.contact_forces;
  const ContactSteps& steps = *tables().steps;
  const bool alone = run_alone(view, batch);
  const auto run = [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
    void* const scratch = tree::workspace_memory();
    const std::ptrdiff_t whole = alone ? begin : end - (end - begin) % steps.width;
    if (begin < whole) (steps.pack.*kernel)(view, batch, begin, whole, scratch);
    if (whole < end) (steps.single.*kernel)(view, batch, whole, end, scratch);
  };
  if (threads == 1 || batch.states <= steps.width) {
    run(0, batch.states);
  } else {
    parallel_for(batch.states, steps.width, threads, run);
  }
}

tree::ContactForces contact_forces(const stepping::SmoothContacts& law,
                                   const std::vector<tree::ContactForces::Bodies>& bodies,
                                   const int* work) {
  const ContactSteps& steps = *tables().steps;
  return {law.contacts.pairs, bodies.data(), &law, steps.pack.wrench, steps.single.wrench, work};
}

stepping::PairGaps pair_gaps(const stepping::Contacts<double>& contacts,
                             const std::vector<tree::ContactForces::Bodies>& bodies) {
  const ContactSteps& steps = *tables().steps;
  return {bodies.data(), &contacts, steps.pack.gap, steps.single.gap};
}

const DistanceMap& distance_map() {
  return *tables().distances;
}

}  // namespace pysim::engine
