// Report of the contacts at the end of a convex step with numbers on a tape.
//
//     f = R_WB γ / h,  x = X_WB p,  n_W = R_WB n        inputs of the tape, at the poses of the start
//
// Their cotangents go on through the contacts (contact_product.hpp).
#pragma once

#include "stepping/convex/contact_product.hpp"
#include "stepping/end_report.hpp"
#include "tree/tape.hpp"

namespace pysim::stepping {

template <class S, bool differs>
class TapedReport : public EndReport<simd::Reverse<S, differs>> {
 public:
  using R = simd::Reverse<S, differs>;

  template <class W>
  TapedReport(int points, const contact::SensorList* sensors, W& w)
      : EndReport<R>(points, sensors, w), at_(take<contact::PointReport<Vec3<R>>>(w, points)) {}

  /// Takes what the points report as inputs; their impulses have been made.
  void take_points(const ContactProduct<S>& contacts, simd::Tape<S>& tape) {
    for (int n = 0; n < contacts.count(); ++n) {
      const auto at = contacts.report(n);
      const auto& pair = *contacts[n].pair;
      const auto pushes = dot(at.force, at.force) > all<S>(0);
      const auto& own = at_[n] = {inputs(at.force, tape),
                                  inputs(at.moment, tape),
                                  inputs(at.position, tape),
                                  inputs(at.normal, tape)};
      this->add({contacts.pair_number(contacts[n]),
                 pair.a,
                 pair.b,
                 own.force,
                 own.moment,
                 own.position,
                 dot(own.force, own.normal),
                 simd::Mask<R>{pushes.lanes}});
    }
  }

  /// Takes the cotangents of the inputs back to the contacts.
  void pull(ContactProduct<S>& contacts) const {
    for (int n = 0; n < this->count(); ++n) {
      const auto& at = at_[n];
      contacts.pull_report(n, {taken(at.force), taken(at.moment), taken(at.position), taken(at.normal)});
    }
  }

 private:
  static Vec3<R> inputs(const Vec3<S>& x, simd::Tape<S>& tape) {
    const auto input = [&](S value) { return R(value, &tape, tape.add_node()); };
    return {input(x.x), input(x.y), input(x.z)};
  }

  static Vec3<S> taken(const Vec3<R>& x) {
    return {tree::take_cotangent(x.x), tree::take_cotangent(x.y), tree::take_cotangent(x.z)};
  }

  contact::PointReport<Vec3<R>>* const at_;  ///< inputs, by point
};

}  // namespace pysim::stepping
