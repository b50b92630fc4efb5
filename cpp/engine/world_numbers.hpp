// Sizes of the records of worlds, and the numbers in which worlds of a structure may differ.
#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "contact/copy.hpp"
#include "engine/contact_model.hpp"
#include "stepping/world_record.hpp"

namespace pysim::engine {

/// Sizes without signals. `contacts` are those of convex steps, null for other schemes; `integrator` is a
/// scheme of the engine, null for one in Python.
inline stepping::WorldSizes world_sizes(const tree::Model& model,
                                        const ModelContacts* contacts,
                                        const Integrator* integrator) {
  stepping::WorldSizes n = {};
  n.q = model.nq();
  n.v = model.nv();
  n.loop_q = model.loop_nq();
  if (contacts != nullptr) {
    const auto memory = contacts->memory();
    n.scheme = memory.point(0);
    n.points = memory.points;
  } else if (integrator != nullptr) {
    n.scheme = solver_numbers(*integrator, model.nv(), model.rows());
    n.pivots = model.rows() > 0 ? 2 * model.rows() + 2 : 0;
  }
  return n;
}

/// Values of all numbers of a model and its contacts, in the order of tree/model_copy.hpp, and the tables
/// they are in.
struct NumberList {
  std::vector<double> values;
  std::vector<std::tuple<std::string, std::ptrdiff_t, int>>
      tables;             ///< name, place of the first number, records
  std::string structure;  ///< of the contacts

  void begin(const char* name, int records) {
    tables.emplace_back(name, static_cast<std::ptrdiff_t>(values.size()), records);
  }
  void operator()(double& to, const double& from) {
    to = from;
    values.push_back(from);
  }
};

/// Names the constants of programs of elements and signals by what they belong to: "constants of element 2",
/// "of its derivative", "of its energy"; "constants of signals: forces", "slopes", "readings", "block 0".
inline void name_constants(const tree::ModelView<double>& view, NumberList& numbers) {
  std::vector<std::string> owner(static_cast<std::size_t>(view.programs));
  const auto name = [&owner](int program, std::string what) {
    if (program >= 0) owner[static_cast<std::size_t>(program)] = std::move(what);
  };
  for (int e = 0; e < view.elements; ++e) {
    const std::string element = " of element " + std::to_string(e);
    name(view.element[e].program, element);
    name(view.element[e].derivative, " of the derivative" + element);
    name(view.element[e].energy, " of the energy" + element);
  }
  if (view.signals != nullptr) {
    name(view.signals->forces.program, " of signals: forces");
    name(view.signals->slopes.program, " of signals: slopes");
    name(view.signals->readings.program, " of signals: readings");
    for (int b = 0; b < view.signals->blocks; ++b) {
      name(view.signals->block[b].program.program, " of signals: block " + std::to_string(b));
    }
  }
  std::size_t program = 0;  // of the mechanism itself, before those of loops that are closed by joints
  for (auto& table : numbers.tables) {
    if (program == owner.size()) return;
    std::string& words = std::get<0>(table);
    if (words == "constants") words += owner[program++];
  }
}

inline NumberList list_numbers(const tree::Model& model, const ModelContacts* contacts) {
  NumberList found;
  tree::Workspace<double> w = {static_cast<double*>(tree::workspace_memory())};
  tree::ModelCopy<double, double, NumberList> copy(w, found);
  const auto view = model.view<double>();
  copy.of(view);
  name_constants(view, found);
  if (contacts == nullptr) return found;
  contact::copy_contacts(contacts->view(), view.nv, copy, found, w);
  found.structure = contacts->structure();
  return found;
}

}  // namespace pysim::engine
