// Slopes of worlds' rates: the kernel of numbers with slopes, and the rates of coordinates. One kernel serves
// all instruction sets: a tenth of an FMU's binary for each would save a master little.
// clang-format off
#include "simd/tangent.hpp"  // before the kernels, which call its functions by their qualified names
// clang-format on
#include "engine/rate_slopes.hpp"

#include <algorithm>

#include "engine/contact_operations.hpp"
#include "engine/dispatch.hpp"
#include "engine/run.hpp"
#include "engine/slope_operations.hpp"
#include "engine/world_rates.hpp"
#include "tree/workspace.hpp"

namespace pysim::engine {
namespace {

struct Portable;  // the tag of what is compiled for any processor
using Slope = simd::Tangent<simd::Pack<double, 1, Portable>>;

void run_slopes(const tree::Model& model, const SlopeBatch& batch, const tree::VariedNumbers& varied) {
  auto view = model.view<double>();
  view.joint_forces |= varied.joint_forces;
  tree::ContactForces forces = {};
  if (batch.contact_forces != nullptr) {
    forces = *batch.contact_forces;
    forces.single = &contact_wrench<Slope>;
    view.contacts = &forces;
  }
  const Kernel<double> kernel = &run<RateSlopes, Slope>;
  if (varied.count > 0) return run_varied_singles(kernel, view, batch, varied, 0, batch.states);
  kernel(view, batch, 0, batch.states, tree::workspace_memory());
}

}  // namespace

WorldSlopes::WorldSlopes(const Worlds<double>& worlds)
    : worlds_(worlds), law_(worlds.is_convex() ? nullptr : worlds.model_contacts()) {
  const auto& model = worlds.model();
  const auto* const own = model.signals();
  const auto size = [](int count) { return static_cast<std::size_t>(count); };
  q.resize(size(model.nq())), v.resize(size(model.nv()));
  coordinate_rates_.resize(q.size()), a_.resize(v.size());
  poses_.resize(16 * size(model.nbodies()));
  if (law_.forces() != nullptr) forces_.resize(3 * size(worlds.model_contacts()->pairs()));
  if (own == nullptr) return;
  signals.resize(size(own->numbers())), rates_.resize(size(own->states));
  readings_.resize(size(own->reading_count));
}

void WorldSlopes::clear() {
  for (auto* const own : {&q, &v, &signals}) std::fill(own->begin(), own->end(), 0.0);
  t = 0;
}

void WorldSlopes::compute(std::ptrdiff_t world) {
  const auto& parts = worlds_.parts();
  SlopeBatch batch = {};
  batch.states = 1;
  batch.q = parts.q + world * parts.sizes.q;
  batch.v = parts.v + world * parts.sizes.v;
  batch.times = parts.t + world;
  if (worlds_.model().signals() != nullptr) batch.signals = worlds_.signals(world);
  batch.actuation = &worlds_.actuation();
  batch.contact_forces = law_.forces();
  batch.q_slope = q.data(), batch.v_slope = v.data(), batch.signal_slopes = signals.data();
  batch.time_slopes = &t;
  batch.out = a_.data(), batch.out_v = rates_.data(), batch.readings = readings_.data();
  batch.poses = poses_.data(), batch.forces = forces_.data();
  run_slopes(worlds_.model(), batch, worlds_.varied(world));
  coordinate_rate_slopes(worlds_.model(), batch.q, batch.v, q.data(), v.data(), coordinate_rates_.data());
}

}  // namespace pysim::engine
