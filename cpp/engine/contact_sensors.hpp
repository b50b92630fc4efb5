// Sensors of contacts of a scene's worlds.
#pragma once

#include <array>
#include <vector>

#include "contact/sensors.hpp"

namespace pysim::engine {

/// Contacts of a body that a sensor measures, about the origin of a frame and on the axes of another.
struct ContactSensor {
  static constexpr int numbers = contact::SensorView::numbers;

  std::vector<int> places;             ///< of its numbers among those of the signals
  int body, axes_body;                 ///< that carry the frames, −1 for the world
  std::array<double, 16> frame, axes;  ///< in these bodies
  std::vector<int> shapes;             ///< pairs of shapes that count, ascending
  std::vector<double> signs;           ///< of their forces, −1 where they act on the first shape

  template <class F, class... Records>
  static constexpr void visit(F&& f, Records&... r) {
    f(r.places...), f(r.body...), f(r.axes_body...), f(r.frame...), f(r.axes...), f(r.shapes...),
        f(r.signs...);
  }

  contact::SensorView view() const {
    return {places.data(),
            body,
            axes_body,
            frame.data(),
            axes.data(),
            static_cast<int>(shapes.size()),
            shapes.data(),
            signs.data()};
  }
};

}  // namespace pysim::engine
