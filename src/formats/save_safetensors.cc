// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <rotary/formats/safetensors.hpp>

#include "base/atomic_file.hpp"
#include "base/in_quotes.hpp"
#include "base/message.hpp"
#include "formats/safetensors_names.hpp"
#include "formats/tensor_size.hpp"

namespace rotary::formats {
namespace {

using namespace impl;  // NOLINT: this file is a source of impl with a public face

/// Text in JSON's quotes; empty if it is not UTF-8.
std::optional<std::string> json_text(const std::string& text) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

Status check(const std::string& path, std::span<const FileTensor> tensors, const Metadata& metadata) {
  std::vector<std::string_view> names;
  for (const auto& tensor : tensors) {
    const std::string what = message(path, ": tensor ", in_quotes(tensor.name));
    if (tensor.name == metadata_key) return invalid(what, ": the name is reserved");
    if (Status status = check_tensor(tensor, what); !status.ok()) return status;
    names.push_back(tensor.name);
  }
  if (const auto twice = find_duplicate(std::move(names))) {
    return invalid(path, ": tensor ", in_quotes(*twice), " is stated twice");
  }
  std::vector<std::string_view> keys;
  for (const auto& [key, text] : metadata) keys.push_back(key);
  if (const auto twice = find_duplicate(std::move(keys))) {
    return invalid(path, ": metadata ", in_quotes(*twice), " is stated twice");
  }
  return {};
}

/// The bytes lie in the order of element size, largest first: without holes, that aligns every tensor.
std::vector<const FileTensor*> data_order(std::span<const FileTensor> tensors) {
  std::vector<const FileTensor*> order;
  for (const auto& tensor : tensors) order.push_back(&tensor);
  std::stable_sort(order.begin(), order.end(), [](const FileTensor* a, const FileTensor* b) {
    return size_of(a->dtype) > size_of(b->dtype);
  });
  return order;
}

Result<std::string> header_text(const std::string& path, std::span<const FileTensor* const> tensors,
                                const Metadata& metadata) {
  std::string header = "{";
  if (!metadata.empty()) {
    header += message('"', metadata_key, "\":{");
    for (const auto& [key, text] : metadata) {
      const auto key_json = json_text(key), text_json = json_text(text);
      if (!key_json || !text_json) return invalid(path, ": metadata ", in_quotes(key), " is not UTF-8");
      if (header.back() != '{') header += ',';
      header += message(*key_json, ':', *text_json);
    }
    header += '}';
  }
  std::uint64_t offset = 0;
  for (const auto* tensor : tensors) {
    const auto name_json = json_text(tensor->name);
    if (!name_json) return invalid(path, ": tensor ", in_quotes(tensor->name), ": the name is not UTF-8");
    if (header.size() > 1) header += ',';
    header += message(*name_json, ":{\"dtype\":\"", safetensors_dtypes[static_cast<int>(tensor->dtype)],
                      "\",\"shape\":[", joined(tensor->shape, ","), "],\"data_offsets\":[", offset, ',',
                      offset + tensor->bytes.size(), "]}");
    offset += tensor->bytes.size();
  }
  header += '}';
  header.resize((header.size() + 7) / 8 * 8, ' ');
  if (header.size() > max_safetensors_header) {
    return invalid(path, ": the header would take ", header.size(), " bytes, over the limit of ",
                   max_safetensors_header);
  }
  return header;
}

}  // namespace

Status save_safetensors(const std::string& path, std::span<const FileTensor> tensors,
                        const Metadata& metadata) {
  if (Status status = check(path, tensors, metadata); !status.ok()) return status;
  const auto order = data_order(tensors);
  const auto header = header_text(path, order, metadata);
  if (!header) return header.status();

  std::byte length[8];
  for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<std::byte>(header->size() >> (8 * i));
  std::vector<std::span<const std::byte>> pieces{length, as_bytes(*header)};
  for (const auto* tensor : order) pieces.push_back(tensor->bytes);
  return write_file_atomically(path, pieces);
}

}  // namespace rotary::formats
