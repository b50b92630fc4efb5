// Contacts at the end of a step as sampled blocks and signals read them: wrenches on the bodies, and the
// numbers of contact sensors.
//
//     f_B = R_WBᵀ f    t_B = R_WBᵀ ((x − p_B) × f + m)         f at x, as a convex step reports
//
// Smooth contacts report the wrench of a pair of shapes, at the origin of its second body.
//
// Accelerations follow from these wrenches at the state in which the step ends. Points are in ascending
// order, so that sums have the same bits whatever touches in other worlds.
#pragma once

#include "contact/sensors.hpp"
#include "elements/contact_forces.hpp"
#include "stepping/sampled_signals.hpp"

namespace pysim::stepping {

/// Blocks that are due at the end of a step, by what they read of it.
template <class S>
struct ReportReaders {
  bool accelerations = false;                   ///< or wrenches
  simd::Mask<S> contacts = simd::nowhere<S>();  ///< worlds in which contacts are read

  bool some() const { return accelerations || any(contacts); }
};

template <class S, class IsDue>
ReportReaders<S> report_readers(const tree::Signals& signals,
                                const contact::SensorList* sensors,
                                std::uint64_t due,
                                const IsDue& is_due) {
  ReportReaders<S> readers;
  for (int k = 0; k < signals.blocks; ++k) {
    if (((due >> k) & 1) == 0) continue;
    const SignalProgram& program = signals.block[k].program;
    readers.accelerations |= program.after_dynamics;
    if (sensors != nullptr && reads_contacts(signals, program, *sensors)) readers.contacts |= is_due(k);
  }
  return readers;
}

template <class S>
class EndReport {
 public:
  using Bodies = const elements::PlacedBody<S>*;

  /// A force on body b, in world axes, and its opposite on a, −1 for the world.
  struct Point {
    int shapes, a, b;  ///< the pair of shapes, and its bodies
    spatial::Vec3<S> force, moment, position;
    S normal_force;
    simd::Mask<S> pushes;
  };

  /// Room for some points; `sensors` measure them, null for none.
  template <class W>
  EndReport(int points, const contact::SensorList* sensors, W& w) : point_(take<Point>(w, points)) {
    if (sensors != nullptr) sensors_ = *sensors;
  }

  const contact::SensorList& sensors() const { return sensors_; }
  int count() const { return count_; }
  const Point& operator[](int n) const { return point_[n]; }
  void add(const Point& point) { point_[count_++] = point; }

  /// Adds the pairs of smooth contacts at the user's q and v.
  void add_pairs(const ModelOf<S>& model, const S* users_q, const S* users_v, Workspace<S> w) {
    if (model.contacts == nullptr) return;
    auto* const body = take<elements::PlacedBody<S>>(w, model.bodies);
    auto* const columns = take<spatial::Motion<S>>(w, model.stored_columns);
    auto& C = *take<elements::ContactWrench<S>>(w, 1);
    const S *const q = tree::full_q(model, users_q, w), *const v = tree::full_v(model, users_v, w);
    elements::place_bodies(model, q, v, body, columns);
    for (int k = 0; k < model.contacts->pairs; ++k) {
      if (!elements::evaluate_contact<S>(model, body, k, false, C)) continue;
      const auto& pair = model.contacts->pair[k];
      const spatial::Pose<S>& X = body[pair.b].X_WB;
      const S N = C.normal_force();
      add({k, pair.a, pair.b, X.R * C.force().f, X.R * C.force().t, X.p, N, N > all<S>(0)});
    }
  }

  /// Sets the numbers of sensors that blocks read, at the user's q. Returns the wrenches on the bodies, null
  /// if no block reads accelerations; they lie in `w`.
  const spatial::Force<S>* act(const ReportReaders<S>& readers,
                               const ModelOf<S>& model,
                               const S* users_q,
                               S* numbers,
                               Workspace<S>& w) const {
    auto* const body = take<elements::PlacedBody<S>>(w, model.bodies);
    auto* const columns = take<spatial::Motion<S>>(w, model.stored_columns);
    const S *const q = tree::full_q(model, users_q, w), *const still = nullptr;
    elements::place_bodies(model, q, still, body, columns);
    for (int k = 0; any(readers.contacts) && k < sensors_.count; ++k) {
      set_numbers(sensors_.sensor[k], model, body, readers.contacts, numbers);
    }
    if (!readers.accelerations) return nullptr;
    const auto wrenches = elements::take_wrenches<S>(model, body, w);
    add_wrenches(body, wrenches.sum);
    return wrenches.sum;
  }

 private:
  /// Adds the wrenches on the bodies, in their frames.
  void add_wrenches(Bodies body, spatial::Force<S>* sum) const {
    for (int n = 0; n < count_; ++n) {
      const Point& point = point_[n];
      sum[point.b] += wrench(point, body[point.b].X_WB);
      if (point.a >= 0) sum[point.a] = sum[point.a] - wrench(point, body[point.a].X_WB);
    }
  }

  static spatial::Force<S> wrench(const Point& point, const spatial::Pose<S>& X) {
    const auto torque = cross(point.position - X.p, point.force) + point.moment;
    return {transpose_times(X.R, point.force), transpose_times(X.R, torque)};
  }

  /// Sets the numbers of a sensor, in some worlds.
  void set_numbers(const contact::SensorView& sensor,
                   const ModelOf<S>& model,
                   Bodies body,
                   simd::Mask<S> worlds,
                   S* numbers) const {
    const spatial::Pose<S> frame = placed(sensor.body, sensor.frame, model, body),
                           axes = placed(sensor.axes_body, sensor.axes, model, body);
    const S o = all<S>(0);
    S normal = o;
    spatial::Vec3<S> force = {o, o, o}, torque = force;
    auto touches = simd::nowhere<S>();
    for (int n = 0; n < count_; ++n) {
      const Point& point = point_[n];
      const double sign = sign_of(sensor, point.shapes);
      if (sign == 0) continue;
      const S s = number(sign);
      touches |= point.pushes;
      normal = normal + point.normal_force;
      force = force + s * point.force;
      torque = torque + s * (cross(point.position - frame.p, point.force) + point.moment);
    }
    const auto f = transpose_times(axes.R, force), t = transpose_times(axes.R, torque);
    const S reading[] = {select(touches, all<S>(1), o), normal, f.x, f.y, f.z, t.x, t.y, t.z};
    for (int i = 0; i < contact::SensorView::numbers; ++i) {
      S& to = numbers[sensor.place[i]];
      to = select(worlds, reading[i], to);
    }
  }

  static double sign_of(const contact::SensorView& sensor, int shapes) {
    for (int i = 0; i < sensor.shapes; ++i) {
      if (sensor.shape[i] == shapes) return sensor.sign[i];
    }
    return 0;
  }

  /// Pose in the world of a frame in the user's frame of a body.
  static spatial::Pose<S> placed(int b, const double* frame, const ModelOf<S>& model, Bodies body) {
    const auto column = [&](int j) {
      return spatial::Vec3<S>{number(frame[j]), number(frame[4 + j]), number(frame[8 + j])};
    };
    const spatial::Pose<S> X = {{column(0), column(1), column(2)}, column(3)};
    if (b < 0) return X;
    const auto turn = transpose(spatial::all33<S>(model.constants[b].alignment));
    return body[b].X_WB * spatial::Pose<S>{turn * X.R, turn * X.p};
  }

  static S number(double x) { return all<S>(static_cast<typename S::Real>(x)); }

  Point* const point_;
  int count_ = 0;
  contact::SensorList sensors_;
};

/// Sets the numbers of sensors of smooth contacts at the user's q and v, in some worlds; `sensors` may be
/// null for none.
template <class S>
void measure_smooth_contacts(const ModelOf<S>& model,
                             const contact::SensorList* sensors,
                             simd::Mask<S> worlds,
                             const S* q,
                             const S* v,
                             S* numbers,
                             Workspace<S> w) {
  if (model.contacts == nullptr || sensors == nullptr || none(worlds)) return;
  EndReport<S> report(model.contacts->pairs, sensors, w);
  report.add_pairs(model, q, v, w);
  report.act({false, worlds}, model, q, numbers, w);
}

}  // namespace pysim::stepping
