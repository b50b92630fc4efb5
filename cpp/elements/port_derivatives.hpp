// Derivatives of ports: rows of their motions, and of the forces that act on them.
//
//     frames        δX_AB = J δq in B      ∂V_AB/∂v = J      ∂V_AB/∂q_k = Σ_i H_ik v_i
//     path          ∂L/∂q = J              ∂L̇/∂v = J        ∂L̇/∂q = ∂(J v)/∂q
//
// H and the symbols are those of derivatives.hpp.
#pragma once

#include "elements/derivatives.hpp"
#include "elements/signals.hpp"

namespace pysim::elements {

/// Rows (motions × reduced_nv) of ports, on the user's coordinates.
template <class S>
struct PortRows {
  S *J, *rate;
};

/// Adds x to entry k of a row of the user's coordinates.
template <class S>
PYSIM_INLINE void add_to_row(const ModelOf<S>& model, int k, S x, S* row) {
  const auto& at = model.mimic_v[k];
  row[at.reduced] = fma(all<S>(at.ratio), x, row[at.reduced]);
}

/// Rows of a pair of frames; adds `F`·∂J/∂q to ∂τ/∂q.
template <class S>
void frame_rows(const ModelOf<S>& model,
                const SegmentDerivatives<S>& d,
                const S* v,
                const Element<typename S::Parameter>& port,
                const Force<S>& F,
                const PortRows<S>& rows,
                Workspace<S> w) {
  const RelativeMotion<S> relative = relative_motion<S>(model, d.body, d.columns, port, w);
  visit_curvature<S>(model, relative, d.slope, [&](int i, int k, const Motion<S>& H) {
    relative.V_rate[k] = fma(v[i], H, relative.V_rate[k]);
    add_entry(model, i, k, d.sign * dot(H, F), d.by_q);
  });
  const auto put = [&](int k, const Motion<S>& column, S* to) {
    const S number[6] = {column.v.x, column.v.y, column.v.z, column.w.x, column.w.y, column.w.z};
    for (int c = 0; c < 6; ++c) add_to_row(model, k, number[c], to + c * model.reduced_nv);
  };
  for (int n = 0; n < relative.joints; ++n) {
    const Joint& joint = model.joint[relative.joint[n].body];
    for (int k = joint.v; k < joint.v + joint.nv; ++k) {
      put(k, relative.joint[n].moves_b ? relative.s[k] : -relative.s[k], rows.J);
      put(k, relative.V_rate[k], rows.rate);
    }
  }
}

/// Rows of a path; adds −T ∂²L/∂q² to ∂τ/∂q.
template <class S>
void path_rows(const ModelOf<S>& model,
               const SegmentDerivatives<S>& d,
               const S* v,
               const Element<typename S::Parameter>& port,
               S tension,
               const PortRows<S>& rows,
               Workspace<S> w) {
  const auto add = [&](int k, S stretch, S stretch_rate) {
    add_to_row(model, k, stretch, rows.J);
    add_to_row(model, k, stretch_rate, rows.rate);
  };
  const PathSupport support = path_support<S>(model, port, w);
  visit_path_slopes<S>(model, d, v, port, support, tension, add, w);
}

/// Rows of the ports that slopes depend on, at the tree's q and v, whose efforts are `effort(i)`; adds what
/// the motion of the ports alone changes to ∂τ/∂q.
template <class S, class Effort>
PortRows<S> port_rows(const ModelOf<S>& model,
                      const SegmentDerivatives<S>& d,
                      const S* v,
                      const Effort& effort,
                      Workspace<S>& w) {
  const int ports = model.signals->slope_ports;
  int motions = 0;
  for (int k = 0; k < ports; ++k) motions += port_motions(model.port[k].kind);
  const std::ptrdiff_t size = std::ptrdiff_t{1} * motions * model.reduced_nv;
  const PortRows<S> rows = {take<S>(w, size), take<S>(w, size)};
  for (std::ptrdiff_t i = 0; i < size; ++i) rows.J[i] = rows.rate[i] = all<S>(0);
  PortRows<S> at = rows;
  for (int k = 0, i = 0; k < ports; ++k) {
    const auto& port = model.port[k];
    const int count = port_motions(port.kind);
    const bool driven = k < model.signals->driven;
    const auto own = [&](int n) { return driven ? effort(i + n) : all<S>(0); };
    if (port.kind == ElementKind::path) {
      path_rows<S>(model, d, v, port, own(0), at, w);
    } else {
      const Force<S> F = {{own(0), own(1), own(2)}, {own(3), own(4), own(5)}};
      frame_rows<S>(model, d, v, port, F, at, w);
    }
    at.J += count * model.reduced_nv;
    at.rate += count * model.reduced_nv;
    i += count;
  }
  return rows;
}

}  // namespace pysim::elements
