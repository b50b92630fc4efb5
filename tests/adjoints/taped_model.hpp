// A model whose numbers are on a tape, to which adjoints add.
#pragma once

#include "mechanism.hpp"
// kernels, which call functions of numbers by their qualified names
#include "stepping/taped_step.hpp"

namespace pysim::adjoints {

using R = simd::Reverse<P, true>;

/// Numbers of the model on a tape, to which adjoints add.
class TapedModel {
 public:
  TapedModel(const tree::ModelView<P>& model, const tree::VariedNumbers& varied, tree::Workspace<P>& w)
      : tape(tree::take_tape<P>(w)),
        varied_(varied),
        number_(tree::take<R>(w, varied.count)),
        numbers_(varied_, tape, number_),
        view(tree::ModelCopy<R, P, stepping::TapedNumbers<P>>(w, numbers_).of(model)),
        places_(tree::take<Vec3<P>>(w, model.bodies)) {
    for (int b = 0; b < model.bodies; ++b) places_[b] = spatial::zero3<P>();
  }

  simd::Tape<P> tape;

  /// To which cotangents of joints' places in their parents are added.
  Vec3<P>* places() const { return places_; }

  /// Adds the cotangents of the numbers times their directions; those of armatures beside, null for none.
  void pull(const P* armature, const std::vector<double>& along, Comparison& to) const {
    for (int i = 0; armature != nullptr && i < view.nv; ++i) tree::seed(view.armature[i], armature[i]);
    for (int b = 0; b < view.bodies; ++b) {
      const auto* const place = view.constants[b].placement + 9;
      tree::seed(place[0], places_[b].x), tree::seed(place[1], places_[b].y),
          tree::seed(place[2], places_[b].z);
    }
    for (int n = 0; n < varied_.count; ++n) {
      to.adjoint(value(tree::take_cotangent(number_[n])), along[static_cast<std::size_t>(n)]);
    }
  }

 private:
  const tree::VariedNumbers varied_;
  R* const number_;
  stepping::TapedNumbers<P> numbers_;

 public:
  const tree::ModelView<R> view;

 private:
  Vec3<P>* const places_;
};

}  // namespace pysim::adjoints
