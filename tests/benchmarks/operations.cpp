// Counts the floating-point operations of the kernels, and measures how many the processor can do.
//
// Built by tests/benchmarks/operations.py for the machine it runs on. The kernels are the engine's own text,
// instantiated over a number that counts: + − × ÷ √ are one operation, a·b + c two, negation and selection
// none.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <chrono>
#include <vector>

#include "simd/pack.hpp"

namespace pysim::simd {

struct counting;
inline long long operations = 0;

/// One number that counts what is done to it.
template <class RealType>
struct Pack<RealType, 1, counting> {
  using Real = RealType;
  using Isa = counting;
  using Parameter = Real;
  using Lanes = Real;
  static constexpr int width = 1;
  using Integer = typename IntegerOf<sizeof(Real)>::type;
  using Bits = Integer;

  Real lanes;

  friend Pack operator-(Pack a) { return {-a.lanes}; }
  friend Pack operator+(Pack a, Pack b) { return counted(a.lanes + b.lanes, 1); }
  friend Pack operator-(Pack a, Pack b) { return counted(a.lanes - b.lanes, 1); }
  friend Pack operator*(Pack a, Pack b) { return counted(a.lanes * b.lanes, 1); }
  friend Pack operator/(Pack a, Pack b) { return counted(a.lanes / b.lanes, 1); }
  friend Mask<Pack> operator<(Pack a, Pack b) { return {a.lanes < b.lanes}; }
  friend Mask<Pack> operator>(Pack a, Pack b) { return {a.lanes > b.lanes}; }
  friend Mask<Pack> operator<=(Pack a, Pack b) { return {a.lanes <= b.lanes}; }
  friend Mask<Pack> operator>=(Pack a, Pack b) { return {a.lanes >= b.lanes}; }
  friend Mask<Pack> operator==(Pack a, Pack b) { return {a.lanes == b.lanes}; }
  Pack& operator+=(Pack b) { return *this = *this + b; }
  Pack& operator-=(Pack b) { return *this = *this - b; }
  Pack& operator*=(Pack b) { return *this = *this * b; }

 private:
  static Pack counted(Real x, int n) {
    operations += n;
    return {x};
  }
};

template <class Real>
Pack<Real, 1, counting> fma(Pack<Real, 1, counting> a, Pack<Real, 1, counting> b, Pack<Real, 1, counting> c) {
  operations += 2;
  return {__builtin_fma(a.lanes, b.lanes, c.lanes)};
}

template <class Real>
Pack<Real, 1, counting> sqrt(Pack<Real, 1, counting> a) {
  operations += 1;
  return {__builtin_sqrt(a.lanes)};
}

}  // namespace pysim::simd

#include "engine/algorithm_operations.hpp"
#include "engine/derivative_operations.hpp"
#include "engine/inertia_operations.hpp"
#include "engine/regressor_operations.hpp"
#include "tree/model.hpp"

namespace {

namespace py = pybind11;
using namespace pysim;

using Numbers = py::array_t<double, py::array::c_style | py::array::forcecast>;
using One = simd::Pack<double, 1, simd::counting>;

/// Operations of one state.
template <class Operation>
long long count(const tree::Model& model, const Numbers& q, const Numbers& v, const Numbers& x) {
  const auto view = model.view<double>();
  const auto bodies = static_cast<std::size_t>(model.nbodies()), nv = static_cast<std::size_t>(model.nv());
  std::vector<double> out(16 * bodies + 10 * nv * bodies + 3 * nv * nv);
  engine::Batch<double> batch = {};
  batch.states = 1;
  batch.q = q.data();
  batch.v = v.data();
  batch.x = x.data();
  batch.out = out.data();
  for (std::size_t m = 0; m < 3; ++m) batch.derivative[m] = out.data() + m * nv * nv;
  simd::operations = 0;
  Operation::at(engine::States<One>{view, batch, 0, {static_cast<One*>(tree::workspace_memory())}});
  return simd::operations;
}

#if defined(__AVX512F__)
using Wide = simd::Pack<double, 8, struct native>;
#elif defined(__AVX__)
using Wide = simd::Pack<double, 4, struct native>;
#else
using Wide = simd::Pack<double, 2, struct native>;
#endif

/// Operations a second of fused multiply-adds in registers: enough chains to hide their latency.
double peak() {
  constexpr int chains = 12;
  constexpr long rounds = 2'000'000;
  Wide sum[chains];
  for (int k = 0; k < chains; ++k) sum[k] = simd::all<Wide>(k);
  Wide a = simd::all<Wide>(0.999999), b = simd::all<Wide>(1e-6);
  asm volatile("" : "+m"(a), "+m"(b));
  const auto start = std::chrono::steady_clock::now();
  for (long i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (int k = 0; k < chains; ++k) sum[k] = fma(sum[k], a, b);
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  for (auto& s : sum) asm volatile("" : "+m"(s));
  return 2.0 * chains * rounds * Wide::width / seconds;
}

}  // namespace

PYBIND11_MODULE(operations_native, m) {
  m.def("counts", [](const tree::Model& model, const Numbers& q, const Numbers& v, const Numbers& x) {
    py::dict counts;
    counts["ABA"] = count<engine::Aba>(model, q, v, x);
    counts["RNEA"] = count<engine::Rnea>(model, q, v, x);
    counts["CRBA"] = count<engine::Crba>(model, q, v, x);
    counts["FK"] = count<engine::ForwardKinematics>(model, q, v, x);
    counts["M⁻¹"] = count<engine::Minverse>(model, q, v, x);
    counts["RNEA derivatives"] = count<engine::RneaDerivatives>(model, q, v, x);
    counts["ABA derivatives"] = count<engine::AbaDerivatives>(model, q, v, x);
    counts["regressor"] = count<engine::JointTorqueRegressor>(model, q, v, x);
    return counts;
  });
  m.def("peak", &peak);
}
