// Points that touch at the end of a convex step, as the contacts remember and report them.
#pragma once

#include "contact/deflections.hpp"
#include "stepping/end_report.hpp"

namespace pysim::stepping {

/// Adds the points that touch in some world; where they do not, friction that outlasts the normal force is
/// not read.
template <class S>
void add_touching_points(const contact::Contacts<typename S::Parameter>& contacts,
                         const contact::ContactState<S>& state,
                         EndReport<S>& report,
                         Workspace<S> w) {
  using Report = contact::ContactReport;
  const contact::Deflections<S> points(contacts, state.live->places);
  const int* const ascending = state.live->ascending(w);
  for (int n = 0; n < state.live->count; ++n) {
    const int point = state.live->number[ascending[n]];
    const auto touches = state.memory_of(point)[contact::ContactMemory::feature] > all<S>(0);
    if (none(touches)) continue;
    const S* const from = state.report_of(point);
    const auto three = [&](int at) {
      return collision::select(
          touches, spatial::Vec3<S>{from[at], from[at + 1], from[at + 2]}, spatial::zero3<S>());
    };
    const auto force = three(Report::force);
    const auto pushes = abs(force.x) + abs(force.y) + abs(force.z) > all<S>(0);
    const int shapes = points.pair_of(point);
    contact::ContactPair<typename S::Parameter> room;
    const auto& pair = contacts.template pair_at<S>(shapes, room);
    report.add({shapes,
                pair.a,
                pair.b,
                force,
                three(Report::moment),
                three(Report::position),
                dot(force, three(Report::normal)),
                pushes});
  }
}

}  // namespace pysim::stepping
