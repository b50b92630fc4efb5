// Gradients of worlds: which steps have them, and one step back.
#include "engine/gradients.hpp"

#include "engine/contact_dispatch.hpp"

namespace pysim::engine {

namespace {

/// Kinds of pairs of shapes that have no derivatives; empty if there are none.
std::string refused_pairs(const contact::Contacts<double>& contacts) {
  if (contacts.moving_pairs > 0) return "links that may touch each other";
  if (contacts.turning_points > 0) return "rolling or spinning friction";
  for (int k = 0; k < contacts.pairs; ++k) {
    if (contacts.pair == nullptr) return "more than 4096 pairs of shapes that may touch";
    if (!contacts.pair[k].plane) return "a surface that is not a plane";
  }
  return "";
}

bool has_signals(const Worlds<double>& worlds) {
  return worlds.model().signals() != nullptr && worlds.scheme().has_signals;
}

}  // namespace

std::string gradient_refusal(const Worlds<double>& worlds) {
  const auto view = worlds.model().view<double>();
  const WorldScheme& scheme = worlds.scheme();
  if (!worlds.is_convex()) return "integrator = \"" + scheme.integrator + "\"";
  if (scheme.accuracy > 0) return "simulation.accuracy";
  if (scheme.passes > 2) return "more than two passes";
  if (view.rows > 0) return "loops and prescribed motions";
  if (view.mimic) return "mimic joints and couplings";
  if (view.callback_numbers > 0) return "joints in Python";
  if (view.elements > 0) return "springs, dampers and forces between links";
  if (!worlds.blocks().periods.empty()) return "sampled blocks";
  if (worlds.has_own_steps()) return "steps in Python";
  if (scheme.events != nullptr) return "events";
  return refused_pairs(worlds.model_contacts()->view());
}

std::vector<std::ptrdiff_t> cotangent_sizes(const Worlds<double>& worlds) {
  const auto& model = worlds.model();
  const auto view = model.view<double>();
  const auto contacts = worlds.model_contacts()->view();
  return {view.nv,
          view.nv,
          std::ptrdiff_t{3} * contacts.points,
          contacts.coordinates,
          has_signals(worlds) ? std::ptrdiff_t{worlds.parts().sizes.signals} : 0,
          std::ptrdiff_t{10} * view.bodies,
          std::ptrdiff_t{6} * contacts.pairs,
          worlds.varied(0).count};
}

Cotangents cotangents_in(const std::vector<double*>& parts) {
  return {parts[0], parts[1], parts[2], parts[3], parts[4], parts[5], parts[6], parts[7]};
}

void pull_step(const Worlds<double>& worlds, Selection selection, GradientBatch& batch, int threads) {
  worlds.check(selection, "worlds");
  if (selection.count % worlds_in_pack() != 0) throw std::invalid_argument("worlds must be whole packs");
  batch.states = selection.count;
  batch.actuation = &worlds.actuation();
  auto& call = batch.call;
  call.index = selection.index;
  call.worlds = worlds.parts();
  if (!has_signals(worlds)) call.worlds.signals = nullptr;
  batch.contacts.contacts = worlds.model_contacts()->view();
  batch.contacts.passes = worlds.scheme().passes;
  batch.contacts.tolerance = worlds.scheme().solver_tolerance;
  batch.contacts.work = call.worlds.signals == nullptr ? nullptr : worlds.model_contacts()->work();
  const tree::VariedNumbers varied = worlds.varied(0);
  batch.varied = varied.count > 0 ? &varied : nullptr;
  run_gradients(worlds.model(), batch, threads);
}

}  // namespace pysim::engine
