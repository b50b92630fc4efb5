// Dispatch of steps with contacts to the kernels of the instruction set in use.
#include "engine/contact_dispatch.hpp"

#include <string_view>

#include "dynamics/coupled_trees.hpp"
#include "engine/dispatch.hpp"
#include "engine/floating_point.hpp"
#include "engine/threads.hpp"
#include "engine/world_operations.hpp"
#include "tree/workspace.hpp"

namespace pysim::engine {

namespace {

struct Tables {
  std::string_view isa;
  const ContactSteps* steps;
  const FloatWorlds* worlds;
  const DistanceMap* distances;
  const VariedKernels *varied_contacts, *varied_steps;
  const FloatWorlds* float_varied;
};

#define PYSIM_TABLES(isa)      \
  {#isa,                       \
   &isa::contact_steps,        \
   &isa::float_stepped_worlds, \
   &isa::distances,            \
   &isa::varied_contacts,      \
   &isa::varied_steps,         \
   &isa::float_varied_worlds},

const Tables& tables() {
  static const Tables all[] = {PYSIM_FOR_EACH_ISA(PYSIM_TABLES)};
  const std::string_view wanted = kernels().isa;
  for (const Tables& own : all) {
    if (own.isa == wanted) return own;
  }
  return all[0];
}

/// Runs whole packs, and the states that remain one by one, on threads. Many trees that touch each other run
/// one by one: they are solved with matrices of their own size.
template <class Kernel, class View, class Batch>
void run_packs(Kernel pack,
               Kernel single,
               int width,
               const View& view,
               const Batch& batch,
               int moving_pairs,
               int threads) {
  int trees = 0;
  for (int b = 0; b < view.bodies; ++b) trees += view.joint[b].parent < 0 ? 1 : 0;
  const bool alone = moving_pairs > 0 && trees > dynamics::most_trees_in_packs;
  const auto run = [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
    void* const scratch = tree::workspace_memory();
    const std::ptrdiff_t whole = alone ? begin : end - (end - begin) % width;
    if (begin < whole) pack(view, batch, begin, whole, scratch);
    if (whole < end) single(view, batch, whole, end, scratch);
  };
  if (threads == 1 || batch.states <= width) {
    run(0, batch.states);
  } else {
    parallel_for(batch.states, width, threads, run);
  }
}

}  // namespace

void run_varied(const tree::Model& model, const ContactBatch& batch, bool convex, int threads) {
  auto view = model.view<double>();
  view.contacts = batch.contact_forces;
  view.joint_forces |= static_cast<const WorldBatch<double>&>(batch).varied->joint_forces;
  const VariedKernels& kernels = *(convex ? tables().varied_contacts : tables().varied_steps);
  run_packs(kernels.pack,
            kernels.single,
            tables().steps->width,
            view,
            batch,
            batch.contacts.contacts.moving_pairs,
            threads);
}

void run_contacts(ContactKernel ContactKernels::* kernel,
                  const tree::Model& model,
                  const ContactBatch& batch,
                  int threads) {
  auto view = model.view<double>();
  view.contacts = batch.contact_forces;
  const ContactSteps& steps = *tables().steps;
  run_packs(steps.pack.*kernel,
            steps.single.*kernel,
            steps.width,
            view,
            batch,
            batch.contacts.contacts.moving_pairs,
            threads);
}

void run_float_worlds(Kernel<float> FloatWorlds::Schemes::* kernel,
                      const tree::Model& model,
                      const ContactBatchOf<float>& batch,
                      int threads) {
  const tree::VariedNumbers* const varied = static_cast<const WorldBatch<float>&>(batch).varied;
  const FloatWorlds& worlds = varied == nullptr ? *tables().worlds : *tables().float_varied;
  auto view = model.view<float>();
  view.joint_forces |= varied != nullptr && varied->joint_forces;
  const auto flushed = [](Kernel<float> run) {
    return [run](const auto& view, const auto& own, std::ptrdiff_t begin, std::ptrdiff_t end, void* scratch) {
      const FlushDenormals flush;
      run(view, own, begin, end, scratch);
    };
  };
  run_packs(flushed(worlds.pack.*kernel),
            flushed(worlds.single.*kernel),
            2 * tables().steps->width,
            view,
            batch,
            batch.contacts.contacts.moving_pairs,
            threads);
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
