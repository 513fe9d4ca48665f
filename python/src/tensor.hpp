// SPDX-License-Identifier: Apache-2.0
// The memory of somebody else's array: NumPy's and whatever has the buffer protocol, PyTorch's and whatever
// has DLPack, ml_dtypes' bfloat16. Nothing is copied.
#pragma once

#include <nanobind/ndarray.h>

#include <array>
#include <span>

#include "common.hpp"

namespace rotary::python {

class Tensor {
 public:
  static constexpr int max_dims = 16;
  enum class Access { read, write };
  /// Whether a tensor that requires a gradient is refused, or the caller records what it does.
  enum class Graph { refused, seen_to };
  /// Heads that turn, or the place where they are stored: 8-bit floats and i8 are only written.
  enum class Use { turned, stored };

  /// Holds the memory while it lives. TypeError: no array, another device, an element type the library does
  /// not know; ValueError: strides that are no whole elements, read-only memory that is to be written.
  Tensor(nb::handle object, const char* name, Access access = Access::read, Graph graph = Graph::refused);
  ~Tensor();
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;

  DType dtype() const noexcept { return dtype_; }
  void* data() const noexcept { return data_; }
  std::span<const std::int64_t> shape() const noexcept { return {shape_, static_cast<std::size_t>(ndim_)}; }
  /// In elements.
  std::span<const std::int64_t> strides() const noexcept {
    return {strides_, static_cast<std::size_t>(ndim_)};
  }
  std::int64_t bytes() const noexcept;
  std::string shape_text() const;

  /// The numbers in the order of the axes, rounded to f32. TypeError: other elements than numbers of 16 bits and more.
  std::vector<float> floats() const;
  /// TypeError unless the rotation takes the element type; ValueError unless the layout has as many axes.
  Heads heads(Layout layout, Use use = Use::turned) const;
  /// A new array of the same kind, shape and element type: torch.Tensor from torch, else numpy's.
  nb::object empty_like() const;

 private:
  bool from_exchange(Graph graph);
  bool from_buffer(Access access);
  bool from_known_type(Access access);
  bool from_named_type(Access access);
  bool from_interface(DType type, Access access);
  bool from_dlpack(Access access);
  void take(const nb::dlpack::dltensor& tensor);
  void take_bytes(void* data, int ndim, const Py_ssize_t* shape, const Py_ssize_t* strides);
  void check_access(bool readonly, Access access) const;

  nb::handle object_;
  const char* name_;
  void* data_ = nullptr;
  DType dtype_ = DType::f32;
  int ndim_ = 0;
  const std::int64_t* shape_ = nullptr;
  const std::int64_t* strides_ = nullptr;
  std::array<std::int64_t, max_dims> own_shape_, own_strides_;  // where the producer's are no int64 elements
  Py_buffer buffer_;
  bool has_buffer_ = false;
  nb::object kept_;
  nb::ndarray<> lent_;
  nb::ndarray<nb::ro> lent_read_only_;
};

/// numpy.empty(shape, dtype).
nb::object numpy_empty(std::span<const std::int64_t> shape, const char* dtype);
/// A copy of numbers as a numpy array.
template <class T>
nb::object numpy_copy(std::span<const T> numbers, std::span<const std::int64_t> shape, const char* dtype) {
  nb::object array = numpy_empty(shape, dtype);
  const Tensor to(array, "array", Tensor::Access::write);
  std::copy(numbers.begin(), numbers.end(), static_cast<T*>(to.data()));
  return array;
}

}  // namespace rotary::python
