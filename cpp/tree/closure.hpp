// The joints that close the loops of a model.
#pragma once

#include "tree/model.hpp"

namespace pysim::tree {

/// A forest on the world, in which joint k closes loop k; and its view for the kernels.
struct Closure {
  Model model;
  ModelView<double> double_view;
  ModelView<float> float_view;

  explicit Closure(const std::vector<JointDescription>& joints)
      : model(joints, std::vector<PackedInertia>(joints.size()), no_gravity),
        double_view(model.view<double>()),
        float_view(model.view<float>()) {}

  template <class Real>
  const ModelView<Real>& view() const {
    if constexpr (sizeof(Real) == 8) {
      return double_view;
    } else {
      return float_view;
    }
  }

  static constexpr double no_gravity[3] = {0, 0, 0};
};

}  // namespace pysim::tree
