// SPDX-License-Identifier: Apache-2.0
#include "tensor.hpp"

#include <algorithm>

#include "pytorch.hpp"

namespace rotary::python {

/// An element type that ml_dtypes adds to NumPy's. Its dtype is one object, which the first array of it shows; the
/// reference lives as long as the process.
struct AddedType {
  const char* name;
  DType type;
  PyObject* dtype = nullptr;
};

namespace {

AddedType added_types[] = {
    {"bfloat16", DType::bf16}, {"float8_e4m3fn", DType::f8_e4m3}, {"float8_e5m2", DType::f8_e5m2}};

/// What `__array_struct__` holds, NumPy's array interface of version 3.
struct ArrayInterface {
  int two, ndim;
  char kind;
  int itemsize, flags;
  const Py_ssize_t *shape, *strides;
  void* data;
  PyObject* description;
};
constexpr int writable = 0x400;

/// DLPack's table of C functions, which a type hands out under this name (DLPack 1.3). A tensor is described in
/// it without an allocation or a reference; the description holds as long as the tensor does.
constexpr const char* exchange_attribute = "__dlpack_c_exchange_api__";
constexpr const char* exchange_capsule = "dlpack_exchange_api";
struct ExchangeApi {
  std::uint32_t major, minor;
  const void* previous;
  void* unused[3];
  int (*describe)(void* object, nb::dlpack::dltensor* out);
};
constexpr std::uint32_t exchange_major = 1;
constexpr std::int32_t cpu = 1;

/// The one of `types` that takes so many bytes.
std::optional<DType> of_size(std::size_t size, std::initializer_list<DType> types) {
  const auto* const found = std::ranges::find(types, size, size_of);
  return found != types.end() ? std::optional(*found) : std::nullopt;
}

std::optional<DType> dtype_of_code(nb::dlpack::dtype type) {
  using Code = nb::dlpack::dtype_code;
  if (type.lanes != 1) return std::nullopt;
  const std::size_t size = type.bits % 8 == 0 ? type.bits / 8 : 0;
  switch (static_cast<Code>(type.code)) {
    case Code::Float:
      return of_size(size, {DType::f64, DType::f32, DType::f16});
    case Code::Bfloat:
      return of_size(size, {DType::bf16});
    case Code::Int:
      return of_size(size, {DType::i64, DType::i32, DType::i16, DType::i8});
    case Code::UInt:
      return of_size(size, {DType::u64, DType::u32, DType::u16, DType::u8});
    case Code::Bool:
      return of_size(size, {DType::boolean});
    case Code::Float8_E4M3FN:
      return of_size(size, {DType::f8_e4m3});
    case Code::Float8_E5M2:
      return of_size(size, {DType::f8_e5m2});
    default:
      return std::nullopt;
  }
}

/// One letter of the struct module, in this machine's byte order.
std::optional<DType> dtype_of_format(const char* format, std::size_t size) {
  if (format == nullptr) return DType::u8;
  if (*format == '@' || *format == '=' || *format == '<' || *format == '|') ++format;
  if (format[0] == '\0' || format[1] != '\0') return std::nullopt;
  switch (format[0]) {
    case 'd':
    case 'f':
    case 'e':
      return of_size(size, {DType::f64, DType::f32, DType::f16});
    case 'q':
    case 'l':
    case 'i':
    case 'h':
    case 'b':
    case 'n':
      return of_size(size, {DType::i64, DType::i32, DType::i16, DType::i8});
    case 'Q':
    case 'L':
    case 'I':
    case 'H':
    case 'B':
    case 'N':
      return of_size(size, {DType::u64, DType::u32, DType::u16, DType::u8});
    case '?':
      return DType::boolean;
    default:
      return std::nullopt;
  }
}

const char* numpy_name(DType type) {
  switch (type) {
    case DType::f64:
      return "float64";
    case DType::f16:
      return "float16";
    default:
      return "float32";
  }
}

/// The table of a type; null where it has none of this version. The last one found is kept, and its type with it.
const ExchangeApi* exchange_of(PyTypeObject* type) {
  static PyTypeObject* known = nullptr;
  static const ExchangeApi* of_known = nullptr;
  if (type == known) return of_known;
  static PyObject* const attribute = PyUnicode_InternFromString(exchange_attribute);
  const nb::object capsule = nb::steal(PyObject_GetAttr(reinterpret_cast<PyObject*>(type), attribute));
  if (!capsule.is_valid()) {
    PyErr_Clear();
    return nullptr;
  }
  const auto* api = static_cast<const ExchangeApi*>(PyCapsule_GetPointer(capsule.ptr(), exchange_capsule));
  if (api == nullptr) throw nb::python_error();
  if (api->major != exchange_major || api->describe == nullptr) return nullptr;
  Py_INCREF(type);  // so that no other type takes its address
  Py_XDECREF(known);
  known = type;
  return of_known = api;
}

}  // namespace

Tensor::Tensor(nb::handle object, const char* name, Access access, Graph graph)
    : object_(object), name_(name) {
  try {
    const bool found = PyObject_CheckBuffer(object.ptr()) != 0
                           ? from_known_type(access) || from_buffer(access) || from_named_type(access)
                           : from_exchange(graph) || from_dlpack(access);
    if (!found) {
      raise_type(std::string(name) + ": " + kind_of(object) +
                 ", expected an array of numpy, torch or anything else with a buffer or DLPack on the CPU");
    }
  } catch (...) {
    if (has_buffer_) PyBuffer_Release(&buffer_);
    throw;
  }
}

Tensor::~Tensor() {
  if (has_buffer_) PyBuffer_Release(&buffer_);
}

void Tensor::check_access(bool readonly, Access access) const {
  if (readonly && access == Access::write)
    raise_value(std::string(name_) + ": the array is read-only, so it cannot be turned in place");
}

bool Tensor::from_exchange(Graph graph) {
  const ExchangeApi* api = exchange_of(Py_TYPE(object_.ptr()));
  if (api == nullptr) return false;
  if (graph == Graph::refused && requires_gradient(object_))
    raise_value(std::string(name_) +
                ": requires a gradient, which this call cannot record: use rotary.torch, or detach()");
  if (has_tangent(object_))
    raise_value(std::string(name_) +
                ": a forward-mode gradient goes with it, which this call would lose: use rotary.torch");
  if (dispatches_in_python(object_))
    raise_type(std::string(name_) + ": " + kind_of(object_) +
               " stands for other tensors; rotary.torch takes it");
  nb::dlpack::dltensor tensor;
  if (api->describe(object_.ptr(), &tensor) != 0) {
    const nb::python_error cause;
    const auto message = nb::cast<std::string>(nb::str(cause.value()));
    raise_type(std::string(name_) + ": " + kind_of(object_) + ": " + message.substr(0, message.find('\n')));
  }
  if (is_nowhere(object_, tensor))
    raise_value(std::string(name_) + ": null pointer, its storage has been let go");
  if (is_negated(object_, tensor))
    raise_type(std::string(name_) +
               ": a view with the negative bit, expected numbers as they are: resolve_neg()");
  take(tensor);
  return true;
}

bool Tensor::from_buffer(Access access) {
  if (PyObject_GetBuffer(object_.ptr(), &buffer_, PyBUF_STRIDED_RO | PyBUF_FORMAT) != 0) {
    PyErr_Clear();
    return false;
  }
  has_buffer_ = true;
  const auto type = dtype_of_format(buffer_.format, static_cast<std::size_t>(buffer_.itemsize));
  if (!type)
    raise_type(std::string(name_) + ": elements of format \"" + buffer_.format +
               "\", expected numbers in this machine's byte order");
  check_access(buffer_.readonly != 0, access);
  dtype_ = *type;
  take_bytes(buffer_.buf, buffer_.ndim, buffer_.shape, buffer_.strides);
  return true;
}

/// Strides of bytes.
void Tensor::take_bytes(void* data, int ndim, const Py_ssize_t* shape, const Py_ssize_t* strides) {
  if (ndim > max_dims) raise_value(std::string(name_) + ": " + std::to_string(ndim) + " dimensions");
  data_ = data;
  ndim_ = ndim;
  const auto size = static_cast<Py_ssize_t>(size_of(dtype_));
  for (int i = 0; i < ndim; ++i) {
    const auto axis = static_cast<std::size_t>(i);
    own_shape_[axis] = shape[i];
    own_strides_[axis] = strides[i] / size;
    if (strides[i] % size != 0)
      raise_value(std::string(name_) + ": a stride of " + std::to_string(strides[i]) +
                  " bytes is no whole number of " + std::string(rotary::name(dtype_)) + " elements");
  }
  shape_ = own_shape_.data();
  strides_ = own_strides_.data();
}

/// NumPy lends no buffer of an element type that others have added to it, but says where it lies.
bool Tensor::from_named_type(Access access) {
  if (!nb::hasattr(object_, "dtype")) return false;
  const nb::object dtype = object_.attr("dtype");
  const auto name = nb::cast<std::string>(nb::str(dtype));
  auto* const found = std::ranges::find(added_types, name, &AddedType::name);
  if (found == std::end(added_types) || !nb::hasattr(object_, "__array_struct__"))
    raise_type(std::string(name_) + ": dtype " + name + ", expected f64, f32, f16 or bf16");
  if (found->dtype == nullptr) found->dtype = nb::object(dtype).release().ptr();
  return from_interface(found->type, access);
}

bool Tensor::from_known_type(Access access) {
  const auto known = [](const AddedType& type) { return type.dtype != nullptr; };
  if (std::ranges::none_of(added_types, known)) return false;
  static PyObject* const attribute = PyUnicode_InternFromString("dtype");
  const nb::object dtype = nb::steal(PyObject_GetAttr(object_.ptr(), attribute));
  if (!dtype.is_valid()) {
    PyErr_Clear();
    return false;
  }
  const auto* const found = std::ranges::find(added_types, dtype.ptr(), &AddedType::dtype);
  return found != std::end(added_types) && from_interface(found->type, access);
}

bool Tensor::from_interface(DType type, Access access) {
  kept_ = object_.attr("__array_struct__");
  const auto* const array = static_cast<const ArrayInterface*>(PyCapsule_GetPointer(kept_.ptr(), nullptr));
  if (array == nullptr) throw nb::python_error();
  check_access((array->flags & writable) == 0, access);
  dtype_ = type;
  take_bytes(array->data, array->ndim, array->shape, array->strides);
  return true;
}

bool Tensor::from_dlpack(Access access) {
  if (!nb::hasattr(object_, "__dlpack__")) return false;
  const auto describe = [this](const auto& array) {
    nb::dlpack::dltensor tensor;
    tensor.data = const_cast<void*>(static_cast<const void*>(array.data()));
    tensor.device = {array.device_type(), array.device_id()};
    tensor.dtype = array.dtype();
    tensor.ndim = static_cast<std::int32_t>(array.ndim());
    tensor.shape = const_cast<std::int64_t*>(array.shape_ptr());
    tensor.strides = const_cast<std::int64_t*>(array.stride_ptr());
    take(tensor);
    return true;
  };
  if (nb::try_cast(object_, lent_, false)) return describe(lent_);
  if (!nb::try_cast(object_, lent_read_only_, false)) return false;
  check_access(true, access);
  return describe(lent_read_only_);
}

void Tensor::take(const nb::dlpack::dltensor& tensor) {
  if (tensor.device.device_type != cpu)
    raise_type(std::string(name_) +
               ": memory of another device, expected the CPU's; rotary.torch takes tensors of any device");
  const auto type = dtype_of_code(tensor.dtype);
  if (!type)
    raise_type(std::string(name_) + ": elements of DLPack's code " + std::to_string(tensor.dtype.code) +
               ", " + std::to_string(tensor.dtype.bits) + " bits, expected f64, f32, f16 or bf16");
  if (tensor.ndim > max_dims)
    raise_value(std::string(name_) + ": " + std::to_string(tensor.ndim) + " dimensions");
  dtype_ = *type;
  data_ = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
  ndim_ = tensor.ndim;
  shape_ = tensor.shape;
  strides_ = tensor.strides;
  if (strides_ != nullptr || ndim_ == 0) return;
  std::int64_t stride = 1;
  for (int i = ndim_; i-- > 0; stride *= std::max<std::int64_t>(shape_[i], 1))
    own_strides_[static_cast<std::size_t>(i)] = stride;
  strides_ = own_strides_.data();
}

std::int64_t Tensor::bytes() const noexcept {
  auto size = static_cast<std::int64_t>(size_of(dtype_));
  for (const std::int64_t extent : shape())
    if (__builtin_mul_overflow(size, extent, &size)) return INT64_MAX;
  return size;
}

std::string Tensor::shape_text() const {
  std::string out = "[";
  for (const std::int64_t extent : shape()) out += (out.size() == 1 ? "" : ", ") + std::to_string(extent);
  return out + "]";
}

Heads Tensor::heads(Layout layout, Use use) const {
  if (!(use == Use::stored ? is_storable(dtype_) : is_rotatable(dtype_)))
    raise_type(std::string(name_) + ": dtype " + std::string(rotary::name(dtype_)) +
               (use == Use::stored ? ", expected f64, f32, f16, bf16, f8_e4m3, f8_e5m2 or i8"
                                   : ", expected f64, f32, f16 or bf16"));
  const int axes = layout == Layout::thd ? 3 : 4;
  if (ndim_ != axes)
    raise_value(std::string(name_) + ": shape " + shape_text() + " has " + std::to_string(ndim_) +
                " axes, layout " + std::string(rotary::name(layout)) + " has " + std::to_string(axes));
  const int batch = layout == Layout::thd ? -1 : 0;
  const int tokens = layout == Layout::thd ? 0 : layout == Layout::bthd ? 1 : 2;
  const int heads = layout == Layout::bhtd ? 1 : tokens + 1, lane = axes - 1;
  HeadsShape s;
  s.dtype = dtype_;
  s.batch = batch < 0 ? 1 : shape_[batch];
  s.tokens = shape_[tokens];
  s.heads = shape_[heads];
  s.head_dim = shape_[lane];
  s.batch_stride = batch < 0 ? 0 : strides_[batch];
  s.token_stride = strides_[tokens];
  s.head_stride = strides_[heads];
  s.lane_stride = strides_[lane];
  return {data_, s};
}

nb::object Tensor::empty_like() const {
  if (is_torch(object_)) return torch_empty_like(object_);
  const nb::module_ numpy = nb::module_::import_("numpy");
  if (nb::isinstance(object_, numpy.attr("ndarray")))
    return numpy.attr("empty_like")(object_, "subok"_a = false);
  if (dtype_ == DType::bf16)
    return numpy.attr("empty")(nb::cast(std::vector(shape().begin(), shape().end())),
                               nb::module_::import_("ml_dtypes").attr("bfloat16"));
  return numpy_empty(shape(), numpy_name(dtype_));
}

nb::object numpy_empty(std::span<const std::int64_t> shape, const char* dtype) {
  return nb::module_::import_("numpy").attr("empty")(nb::cast(std::vector(shape.begin(), shape.end())),
                                                     dtype);
}

}  // namespace rotary::python
