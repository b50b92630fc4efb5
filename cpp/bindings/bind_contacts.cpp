// Bindings of contacts: their description, and the smooth law at states.
#include <pybind11/stl.h>

#include <algorithm>

#include "bindings/mesh_numbers.hpp"
#include "bindings/released_gil.hpp"
#include "bindings/stepping_arguments.hpp"
#include "engine/contact_dispatch.hpp"
#include "engine/smooth_law.hpp"

namespace pysim::bindings {

using namespace pybind11::literals;

namespace {

using engine::FieldDescription;
using engine::ModelContacts;
using Indices = py::array_t<int, py::array::c_style | py::array::forcecast>;

/// Rows of numbers, one for each of `rows`.
std::vector<double> rows_of(const Numbers& x,
                            const char* name,
                            std::size_t rows,
                            std::initializer_list<py::ssize_t> row) {
  std::vector<py::ssize_t> shape = {static_cast<py::ssize_t>(rows)};
  shape.insert(shape.end(), row.begin(), row.end());
  const bool fits =
      x.ndim() == static_cast<py::ssize_t>(shape.size()) && std::equal(shape.begin(), shape.end(), x.shape());
  if (!fits) {
    throw std::invalid_argument(std::string(name) + " must have shape " +
                                describe(static_cast<py::ssize_t>(shape.size()), shape.data()) + ", got " +
                                describe(x));
  }
  return {x.data(), x.data() + x.size()};
}

/// A 4×4 matrix as rotation column-major, position.
void pack(const double* X, double pose[12]) {
  for (int j = 0; j < 4; ++j) {
    for (int i = 0; i < 3; ++i) pose[3 * j + i] = X[4 * i + j];
  }
}

FieldDescription make_field(std::optional<tree::ProgramDescription> program,
                            const std::optional<Numbers>& heights,
                            std::pair<double, double> spacing) {
  if (program.has_value() == heights.has_value()) {
    throw std::invalid_argument("a field has either a program or heights");
  }
  FieldDescription field;
  field.program = std::move(program);
  if (heights) {
    if (heights->ndim() != 2) {
      throw std::invalid_argument("heights must have shape (rows, columns), got " + describe(*heights));
    }
    field.heights.assign(heights->data(), heights->data() + heights->size());
    field.rows = static_cast<int>(heights->shape(0));
    field.columns = static_cast<int>(heights->shape(1));
    field.spacing[0] = spacing.first;
    field.spacing[1] = spacing.second;
  }
  engine::check_field(field);
  return field;
}

ModelContacts make_contacts(const Model& model,
                            const std::vector<int>& bodies,
                            const std::vector<std::string>& kinds,
                            const Numbers& sizes,
                            const Numbers& placements,
                            const std::vector<MeshArrays>& meshes,
                            const Indices& pairs,
                            const Numbers& planes,
                            const Numbers& surfaces,
                            const Numbers& laws,
                            double slip_speed,
                            std::vector<FieldDescription> fields,
                            const std::vector<int>& field_of_shape,
                            const std::vector<int>& covered) {
  const std::size_t n = bodies.size();
  const std::vector<double> size = rows_of(sizes, "sizes", n, {3});
  const std::vector<double> placement = rows_of(placements, "placements", n, {4, 4});
  if (kinds.size() != n || meshes.size() != n) {
    throw std::invalid_argument("kinds and meshes must have " + std::to_string(n) + " entries");
  }
  const auto fits = [n](const std::vector<int>& list) { return list.empty() || list.size() == n; };
  if (!fits(field_of_shape) || !fits(covered)) {
    throw std::invalid_argument("field_of_shape and covered must have " + std::to_string(n) +
                                " entries, or none");
  }
  if (pairs.ndim() != 2 || pairs.shape(1) != 4) {
    throw std::invalid_argument("pairs must have shape (n, 4), got " + describe(pairs));
  }
  engine::ContactDescription description = {};
  for (std::size_t k = 0; k < n; ++k) {
    MeshNumbers mesh(meshes[k]);
    engine::ShapeDescription shape = {bodies[k],
                                      kinds[k],
                                      {},
                                      {},
                                      std::move(mesh.vertices),
                                      std::move(mesh.faces),
                                      std::move(mesh.corners),
                                      std::move(mesh.vertex_groups),
                                      std::move(mesh.normal_groups),
                                      field_of_shape.empty() ? -1 : field_of_shape[k],
                                      covered.empty() ? 0 : covered[k]};
    std::copy_n(size.data() + 3 * k, 3, shape.size);
    pack(placement.data() + 16 * k, shape.placement);
    description.shapes.push_back(std::move(shape));
  }
  description.pairs.resize(static_cast<std::size_t>(pairs.shape(0)));
  for (std::size_t k = 0; k < description.pairs.size(); ++k) {
    std::copy_n(pairs.data() + 4 * k, 4, description.pairs[k].begin());
  }
  const auto rows = [](const Numbers& x) { return x.ndim() == 2 ? static_cast<std::size_t>(x.shape(0)) : 0; };
  description.planes = rows_of(planes, "planes", rows(planes), {4});
  description.surfaces = rows_of(surfaces, "surfaces", rows(planes), {3});
  description.laws = rows_of(laws, "laws", rows(laws), {engine::law_numbers()});
  description.slip_speed = slip_speed;
  description.fields = std::move(fields);
  return ModelContacts(model, std::move(description));
}

}  // namespace

/// Contact points of the smooth law at states (…, points, 18): those that push, or nearer than `reach` [m].
static py::array contact_points(
    const ModelContacts& contacts, py::handle q, py::handle v, std::optional<double> reach, int threads) {
  Call<double> call(contacts.model(), q);
  call.set_v(v);
  check_threads(threads);
  const engine::SmoothLaw smooth(&contacts);
  py::array report =
      make_output<double>(call.leading(), {contacts.points(), contact::ContactReport::numbers});
  engine::ContactBatch batch = {call.batch(), {}, &smooth.law()};
  batch.contacts.report = numbers<double>(report);
  if (reach) {
    if (!(*reach >= 0)) {
      throw std::invalid_argument("reach must not be negative [m], got " + std::to_string(*reach));
    }
    batch.reach = *reach;
  }
  without_gil(
      [&] { engine::run_contacts(&engine::ContactKernels::report, contacts.model(), batch, threads); });
  return report;
}

/// Generalised forces of the smooth law at states (…, nv), and their derivatives by q and v (…, nv, nv).
static py::tuple contact_forces(const ModelContacts& contacts, py::handle q, py::handle v) {
  const Model& model = contacts.model();
  Call<double> call(model, q);
  call.set_v(v);
  const engine::SmoothLaw smooth(&contacts);
  py::array tau = make_output<double>(call.leading(), {model.nv()}),
            by_q = make_output<double>(call.leading(), {model.nv(), model.nv()}),
            by_v = make_output<double>(call.leading(), {model.nv(), model.nv()});
  engine::ContactBatch batch = {call.batch(), {}};
  batch.contact_forces = smooth.forces();
  batch.out = numbers<double>(tau);
  batch.derivative[0] = numbers<double>(by_q);
  batch.derivative[1] = numbers<double>(by_v);
  engine::run_contacts(&engine::ContactKernels::slopes, model, batch, 1);
  return py::make_tuple(tau, by_q, by_v);
}

/// Damping and stiffness of actuators (…, nv) that a convex step is implicit in.
static py::tuple actuator_damping(const ModelContacts& contacts,
                                  py::handle q,
                                  py::handle v,
                                  const std::optional<SignalNumbers::Array>& signals,
                                  const Actuation& actuation,
                                  double step) {
  const Model& model = contacts.model();
  Call<double> call(model, q);
  call.set_v(v);
  py::array d = make_output<double>(call.leading(), {model.nv()}),
            k = make_output<double>(call.leading(), {model.nv()});
  const stepping::Actuation forces = actuation.view(model);
  engine::ContactBatch batch = {call.batch(), {}};
  SignalNumbers signal_numbers(signals, model, call.leading().states);
  batch.actuation = &forces;
  batch.signals = signal_numbers.data();
  batch.time = 0;
  batch.step = step;
  batch.derivative[0] = numbers<double>(d);
  batch.derivative[1] = numbers<double>(k);
  engine::run_contacts(&engine::ContactKernels::damping, model, batch, 1);
  return py::make_tuple(d, k);
}

void bind_contacts(py::module_& m) {
  py::class_<FieldDescription>(m,
                               "Field",
                               "Signed-distance field: `program` computes d [m] and ∇d from a point (3), or "
                               "`heights` (rows along y, columns along x) [m] are those at the nodes of a "
                               "grid with a `spacing` along x and y [m], centred at the origin.")
      .def(py::init(&make_field),
           "program"_a = py::none(),
           "heights"_a = py::none(),
           "spacing"_a = std::pair(0.0, 0.0));
  py::class_<ModelContacts>(
      m,
      "Contacts",
      "Contacts of a model. Shapes: `bodies` (−1 for the world), `kinds`, `sizes` (n, 3) [m], `placements` "
      "(n, 4, 4) in the body frames [m], and `meshes`, empty ones of other shapes: vertices (v, 3) [m], "
      "faces "
      "(f, 10), which are outward normals, the vertices of four corners, place and count of all corners, and "
      "whether they are covered, the list of corners (c,), and groups of vertices and of normals (g, 6): "
      "centre and radius of a ball, first and count. `pairs` (m, 4) are indices: the first shape, −1 for a "
      "plane that is fixed to the world, and the second one, then rows of `planes` and `surfaces`, and of "
      "`laws`. `planes` (k, 4) are normal and offset, `surfaces` (k, 3) velocities of the first surface in "
      "its body's frame [m/s], and `laws` (l, 9) stiffness [N/m or N/m^1.5], exponent, dissipation [s/m], "
      "static and dynamic friction, tangential stiffness [N/m], relaxation time [s], and lengths of rolling "
      "and spinning friction [m]. slip_speed [m/s] regularises the friction of schemes that integrate "
      "contacts as smooth forces. `field_of_shape` are indices among `fields`, −1 for none: such a shape is "
      "a sphere about the origin of the field's frame that holds the solid. `covered` are bits of the faces "
      "of shapes that other shapes of their body cover, of a mesh 1 if any of them is.")
      .def(py::init(&make_contacts),
           py::keep_alive<1, 2>(),
           "model"_a,
           "bodies"_a,
           "kinds"_a,
           "sizes"_a,
           "placements"_a,
           "meshes"_a,
           "pairs"_a,
           "planes"_a,
           "surfaces"_a,
           "laws"_a,
           "slip_speed"_a = 0.01,
           "fields"_a = std::vector<FieldDescription>(),
           "field_of_shape"_a = std::vector<int>(),
           "covered"_a = std::vector<int>())
      .def_property_readonly("points", &ModelContacts::points, "Contact points of all pairs.")
      .def_property_readonly(
          "pair_of_point",
          [](const ModelContacts& contacts) {
            py::array_t<int> pair(contacts.points());
            int* to = pair.mutable_data();
            for (int k = 0; k < contacts.pairs(); ++k) to = std::fill_n(to, contacts.points_of_pair(k), k);
            return pair;
          },
          "Index of the pair of every contact point (points,).")
      .def("gaps",
           &ModelContacts::gaps,
           "pair"_a,
           "Number of gaps of a pair that are continuous functions of the state, see EventDescription.gap.")
      .def(
          "set_work",
          [](ModelContacts& contacts, const Indices& places) {
            contacts.set_work({places.data(), places.data() + places.size()});
          },
          "places"_a,
          "Lets runs with signals add the work [J] of every pair of shapes to the states of signals at these "
          "places, and then that of every one of law_coordinates in convex steps, at −1 for none.")
      .def_property_readonly(
          "law_coordinates",
          [](const ModelContacts& contacts) {
            const auto view = contacts.view();
            std::vector<int> found;
            for (int k = 0; k < view.coordinates; ++k) found.push_back(view.coordinate[k].v);
            return found;
          },
          "Velocities of the tree whose limits or dry friction convex steps compute.");
  m.def("contact_forces",
        &contact_forces,
        "contacts"_a,
        "q"_a,
        "v"_a,
        "Returns the generalised forces (…, nv) of the smooth law at states, and their derivatives by q and "
        "v (…, nv, nv), with contact points fixed on the second body and normals on the first.");
  m.def("actuator_damping",
        &actuator_damping,
        "contacts"_a,
        "q"_a,
        "v"_a,
        "signals"_a.noconvert(),
        "actuation"_a,
        "step"_a,
        "Returns the damping and the stiffness (…, nv) of actuators on their own coordinates at states at t "
        "= 0, in which a convex step [s] is implicit.");
  m.def("contact_points",
        &contact_points,
        "contacts"_a,
        "q"_a,
        "v"_a,
        py::kw_only(),
        "reach"_a = py::none(),
        "threads"_a = 1,
        "Returns the reports of contact points (…, points, 18) at states under the smooth law, without "
        "impulses: force on the body (3) [N], point (3) [m], penetration [m], slip speed [m/s], 1 where it "
        "sticks, impulse (3) [N·s], normal (3) towards the second body, and moment on it (3) [N·m]. A point "
        "sticks if it slips slower than slip_speed. With a reach [m], points are those whose gap is not "
        "larger, whether they push or not.");
}

}  // namespace pysim::bindings
