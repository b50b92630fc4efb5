// Algorithms of one state as Python functions, each bound by its signature in engine/algorithms.hpp.
#include <string_view>
#include <utility>

#include "bindings/derivative_functions.hpp"
#include "engine/algorithm_texts.hpp"

namespace pysim::bindings {
namespace {

namespace signatures = engine::signatures;
using engine::Length;

py::ssize_t length_of(const Length& length, const Model& model) {
  switch (length.of) {
    case Length::one:
      return length.times;
    case Length::nq:
      return py::ssize_t{length.times} * model.nq();
    case Length::nv:
      return py::ssize_t{length.times} * model.nv();
    case Length::full_nv:
      return py::ssize_t{length.times} * model.tree_nv();
    case Length::bodies:
      return py::ssize_t{length.times} * model.nbodies();
  }
  PYSIM_UNREACHABLE();
}

/// The shape of one state's result.
Shape row_of(const Signature& signature, const Model& model) {
  Shape row;
  for (int i = 0; i < signature.axes(); ++i) row.size[row.ndim++] = length_of(signature.row[i], model);
  return row;
}

/// Array i of a call, read according to its name.
template <const Signature& signature, int i, class Real>
void set_array(Call<Real>& call, const Arguments& arguments) {
  constexpr std::string_view name = signature.array[i];
  const py::handle x = arguments.array[i];
  if constexpr (name == "v") {
    call.set_v(x);
  } else if constexpr (name == "f_ext") {
    if (is_given(x)) call.set_f_ext(x);
  } else if constexpr (name == "q1") {
    call.set_x(x, "q1", arguments.model->nq());
    call.check_quaternions(call.batch().x, "q1");
  } else {
    call.set_x(x, signature.array[i], arguments.model->nv());
  }
}

template <const Signature& signature, class Real, int... i>
void set_arrays(Call<Real>& call, const Arguments& arguments, std::integer_sequence<int, i...> /*places*/) {
  (set_array<signature, i + 1>(call, arguments), ...);
}

/// A result that is one number a state is a float for a single state, unless the caller gave an array for it.
template <const Signature& signature, class Real>
py::object call(const Arguments& arguments, const KernelPair& kernels) {
  const Model& model = *arguments.model;
  if constexpr (signature.has(engine::refuses_callbacks)) refuse_callbacks(model);
  if (signature.has(engine::needs_bodies) && model.nbodies() == 0) {
    throw std::invalid_argument("nothing moves in this model: it has no centre of mass");
  }
  Call<Real> call(model, arguments.array[0], signature.array[0]);
  if constexpr (signature.has(engine::at_rest)) call.set_v_zero();
  set_arrays<signature>(call, arguments, std::make_integer_sequence<int, signature.arrays() - 1>());
  call.batch().passive = arguments.passive;
  py::array result = call.run(kernels.of<Real>(), row_of(signature, model), arguments.threads, arguments.out);
  if (signature.axes() > 0 || is_given(arguments.out) || call.leading().batched) return std::move(result);
  return py::float_(static_cast<double>(*numbers<Real>(result)));
}

template <const Signature& signature, const KernelPair& kernels>
py::object function(const Arguments& arguments) {
  return is_single(arguments.array[0]) ? call<signature, float>(arguments, kernels)
                                       : call<signature, double>(arguments, kernels);
}

namespace kernels {

#define PYSIM_PAIR(name, Operation) constexpr KernelPair name = PYSIM_KERNELS(name);
PYSIM_FUNCTIONS(PYSIM_PAIR)
PYSIM_DESIGN_DERIVATIVES(PYSIM_PAIR)
#undef PYSIM_PAIR

}  // namespace kernels

}  // namespace

void bind_algorithms(py::module_& m) {
#define PYSIM_DEFINE(name, Operation) \
  define<signatures::name, &function<signatures::name, kernels::name>>(m, engine::docstring_of(#name));
  PYSIM_FUNCTIONS(PYSIM_DEFINE)
  PYSIM_DESIGN_DERIVATIVES(PYSIM_DEFINE)
#undef PYSIM_DEFINE
}

}  // namespace pysim::bindings
