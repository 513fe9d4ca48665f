// SPDX-License-Identifier: Apache-2.0
#include "position_argument.hpp"

#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "text.hpp"

namespace rotary::tool {
namespace {

constexpr const char* tensor_name = "positions";

// "a:b" made of digits and signs alone; anything else is a file's name.
bool is_range(std::string_view text) {
  return text.find(':') != text.npos && text.find_first_not_of("0123456789-:") == text.npos;
}

Positions range(const std::string& text, std::int64_t axes) {
  const auto colon = text.find(':');
  const auto first = whole(std::string_view(text).substr(0, colon));
  const auto last = whole(std::string_view(text).substr(colon + 1));
  std::int64_t tokens = 0;
  if (!first || !last || *last < *first || __builtin_sub_overflow(*last, *first, &tokens))
    throw Failure(Exit::usage,
                  "--positions " + text + ": expected first:last with first <= last; last is left out");
  Positions one = Positions::range(*first, *last);
  if (axes == 1) return one;
  return take(Positions::axes(std::vector<Positions>(static_cast<std::size_t>(axes), one)), Exit::usage);
}

template <class T>
Result<Positions> ids(const formats::FileTensor& tensor) {
  std::vector<T> values(tensor.bytes.size() / sizeof(T));  // a copy, since a file need not align its tensors
  if (!values.empty()) std::memcpy(values.data(), tensor.bytes.data(), values.size() * sizeof(T));
  const auto& shape = tensor.shape;
  const std::size_t rank = shape.size();
  return Positions::ids(std::span<const T>(values), rank < 3 ? 1 : shape[0], rank < 2 ? 1 : shape[rank - 2],
                        shape[rank - 1]);
}

Positions from_tensor(const formats::FileTensor& tensor, const std::string& from) {
  if (tensor.shape.empty() || tensor.shape.size() > 3)
    throw Failure(Exit::input, from + ": shape " + shape_text(tensor.shape) +
                                   ", expected [tokens], [batch, tokens] or [axes, batch, tokens]");
  const std::string before = from + ": ";
  switch (tensor.dtype) {
    case DType::i32:
      return take(ids<std::int32_t>(tensor), Exit::input, before);
    case DType::i64:
      return take(ids<std::int64_t>(tensor), Exit::input, before);
    case DType::f32:
      return take(ids<float>(tensor), Exit::input, before);
    case DType::f64:
      return take(ids<double>(tensor), Exit::input, before);
    default:
      break;
  }
  throw Failure(Exit::input,
                before + "type " + std::string(name(tensor.dtype)) + ", expected i32, i64, f32 or f64");
}

}  // namespace

CLI::Option* PositionArgument::add_to(CLI::App& command) {
  return command
      .add_option("--positions", text_,
                  "first:last, last left out, as 0:4096; or a FILE.npy; or a FILE.safetensors with\n"
                  "a tensor `positions`: [tokens], [batch, tokens] or [axes, batch, tokens]")
      ->option_text("A:B|FILE");
}

GivenPositions PositionArgument::load(std::int64_t axes, const TensorFile* input) const {
  if (is_range(text_)) return {range(text_, axes), "--positions " + text_, Exit::usage};
  if (!text_.empty()) {
    const TensorFile file(text_, tensor_name);
    const std::string from = "tensor \"positions\" of " + text_;
    return {from_tensor(file.at(tensor_name), from), from, Exit::input};
  }
  const auto* tensor = input ? input->find(tensor_name) : nullptr;
  if (!tensor)
    throw Failure(Exit::usage, "--positions is missing, and the input has no tensor \"positions\"");
  const std::string from = "tensor \"positions\" of " + input->path();
  return {from_tensor(*tensor, from), from, Exit::input};
}

}  // namespace rotary::tool
