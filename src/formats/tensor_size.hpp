// SPDX-License-Identifier: Apache-2.0
// What every format asks of a tensor.
#pragma once

#include <cstdint>
#include <optional>
#include <rotary/formats/file_tensor.hpp>
#include <rotary/status.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rotary::impl {

/// As many axes as NumPy and PyTorch know; bounds what a hostile header makes us keep.
inline constexpr std::size_t max_axes = 64;

/// Product of the extents, or empty if one is negative or the product does not fit.
std::optional<std::uint64_t> element_count(std::span<const std::int64_t> shape) noexcept;

/// Bytes of a dense tensor, or empty as above.
std::optional<std::uint64_t> byte_size(DType dtype, std::span<const std::int64_t> shape) noexcept;

/// "3, 4"
std::string joined(std::span<const std::int64_t> shape, std::string_view separator = ", ");
/// "[3, 4]"
std::string shape_text(std::span<const std::int64_t> shape);

/// Whether a tensor to be written is one: at most max_axes, and as many bytes as dtype and shape say.
Status check_tensor(const formats::FileTensor& tensor, std::string_view what);

/// A name that occurs twice, if any. Sorts, so that no choice of names makes it slow.
std::optional<std::string_view> find_duplicate(std::vector<std::string_view> names);

/// Bytes as the text they hold.
inline std::string_view as_text(std::span<const std::byte> bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline std::span<const std::byte> as_bytes(std::string_view text) noexcept {
  return std::as_bytes(std::span(text));
}

}  // namespace rotary::impl
