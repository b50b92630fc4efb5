// Bytes of contacts without their numbers: equal where worlds can be stepped together.
#include "engine/contact_model.hpp"
#include "tree/model_file.hpp"

namespace pysim::engine {

namespace {

/// Appends numbers and lists of them, each list after its length.
class Bytes {
 public:
  template <class... Numbers>
  void add(const Numbers&... numbers) {
    (put(&numbers, sizeof numbers), ...);
  }

  template <class Number>
  void add_list(const std::vector<Number>& list) {
    add(list.size());
    if (!list.empty()) put(list.data(), list.size() * sizeof(Number));
  }

  void add_array(const double* numbers, int count) {
    put(numbers, static_cast<std::size_t>(count) * sizeof(double));
  }

  template <class Record>
  void add_record(const Record& record) {
    tree::FileWriter{bytes_}(record);
  }

  std::string take() { return std::move(bytes_); }

 private:
  void put(const void* from, std::size_t size) { bytes_.append(static_cast<const char*>(from), size); }

  std::string bytes_;
};

}  // namespace

std::string ModelContacts::structure() const {
  Bytes bytes;
  bytes.add(points_, turning_points_, moving_pairs_, stiff_, tree_pairs_, bounded_);
  for (std::size_t k = 0; k < shapes_.size(); ++k) {
    const Shape& placed = shapes_[k];
    const Table::ShapeNumbers& numbers = shape_numbers_[k];
    bytes.add(placed.shape.kind, placed.shape.covered, placed.radius);
    bytes.add_array(placed.shape.size, 3);
    bytes.add_array(placed.placement, 12);
    bytes.add(numbers.body, numbers.ball, numbers.root, numbers.field, numbers.flies);
  }
  for (const ShapeDescription& shape : description_.shapes) {
    for (const auto* const numbers :
         {&shape.vertices, &shape.faces, &shape.corners, &shape.vertex_groups, &shape.normal_groups}) {
      bytes.add_list(*numbers);
    }
  }
  for (const Table::Pair& pair : table_) {
    bytes.add(pair.a, pair.b, pair.point);
    if (pair.kind < 0) continue;
    const Table::Kind& kind = kinds_[static_cast<std::size_t>(pair.kind)];
    bytes.add_array(kind.normal, 3);
    bytes.add_array(kind.surface, 3);
    bytes.add(kind.offset, kind.law.hertz);
  }
  for (const FieldDescription& field : fields()) bytes.add_record(field);
  bytes.add_list(turning_);
  bytes.add_list(single_);
  bytes.add_list(work_);
  for (const contact::Rate& rate : rates_) bytes.add(rate.v, rate.count);
  bytes.add_list(carriers_);
  for (const constraints::CoordinateLaw<double>& law : coordinates_) bytes.add(law.v, law.q);
  for (const contact::Levers& levers : levers_) {
    bytes.add(levers.first, levers.root, levers.end);
    const bool is_free = levers.end - levers.root == 2;
    for (int k = levers.first; k < levers.end; ++k) {
      const contact::Lever<double>& lever = lever_[static_cast<std::size_t>(k)];
      bytes.add(lever.rate, is_free && k == levers.root + 1 ? 0.0 : lever.length);
    }
  }
  return bytes.take();
}

}  // namespace pysim::engine
