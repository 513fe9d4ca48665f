// SPDX-License-Identifier: Apache-2.0
#include "formats/tensor_size.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "base/message.hpp"

namespace rotary::impl {

std::optional<std::uint64_t> element_count(std::span<const std::int64_t> shape) noexcept {
  std::optional<std::uint64_t> count = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0) return std::nullopt;
    count = checked_mul(*count, static_cast<std::uint64_t>(extent));
    if (!count) return std::nullopt;
  }
  return count;
}

std::optional<std::uint64_t> byte_size(DType dtype, std::span<const std::int64_t> shape) noexcept {
  const auto count = element_count(shape);
  return count ? checked_mul(*count, std::uint64_t{size_of(dtype)}) : std::nullopt;
}

std::string joined(std::span<const std::int64_t> shape, std::string_view separator) {
  std::string text;
  for (const std::int64_t extent : shape) {
    if (!text.empty()) text += separator;
    append(text, extent);
  }
  return text;
}

std::string shape_text(std::span<const std::int64_t> shape) { return message('[', joined(shape), ']'); }

Status check_tensor(const formats::FileTensor& tensor, std::string_view what) {
  if (tensor.shape.size() > max_axes) {
    return invalid(what, ": ", tensor.shape.size(), " axes, at most ", max_axes, " are possible");
  }
  if (tensor.dtype > DType::boolean) return invalid(what, ": unknown dtype");
  const auto size = byte_size(tensor.dtype, tensor.shape);
  if (!size) return invalid(what, ": shape ", shape_text(tensor.shape), " is negative or too large");
  if (*size != tensor.bytes.size()) {
    return invalid(what, ": ", tensor.bytes.size(), " bytes, but ", name(tensor.dtype), " ",
                   shape_text(tensor.shape), " needs ", *size);
  }
  return {};
}

std::optional<std::string_view> find_duplicate(std::vector<std::string_view> names) {
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  return twice == names.end() ? std::nullopt : std::optional(*twice);
}

}  // namespace rotary::impl
