// Smooth law of a model's contacts, for the kernels of the instruction set in use.
#pragma once

#include <vector>

#include "engine/contact_dispatch.hpp"
#include "engine/contact_model.hpp"

namespace pysim::engine {

/// The smooth law of contacts ; none of null.
class SmoothLaw {
 public:
  explicit SmoothLaw(const ModelContacts* contacts) {
    if (contacts == nullptr) return;
    law_ = {contacts->view(), contacts->slip_speed()};
    for (int k = 0; k < contacts->pairs(); ++k) {
      const auto pair = contacts->pair(k);
      bodies_.push_back({pair.a, pair.b});
    }
    forces_ = contact_forces(law_, bodies_, contacts->work());
    acts_ = true;
  }
  SmoothLaw(const SmoothLaw&) = delete;  // forces refer to the law
  SmoothLaw& operator=(const SmoothLaw&) = delete;

  const contact::SmoothContacts& law() const { return law_; }
  const tree::ContactForces* forces() const { return acts_ ? &forces_ : nullptr; }
  stepping::PairGaps gaps() const { return pair_gaps(law_.contacts, bodies_); }

 private:
  bool acts_ = false;
  contact::SmoothContacts law_ = {};
  std::vector<tree::ContactForces::Bodies> bodies_;
  tree::ContactForces forces_ = {};
};

}  // namespace pysim::engine
