// Derivatives of contacts as forces, see contact_forces.hpp; the symbols are those of derivatives.hpp.
#pragma once

#include "elements/contact_forces.hpp"
#include "elements/derivatives.hpp"

namespace pysim::elements {

/// Adds `sign` ∂τ/∂q and ∂τ/∂v of all contacts to matrices of the user's coordinates (reduced_nv,
/// reduced_nv).
template <class S>
void add_contact_derivatives(
    const ModelOf<S>& model, const S* q, const S* v, S sign, S* by_q, S* by_v, Workspace<S> w) {
  const SegmentDerivatives<S> d = take_segment_derivatives(model, q, v, sign, by_q, by_v, w);
  ContactWrench<S>& C = *take<ContactWrench<S>>(w, 1);
  for (int k = 0; k < model.contacts->pairs; ++k) {
    if (!evaluate_contact<S>(model, d.body, k, true, C)) continue;
    const auto& own = model.contacts->pair[k];
    Workspace<S> inner = w;
    const RelativeMotion<S> relative =
        relative_motion<S>(model, d.body, d.columns, own.a, own.b, inverse(d.body[own.b].X_WB), inner);
    const auto slope = [&](int first) {
      return [&, first](const Motion<S>& J) { return C.slope_times(first, J); };
    };
    add_wrench_derivatives(model, d, v, relative, C.force(), slope(0), slope(36));
  }
}

/// The same of elements and contacts.
template <class S>
void add_derivatives_between_bodies(
    const ModelOf<S>& model, const S* q, const S* v, S sign, S* by_q, S* by_v, Workspace<S> w) {
  if (model.elements > 0) add_element_derivatives(model, q, v, sign, by_q, by_v, w);
  if (model.contacts != nullptr) add_contact_derivatives(model, q, v, sign, by_q, by_v, w);
}

}  // namespace pysim::elements
