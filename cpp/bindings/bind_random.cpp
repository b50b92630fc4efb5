// Random numbers that are functions of their place; documented in pysim/tracing/random_numbers.py.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <stdexcept>

#include "simd/philox.hpp"

namespace pysim::bindings {

namespace py = pybind11;
using namespace pybind11::literals;

namespace {

struct Portable;  // the tag of what is no kernel

using FloatingNumbers = py::array_t<double, py::array::forcecast>;
using Whole = py::array_t<std::uint64_t, py::array::c_style>;

py::array_t<std::uint32_t> philox_words(const Whole& index,
                                        const Whole& key,
                                        std::uint64_t stream,
                                        py::ssize_t blocks) {
  if (index.ndim() != 1 || key.ndim() != 1 || index.size() != key.size())
    throw std::invalid_argument("index and key must have one shape (n,)");
  if (blocks < 0) throw std::invalid_argument("blocks must not be negative");
  py::array_t<std::uint32_t> words({index.size(), 4 * blocks});
  std::uint32_t* out = words.mutable_data();
  for (py::ssize_t i = 0; i < index.size(); ++i) {
    for (py::ssize_t k = 0; k < blocks; ++k) {
      const simd::FourWords words =
          simd::philox<Portable>(index.data()[i], key.data()[i], stream + static_cast<std::uint64_t>(k));
      out = std::copy(std::begin(words.c), std::end(words.c), out);
    }
  }
  return words;
}

py::object philox_uniforms(const FloatingNumbers& index,
                           const FloatingNumbers& key,
                           const FloatingNumbers& stream) {
  try {
    return py::vectorize(simd::philox_uniform<Portable>)(index, key, stream);
  } catch (const std::runtime_error&) {  // pybind11's own error of shapes
    throw std::invalid_argument("index, key and stream must have shapes that fit together");
  }
}

}  // namespace

void bind_random(py::module_& m) {
  m.def("philox_words",
        &philox_words,
        "index"_a.noconvert(),
        "key"_a.noconvert(),
        "stream"_a,
        "blocks"_a,
        "Words (n, 4 blocks) of indices and keys (n,), four of each of the streams that follow one another.");
  m.def("philox_uniform",
        &philox_uniforms,
        "index"_a,
        "key"_a,
        "stream"_a,
        "Numbers within (0, 1) of whole numbers below 2^53.");
}

}  // namespace pysim::bindings
