// Dispatch of steps with contacts to the kernels of the instruction set in use.
#include "engine/contact_dispatch.hpp"

#include <string_view>

#include "dynamics/coupled_trees.hpp"
#include "engine/dispatch.hpp"
#include "engine/floating_point.hpp"
#include "engine/gradients.hpp"
#include "engine/threads.hpp"
#include "engine/world_operations.hpp"
#include "tree/workspace.hpp"

namespace pysim::engine {

namespace {

/// Kernels of packs and of single worlds.
template <class Table>
struct PackAndSingle {
  const Table &pack, &single;
};

struct Tables {
  std::string_view isa;
  PackAndSingle<ContactKernels> contacts;
  PackAndSingle<FloatSteps> float_worlds, varied_floats;
  const VariedKernels &varied_contacts, &varied_steps;
  ContactKernel worlds_twice, varied_twice;  ///< packs of two registers; null if there are none
  const GradientKernels &convex_gradients, &scheme_gradients;
  const DistanceMap& distances;
};

#define PYSIM_TABLES(isa)                               \
  {#isa,                                                \
   {isa::double_contacts, isa::one_double_contacts},    \
   {isa::float_worlds, isa::one_float_world},           \
   {isa::varied_float_worlds, isa::varied_float_world}, \
   isa::varied_contacts,                                \
   isa::varied_steps,                                   \
   isa::worlds_twice,                                   \
   isa::varied_twice,                                   \
   isa::convex_gradients,                               \
   isa::scheme_gradients,                               \
   isa::distances},

const Tables& tables() {
  static const Tables all[] = {PYSIM_FOR_EACH_ISA(PYSIM_TABLES)};
  const std::string_view wanted = kernels().isa;
  for (const Tables& own : all) {
    if (own.isa == wanted) return own;
  }
  return all[0];
}

/// Whether worlds of a model use packs of two registers, which does not change results. Motion in a plane is
/// a little arithmetic between divisions and short loops, and a plugin's program is read instruction by
/// instruction: both are bound by latency. Trees and loops in space fill the registers. Implicit and adaptive
/// schemes have no such kernels, which would double the time that these take to compile, and neither have
/// smooth contacts, whose law is that of packs of one register.
bool takes_two(const tree::ModelView<double>& model, const WorldBatch<double>& batch) {
  if (batch.call.adaptive != nullptr || batch.integrator > Integrator::rk4) return false;
  if (model.contacts != nullptr) return false;
  return model.planar_loops || (model.rows == 0 && (model.planar_tree || model.programs > 0));
}

/// Kernels of packs and of single worlds; `twice`, of packs of two registers, may be null.
template <class Real>
struct PackKernels {
  Kernel<Real> twice, pack, single;
  int width;  ///< of a pack of one register
};

/// Runs whole packs, and the states that remain one by one, on threads. Many trees that touch each other run
/// one by one: they are solved with matrices of their own size. Packs are of two registers if there are
/// enough for every thread.
template <class Real>
void run_packs(const PackKernels<Real>& kernels,
               const tree::ModelView<Real>& view,
               const ContactBatchOf<Real>& batch,
               int threads) {
  int trees = 0;
  for (int b = 0; b < view.bodies; ++b) trees += view.joint[b].parent < 0 ? 1 : 0;
  const bool alone = batch.contacts.contacts.moving_pairs > 0 && trees > dynamics::most_trees_in_packs;
  const int width = kernels.width, widest = kernels.twice == nullptr ? width : 2 * width;
  const auto run_part = [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
    void* const scratch = tree::workspace_memory();
    const auto run_whole = [&](Kernel<Real> kernel, int lanes) {
      const std::ptrdiff_t whole = end - (end - begin) % lanes;
      if (begin < whole) kernel(view, batch, begin, whole, scratch);
      begin = whole;
    };
    if (!alone && kernels.twice != nullptr) run_whole(kernels.twice, widest);
    if (!alone) run_whole(kernels.pack, width);
    run_whole(kernels.single, 1);
  };
  const auto run = [&](std::ptrdiff_t begin, std::ptrdiff_t end) {
    if constexpr (sizeof(Real) == 4) {
      const FlushDenormals flush;
      run_part(begin, end);
    } else {
      run_part(begin, end);
    }
  };
  if (threads == 1 || batch.states <= width) {
    run(0, batch.states);
  } else {
    constexpr std::ptrdiff_t packs_a_thread = 4;
    const bool enough = batch.states >= packs_a_thread * thread_count(threads) * widest;
    parallel_for(batch.states, enough ? widest : width, threads, run);
  }
}

}  // namespace

void run_contacts(ContactKernel ContactKernels::* kernel,
                  const tree::Model& model,
                  const ContactBatch& batch,
                  int threads) {
  auto view = model.view<double>();
  view.contacts = batch.contact_forces;
  const auto& [pack, single] = tables().contacts;
  run_packs<double>({nullptr, pack.*kernel, single.*kernel, kernels().float64.width}, view, batch, threads);
}

void run_worlds(const tree::Model& model, const WorldBatch<double>& batch, bool convex, int threads) {
  const Tables& table = tables();
  auto view = model.view<double>();
  view.contacts = batch.contact_forces;
  const Precision<double>& kernel = kernels().float64;
  PackKernels<double> chosen = {
      table.worlds_twice, kernel.pack.advance_worlds, kernel.single.advance_worlds, kernel.width};
  if (batch.varied != nullptr) {
    view.joint_forces |= batch.varied->joint_forces;
    const VariedKernels& varied = convex ? table.varied_contacts : table.varied_steps;
    chosen = {table.varied_twice, varied.pack, varied.single, kernel.width};
    if (batch.call.adaptive != nullptr) chosen = {nullptr, varied.single, varied.single, 1};
  } else if (convex) {
    chosen.pack = table.contacts.pack.advance_worlds;
    chosen.single = table.contacts.single.advance_worlds;
  }
  if (convex || !takes_two(view, batch)) chosen.twice = nullptr;
  run_packs(chosen, view, batch, threads);
}

void run_worlds(const tree::Model& model, const WorldBatch<float>& batch, bool convex, int threads) {
  const auto& [pack, single] = batch.varied == nullptr ? tables().float_worlds : tables().varied_floats;
  const auto scheme = convex ? &FloatSteps::convex : &FloatSteps::smooth;
  auto view = model.view<float>();
  view.joint_forces |= batch.varied != nullptr && batch.varied->joint_forces;
  run_packs<float>({nullptr, pack.*scheme, single.*scheme, kernels().float32.width}, view, batch, threads);
}

void run_gradients(const tree::Model& model, const GradientBatch& batch, bool convex, int threads) {
  const bool differs = batch.varied != nullptr;
  const GradientKernels& kernels = convex ? tables().convex_gradients : tables().scheme_gradients;
  const ContactKernel kernel = differs ? kernels.varied : kernels.same;
  auto view = model.view<double>();
  view.contacts = batch.contact_forces;
  view.joint_forces |= differs && batch.varied->joint_forces;
  run_packs<double>({nullptr, kernel, kernel, worlds_in_pack()}, view, batch, threads);
}

int worlds_in_pack() {
  return kernels().float64.width;
}

tree::ContactForces contact_forces(const contact::SmoothContacts& law,
                                   const std::vector<tree::ContactForces::Bodies>& bodies,
                                   const int* work) {
  const auto& [pack, single] = tables().contacts;
  return {law.contacts.pairs, bodies.data(), &law, pack.wrench, single.wrench, work};
}

stepping::PairGaps pair_gaps(const contact::Contacts<double>& contacts,
                             const std::vector<tree::ContactForces::Bodies>& bodies) {
  const auto& [pack, single] = tables().contacts;
  return {bodies.data(), &contacts, pack.gap, single.gap};
}

const DistanceMap& distance_map() {
  return tables().distances;
}

}  // namespace pysim::engine
