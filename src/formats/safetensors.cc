// SPDX-License-Identifier: Apache-2.0
//
//     8 bytes, header length n | n bytes of JSON | the tensors' bytes, without a hole
//
// The JSON comes through events, so that a name stated twice is seen and nothing is kept that is not wanted.
#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <rotary/formats/safetensors.hpp>

#include "base/in_quotes.hpp"
#include "base/mapped_file.hpp"
#include "base/message.hpp"
#include "base/names.hpp"
#include "formats/reader.hpp"
#include "formats/refusing.hpp"
#include "formats/safetensors_names.hpp"
#include "formats/tensor_size.hpp"

namespace rotary::formats {
namespace {

using nlohmann::json;
using namespace impl;  // NOLINT: this file is a source of impl with a public face

/// Takes nlohmann's events; returning false ends the parse, and status() says why.
class HeaderHandler : public Refusing {
 public:
  HeaderHandler(const std::string& origin, std::span<const std::byte> data, std::vector<FileTensor>& tensors,
                Metadata& metadata)
      : Refusing(origin), data_(data), tensors_(tensors), metadata_(metadata) {}

  bool null() { return unexpected("null"); }
  bool boolean(bool) { return unexpected("a boolean"); }
  bool number_integer(json::number_integer_t number) { return unexpected(message(number)); }
  bool number_float(json::number_float_t, const std::string& text) { return unexpected(in_quotes(text)); }
  bool binary(json::binary_t&) { return unexpected("binary"); }

  bool number_unsigned(json::number_unsigned_t number) {
    if (place_ == Place::offsets) {
      if (offset_count_ == 2) return fail(entry(), "data_offsets must be two numbers, got more");
      offsets_[offset_count_++] = number;
      return true;
    }
    if (place_ != Place::shape) return unexpected(message(number));
    if (number > std::uint64_t{INT64_MAX}) return unexpected(message(number));
    if (tensors_.back().shape.size() == max_axes) return fail(entry(), "more than ", max_axes, " axes");
    tensors_.back().shape.push_back(static_cast<std::int64_t>(number));
    return true;
  }

  bool string(std::string& text) {
    if (place_ == Place::metadata) {
      metadata_.emplace_back(std::move(key_), std::move(text));
      return true;
    }
    if (place_ != Place::entry || field_ != Field::dtype) return unexpected("text");
    const auto dtype = find_name<DType>(safetensors_dtypes, text);
    if (!dtype) {
      return fail_as(StatusCode::unsupported, entry(), "dtype ", in_quotes(text), " is not supported");
    }
    tensors_.back().dtype = *dtype;
    return true;
  }

  bool start_object(std::size_t) {
    if (place_ == Place::outside) {
      place_ = Place::top;
    } else if (place_ == Place::top && key_ == metadata_key) {
      if (seen_metadata_) return fail(metadata_key, " is stated twice");
      seen_metadata_ = true;
      place_ = Place::metadata;
    } else if (place_ == Place::top) {
      place_ = Place::entry;
      tensors_.emplace_back().name = std::move(key_);
      std::fill(std::begin(seen_), std::end(seen_), false);
      offset_count_ = 0;
    } else {
      return unexpected("an object");
    }
    return true;
  }

  bool key(std::string& text) {
    if (place_ != Place::entry) return key_ = std::move(text), true;
    const auto field = find_name<Field>(field_names, text);
    if (!field) return fail(entry(), "unknown key ", in_quotes(text));
    field_ = *field;
    if (std::exchange(seen_[static_cast<int>(field_)], true)) return fail(entry(), text, " is stated twice");
    return true;
  }

  bool end_object() {
    const bool entry_ends = place_ == Place::entry;
    place_ = place_ == Place::top ? Place::outside : Place::top;
    return !entry_ends || finish_tensor();
  }

  bool start_array(std::size_t) {
    if (place_ != Place::entry || field_ == Field::dtype) return unexpected("a list");
    place_ = field_ == Field::shape ? Place::shape : Place::offsets;
    return true;
  }
  bool end_array() {
    place_ = Place::entry;
    return true;
  }

  bool parse_error(std::size_t position, const std::string& last, const json::exception&) {
    return fail("header is not JSON at its byte ", position, ", near ", in_quotes(last));
  }

 private:
  enum class Place { outside, top, metadata, entry, shape, offsets };
  enum class Field { dtype, shape, data_offsets };
  static constexpr std::string_view field_names[] = {"dtype", "shape", "data_offsets"};

  std::string entry() const { return message("tensor ", in_quotes(tensors_.back().name), ": "); }

  /// A value of a kind that has no place here.
  bool unexpected(std::string_view got) {
    switch (place_) {
      case Place::outside:
        return fail("header must be an object, got ", got);
      case Place::top:
        return fail(in_quotes(key_), " must be an object, got ", got);
      case Place::metadata:
        return fail(metadata_key, ": ", in_quotes(key_), " must be text, got ", got);
      default:
        break;
    }
    constexpr std::string_view wanted[] = {"text", "a list of whole numbers from 0",
                                           "two whole numbers from 0"};
    const auto field = static_cast<int>(field_);
    return fail(entry(), field_names[field], " must be ", wanted[field], ", got ", got);
  }

  bool finish_tensor() {
    FileTensor& tensor = tensors_.back();
    for (int i = 0; i < 3; ++i) {
      if (!seen_[i]) return fail(entry(), field_names[i], " is missing");
    }
    if (offset_count_ != 2) return fail(entry(), "data_offsets must be two numbers, got ", offset_count_);
    const auto [begin, end] = offsets_;
    if (begin > end || end > data_.size()) {
      return fail(entry(), "data_offsets [", begin, ", ", end, "] do not lie in the ", data_.size(),
                  " bytes after the header");
    }
    const auto size = byte_size(tensor.dtype, tensor.shape);
    if (!size) return fail(entry(), "shape ", shape_text(tensor.shape), " is too large");
    if (*size != end - begin) {
      return fail(entry(), "data_offsets span ", end - begin, " bytes, but ", name(tensor.dtype), " ",
                  shape_text(tensor.shape), " needs ", *size);
    }
    tensor.bytes = data_.subspan(begin, *size);
    return true;
  }

  std::span<const std::byte> data_;
  std::vector<FileTensor>& tensors_;
  Metadata& metadata_;
  Place place_ = Place::outside;
  Field field_ = Field::dtype;
  std::string key_;
  bool seen_metadata_ = false;
  bool seen_[3] = {};
  std::uint64_t offsets_[2] = {};
  int offset_count_ = 0;
};

Status malformed(const std::string& origin, const auto&... pieces) {
  return failure(StatusCode::malformed, origin, ": ", pieces...);
}

/// Every byte after the header belongs to exactly one tensor.
Status check_coverage(const std::string& origin, std::span<const FileTensor> tensors,
                      std::span<const std::byte> data) {
  std::vector<const FileTensor*> in_order;
  in_order.reserve(tensors.size());
  for (const auto& tensor : tensors) in_order.push_back(&tensor);
  const auto begin = [&](const FileTensor* tensor) { return tensor->bytes.data() - data.data(); };
  const auto end = [&](const FileTensor* tensor) { return begin(tensor) + std::ssize(tensor->bytes); };
  std::sort(in_order.begin(), in_order.end(), [&](const FileTensor* a, const FileTensor* b) {
    return std::pair(begin(a), end(a)) < std::pair(begin(b), end(b));
  });
  std::ptrdiff_t covered = 0;
  for (const auto* tensor : in_order) {
    if (begin(tensor) != covered) {
      return malformed(origin, "tensor ", in_quotes(tensor->name), " begins at byte ", begin(tensor),
                       begin(tensor) < covered ? ", inside another that ends at " : ", a hole after byte ",
                       covered);
    }
    covered = end(tensor);
  }
  if (covered != std::ssize(data)) {
    return malformed(origin, "tensors end at byte ", covered, ", but ", data.size(), " follow the header");
  }
  return {};
}

Status check_names(const std::string& origin, std::span<const FileTensor> tensors, const Metadata& metadata) {
  std::vector<std::string_view> names;
  for (const auto& tensor : tensors) names.push_back(tensor.name);
  if (const auto twice = find_duplicate(std::move(names))) {
    return malformed(origin, "tensor ", in_quotes(*twice), " is stated twice");
  }
  std::vector<std::string_view> keys;
  for (const auto& [key, text] : metadata) keys.push_back(key);
  if (const auto twice = find_duplicate(std::move(keys))) {
    return malformed(origin, metadata_key, ": ", in_quotes(*twice), " is stated twice");
  }
  return {};
}

}  // namespace

Result<Safetensors> Safetensors::from_bytes(std::span<const std::byte> bytes, const std::string& origin) {
  Reader reader(bytes);
  const auto length = reader.number<std::uint64_t>();
  if (!length) return malformed(origin, bytes.size(), " bytes are too few for a safetensors file");
  if (*length > max_safetensors_header) {
    return malformed(origin, "header length ", *length, " is over the limit of ", max_safetensors_header);
  }
  const auto taken = reader.take(*length);
  if (!taken) {
    return malformed(origin, "header length ", *length, " is more than the ", reader.remaining(),
                     " bytes that follow it");
  }
  const std::string_view header = as_text(*taken);
  if (!header.starts_with('{')) return malformed(origin, "header does not start with {");
  // The JSON parser would take a NUL for the end and skip what follows.
  if (header.find('\0') != header.npos) return malformed(origin, "header has a NUL byte");

  Safetensors file;
  HeaderHandler handler(origin, reader.rest(), file.tensors_, file.metadata_);
  if (!json::sax_parse(header.begin(), header.end(), &handler)) return handler.status();
  if (Status status = check_names(origin, file.tensors_, file.metadata_); !status.ok()) return status;
  if (Status status = check_coverage(origin, file.tensors_, reader.rest()); !status.ok()) return status;
  return file;
}

Result<Safetensors> Safetensors::open(const std::string& path) {
  auto mapped = map_file(path);
  if (!mapped) return mapped.status();
  auto file = from_bytes(mapped->bytes, path);
  if (file) file->mapping_ = mapped->owner;
  return file;
}

const FileTensor* Safetensors::find(std::string_view name) const noexcept {
  const auto found = std::find_if(tensors_.begin(), tensors_.end(),
                                  [&](const FileTensor& tensor) { return tensor.name == name; });
  return found == tensors_.end() ? nullptr : &*found;
}

}  // namespace rotary::formats
