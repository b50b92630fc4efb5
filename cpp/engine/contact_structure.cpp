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
    tree::FileWriter{found_}(record);
  }

  std::string take() { return std::move(found_); }

 private:
  void put(const void* from, std::size_t size) { found_.append(static_cast<const char*>(from), size); }

  std::string found_;
};

}  // namespace

std::string ModelContacts::structure() const {
  Bytes bytes;
  bytes.add(points_, turning_points_, moving_pairs_, stiff_, own_pairs_, bounded_);
  for (std::size_t k = 0; k < shapes_.size(); ++k) {
    const Shape& own = shapes_[k];
    const Table::ShapeNumbers& numbers = shape_numbers_[k];
    bytes.add(own.shape.kind, own.shape.covered, own.radius);
    bytes.add_array(own.shape.size, 3);
    bytes.add_array(own.placement, 12);
    bytes.add(numbers.body, numbers.ball, numbers.root, numbers.field, numbers.flies);
  }
  for (const ShapeDescription& own : description_.shapes) {
    for (const auto* const numbers :
         {&own.vertices, &own.faces, &own.corners, &own.vertex_groups, &own.normal_groups}) {
      bytes.add_list(*numbers);
    }
  }
  for (const Table::Pair& own : table_) {
    bytes.add(own.a, own.b, own.point);
    if (own.kind < 0) continue;
    const Table::Kind& kind = kinds_[static_cast<std::size_t>(own.kind)];
    bytes.add_array(kind.normal, 3);
    bytes.add_array(kind.surface, 3);
    bytes.add(kind.offset, kind.law.hertz);
  }
  for (const FieldDescription& field : fields()) bytes.add_record(field);
  bytes.add_list(turning_);
  bytes.add_list(single_);
  bytes.add_list(work_);
  for (const contact::Rate& own : rates_) bytes.add(own.v, own.count);
  bytes.add_list(carriers_);
  for (const constraints::CoordinateLaw<double>& own : coordinates_) bytes.add(own.v, own.q);
  for (const contact::Levers& own : levers_) {
    bytes.add(own.first, own.root, own.end);
    const bool is_free = own.end - own.root == 2;
    for (int k = own.first; k < own.end; ++k) {
      const contact::Lever<double>& lever = lever_[static_cast<std::size_t>(k)];
      bytes.add(lever.rate, is_free && k == own.root + 1 ? 0.0 : lever.length);
    }
  }
  return bytes.take();
}

}  // namespace pysim::engine
