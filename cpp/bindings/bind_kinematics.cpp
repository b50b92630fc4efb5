// Poses, energies and centre of mass, and q ⊕ dq. The functions without docstrings are documented in pysim.
#include <pybind11/stl.h>

#include "bindings/functions.hpp"

namespace pysim::bindings {

using namespace pybind11::literals;

namespace {

template <class Real>
py::object poses(const Arguments& given) {
  Call<Real> call(*given.model, given.array[0]);
  const Shape row = {given.model->nbodies(), 4, 4};
  return call.run(PYSIM_KERNELS(forward_kinematics).of<Real>(), row, given.threads, given.out);
}

py::object poses_of(const Arguments& given) {
  return PYSIM_IN_PRECISION(poses, given);
}

constexpr Signature forward_kinematics = {
    "forward_kinematics",
    {"q"},
    1,
    R"(Return the pose of every body in the world (…, nbodies, 4, 4) [m].

Featherstone 2008, example 4.3.)"};

template <class Real>
py::object center(const Arguments& given) {
  if (given.model->nbodies() == 0) {
    throw std::invalid_argument("nothing moves in this model: it has no centre of mass");
  }
  Call<Real> call(*given.model, given.array[0]);
  return call.run(PYSIM_KERNELS(center_of_mass).of<Real>(), {3}, given.threads, given.out);
}

py::object center_of(const Arguments& given) {
  return PYSIM_IN_PRECISION(center, given);
}

constexpr Signature center_of_mass = {
    "center_of_mass", {"q"}, 1, "Return the centre of mass of the moving bodies in the world (…, 3) [m]."};

// ------------------------------------------------------------------------------------------ energies

/// A number a state: a float for a single state, unless the caller gave an array for it.
template <class Real>
py::object energy(const Arguments& given, const KernelPair& kernels) {
  Call<Real> call(*given.model, given.array[0]);
  if (is_given(given.array[1])) call.set_v(given.array[1]);
  const py::array x = call.run(kernels.of<Real>(), {}, given.threads, given.out);
  if (is_given(given.out) || call.leading().batched) return x;
  return py::float_(static_cast<double>(*numbers<Real>(x)));
}

template <class Real>
py::object kinetic(const Arguments& given) {
  return energy<Real>(given, PYSIM_KERNELS(kinetic_energy));
}

template <class Real>
py::object potential(const Arguments& given) {
  return energy<Real>(given, PYSIM_KERNELS(potential_energy));
}

template <class Real>
py::object elastic(const Arguments& given) {
  return energy<Real>(given, PYSIM_KERNELS(elastic_energy));
}

py::object kinetic_of(const Arguments& given) {
  return PYSIM_IN_PRECISION(kinetic, given);
}

py::object potential_of(const Arguments& given) {
  return PYSIM_IN_PRECISION(potential, given);
}

py::object elastic_of(const Arguments& given) {
  return PYSIM_IN_PRECISION(elastic, given);
}

constexpr Signature kinetic_energy = {
    "kinetic_energy", {"q", "v"}, 2, "Return ½ vᵀ M v (…) [J], armature included."};

constexpr Signature potential_energy = {
    "potential_energy",
    {"q"},
    1,
    "Return −Σ m g·c over the moving bodies (…) [J], zero at the world's origin."};

constexpr Signature elastic_energy = {
    "elastic_energy", {"q"}, 1, "Return the energy stored in springs and stops (…) [J]."};

// ------------------------------------------------------------------------------------------ configurations

template <class Real>
py::object moved(const Arguments& given) {
  Call<Real> call(*given.model, given.array[0]);
  call.set_x(given.array[1], "dv", given.model->nv());
  return call.run(PYSIM_KERNELS(integrate).of<Real>(), {given.model->nq()}, given.threads, given.out);
}

py::object moved_of(const Arguments& given) {
  return PYSIM_IN_PRECISION(moved, given);
}

constexpr Signature integrate = {"integrate", {"q", "dv"}, 2, "pysim.Model.integrate."};

template <class Real>
py::object between(const Arguments& given) {
  Call<Real> call(*given.model, given.array[0], "q0");
  call.set_x(given.array[1], "q1", given.model->nq());
  call.check_quaternions(call.batch().x, "q1");
  return call.run(PYSIM_KERNELS(difference).of<Real>(), {given.model->nv()}, given.threads, given.out);
}

py::object between_of(const Arguments& given) {
  return PYSIM_IN_PRECISION(between, given);
}

constexpr Signature difference = {"difference", {"q0", "q1"}, 2, "pysim.Model.difference."};

// ------------------------------------------------------------------------------------------ frames

template <class Real>
py::object frame_placement(const Model& model,
                           py::handle q,
                           int body,
                           const std::vector<double>& placement,
                           int threads,
                           py::handle out) {
  if (body < -1 || body >= model.nbodies() || placement.size() != 12) {
    throw std::invalid_argument("frame_placement needs a body of the model and 12 numbers");
  }
  double turned[12];
  std::copy(placement.begin(), placement.end(), turned);
  model.to_engine_frame(body, turned);
  std::vector<Real> numbers(12);
  for (int i = 0; i < 12; ++i) numbers[static_cast<std::size_t>(i)] = static_cast<Real>(turned[i]);
  Call<Real> call(model, q);
  call.batch().body = body;
  call.batch().placement = numbers.data();
  return call.run(PYSIM_KERNELS(frame_placement).of<Real>(), {4, 4}, threads, out);
}

}  // namespace

void bind_kinematics(py::module_& m) {
  define<forward_kinematics, poses_of>(m);
  define<center_of_mass, center_of>(m);
  define<kinetic_energy, kinetic_of>(m);
  define<potential_energy, potential_of>(m);
  define<elastic_energy, elastic_of>(m);
  define<integrate, moved_of>(m);
  define<difference, between_of>(m);
  m.def(
      "frame_placement",
      [](const Model& model,
         py::handle q,
         int body,
         const std::vector<double>& placement,
         int threads,
         py::handle out) {
        return is_single(q) ? frame_placement<float>(model, q, body, placement, threads, out)
                            : frame_placement<double>(model, q, body, placement, threads, out);
      },
      "model"_a,
      "q"_a,
      "body"_a,
      "placement"_a,
      py::kw_only(),
      "threads"_a = 1,
      "out"_a = py::none());
}

}  // namespace pysim::bindings
