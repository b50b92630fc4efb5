// Gradients of worlds: which steps have them, and one step back.
#include "engine/gradients.hpp"

#include <algorithm>

#include "constraints/contact_law_product.hpp"
#include "engine/contact_dispatch.hpp"
#include "stepping/sampled_signals.hpp"

namespace pysim::engine {

namespace {

/// Kinds of pairs of shapes that have no derivatives; empty if there are none.
std::string refused_pairs(const contact::Contacts<double>& contacts) {
  if (contacts.pair == nullptr && contacts.pairs > 0) return "more than 4096 pairs of shapes that may touch";
  return "";
}

/// Contacts that are solved.
contact::Contacts<double> contacts_of(const Worlds<double>& worlds) {
  return worlds.is_convex() ? worlds.model_contacts()->view() : contact::Contacts<double>{};
}

/// What keeps steps of a scheme that solves no contacts from having a gradient; empty if there is nothing.
std::string scheme_refusal(const Worlds<double>& worlds) {
  const std::string& name = worlds.scheme().integrator;
  const std::string scheme = "integrator = \"" + name + "\"";
  constexpr const char* differentiated[] = {
      "semi_implicit", "rk2", "rk4", "implicit_midpoint", "generalized_alpha"};
  if (std::find(std::begin(differentiated), std::end(differentiated), name) == std::end(differentiated)) {
    return scheme;
  }
  return "";
}

/// Whether some sampled block is `such`, a function of its program.
template <class Such>
bool has_block(const Worlds<double>& worlds, const Such& such) {
  const tree::Signals* const signals = worlds.model().view<double>().signals;
  for (int k = worlds.blocks().first_bit; signals != nullptr && k < signals->blocks; ++k) {
    if (such(*signals, signals->block[k].program)) return true;
  }
  return false;
}

bool has_signals(const Worlds<double>& worlds) {
  return worlds.model().signals() != nullptr && worlds.scheme().has_signals;
}

/// Switches that steps may meet: of the contacts that are solved, else of smooth ones and all coordinates of
/// the tree.
stepping::SwitchSizes switch_sizes(const Worlds<double>& worlds) {
  const int bounded = has_signals(worlds) ? worlds.model().signals()->bounded : 0;
  if (worlds.is_convex()) {
    const auto contacts = contacts_of(worlds);
    return {contacts.pairs, contacts.coordinates, bounded};
  }
  const tree::ContactForces* const smooth = worlds.contact_forces();
  return {smooth == nullptr ? 0 : smooth->pairs, worlds.model().view<double>().nv, bounded};
}

}  // namespace

std::string gradient_refusal(const Worlds<double>& worlds) {
  const auto view = worlds.model().view<double>();
  const WorldScheme& scheme = worlds.scheme();
  if (!worlds.is_convex()) {
    if (const std::string refusal = scheme_refusal(worlds); !refusal.empty()) return refusal;
  }
  if (scheme.accuracy > 0) return "simulation.accuracy";
  if (scheme.passes > 2) return "more than two passes";
  if (view.nv == 0) return "no coordinates";
  if (view.callback_numbers > 0) return "joints in Python";
  if (worlds.has_caller_steps()) return "steps in Python";
  if (worlds.blocks().python != 0) return "sampled blocks that run between steps";
  if (scheme.events != nullptr) return "events";
  return refused_pairs(contacts_of(worlds));
}

std::string matrix_refusal(const Worlds<double>& worlds) {
  const auto view = worlds.model().view<double>();
  if (!worlds.is_convex()) return "integrator = \"" + worlds.scheme().integrator + "\"";
  const auto reads_end = [&](const tree::Signals& signals, const tree::SignalProgram& block) {
    return block.after_dynamics || stepping::reads_contacts(signals, block, worlds.sensor_list());
  };
  if (has_block(worlds, reads_end)) return "sampled blocks that read what a step ends with";
  return view.rows > 0 ? "loops, couplings or prescribed motions" : "";
}

std::vector<std::pair<std::string, std::ptrdiff_t>> cotangent_sizes(const Worlds<double>& worlds) {
  const auto& model = worlds.model();
  const auto view = model.view<double>();
  const auto contacts = contacts_of(worlds);
  const std::ptrdiff_t three = 3, signals = has_signals(worlds) ? worlds.parts().sizes.signals : 0;
  return {{"q", view.reduced_nv},
          {"v", view.reduced_nv},
          {"deflections", three * contacts.points},
          {"turnings", three * contacts.turning_points},
          {"coordinates", contacts.coordinates},
          {"signals", signals},
          {"scheme", worlds.is_convex() ? 0 : worlds.parts().sizes.scheme},
          {"theta", std::ptrdiff_t{10} * view.bodies},
          {"laws", std::ptrdiff_t{constraints::law_numbers} * contacts.pairs},
          {"numbers", worlds.varied(0).count},
          {"switches", switch_sizes(worlds).count()}};
}

int solution_size(const Worlds<double>& worlds) {
  if (!worlds.is_convex()) return 0;
  return contact::solution_numbers(worlds.model().view<double>().nv);
}

MatrixNumbers::MatrixNumbers(const Worlds<double>& worlds, const std::vector<std::vector<int>>& numbers)
    : lists_(numbers) {
  if (numbers.size() != 4) throw std::invalid_argument("states must be points, coordinates, signals, inputs");
  states_ = static_cast<int>(numbers[2].size());
  lists_[2].insert(lists_[2].end(), numbers[3].begin(), numbers[3].end());
  lists_.pop_back();
  const auto contacts = contacts_of(worlds);
  const int most[] = {contacts.points,
                      contacts.coordinates,
                      has_signals(worlds) ? static_cast<int>(worlds.parts().sizes.signals) : 0};
  for (std::size_t k = 0; k < lists_.size(); ++k) {
    for (const int number : lists_[k]) {
      if (number < 0 || number >= most[k]) throw std::invalid_argument("states must be those of the worlds");
    }
  }
  const std::size_t memory = 3 * lists_[0].size() + lists_[1].size();
  rows_ = 2 * worlds.model().view<double>().reduced_nv + 3 * contacts.turning_points +
          static_cast<int>(memory) + states_;
}

StepMatrices MatrixNumbers::view() const {
  const auto size = [this](int k) { return static_cast<int>(lists_[k].size()); };
  const int inputs = size(2) - states_;
  return {lists_[0].data(),
          lists_[1].data(),
          lists_[2].data(),
          size(0),
          size(1),
          states_,
          inputs,
          rows_,
          rows_ + inputs,
          nullptr,
          nullptr};
}

bool may_be_left_out(const std::string& name) {
  return name == "theta" || name == "laws" || name == "switches";
}

SignalStart signal_start(const std::vector<int>& places, const std::vector<int>& outputs) {
  const auto size = [](const std::vector<int>& x) { return static_cast<int>(x.size()); };
  return {true, size(places), places.data(), size(outputs), outputs.data()};
}

Cotangents cotangents_in(const std::vector<double*>& parts) {
  return {parts[0],
          parts[1],
          parts[2],
          parts[3],
          parts[4],
          parts[5],
          parts[6],
          parts[7],
          parts[8],
          parts[9],
          parts[10]};
}

void pull_step(const Worlds<double>& worlds, Selection selection, GradientBatch& batch, int threads) {
  worlds.check(selection, "worlds");
  batch.states = selection.count;
  batch.actuation = &worlds.actuation();
  auto& call = batch.call;
  call.index = selection.index;
  call.worlds = worlds.parts();
  call.blocks = worlds.sampled_periods();
  call.longest = worlds.scheme().step;
  if (!has_signals(worlds)) call.worlds.signals = nullptr;
  batch.integrator = worlds.integrator();
  batch.contact_forces = worlds.contact_forces();
  batch.spectral_radius = worlds.scheme().spectral_radius;
  batch.contacts.contacts = contacts_of(worlds);
  batch.contacts.passes = worlds.scheme().passes;
  batch.contacts.tolerance = worlds.scheme().solver_tolerance;
  if (worlds.is_convex() && call.worlds.signals != nullptr) {
    batch.contacts.work = worlds.model_contacts()->work();
  }
  batch.switches = switch_sizes(worlds);
  batch.carried = worlds.is_convex() ? 0 : worlds.parts().sizes.scheme;
  batch.contacts.sensors = &worlds.sensor_list();
  const tree::VariedNumbers varied = worlds.varied(0);
  batch.varied = varied.count > 0 ? &varied : nullptr;
  run_gradients(worlds.model(), batch, worlds.is_convex(), threads);
}

}  // namespace pysim::engine
