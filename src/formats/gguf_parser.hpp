// SPDX-License-Identifier: Apache-2.0
// One pass over a GGUF file:
//
//     "GGUF" version tensors keys | key: name type value ... | tensor: name axes extents type offset ... |
//     pad | data
//
// Every count and length is held against the bytes that are left before anything is allocated for it.
#pragma once

#include <optional>
#include <rotary/formats/gguf.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "formats/reader.hpp"
#include "formats/refusing.hpp"

namespace rotary::impl {

class GgufParser : public Refusing {
 public:
  GgufParser(std::span<const std::byte> bytes, const std::string& origin)
      : Refusing(origin), bytes_(bytes), reader_(bytes) {}

  /// False if the file is refused; status() says why.
  bool run();

  std::uint32_t version = 0;
  bool big_endian = false;
  std::vector<formats::GgufKey> keys;
  std::vector<formats::GgufTensor> tensors;

 private:
  bool header(std::uint64_t& tensor_count, std::uint64_t& key_count);
  bool key();
  bool value(std::uint32_t type, formats::GgufValue& out);
  bool scalar(std::uint32_t type, formats::GgufValue& out);
  bool array(formats::GgufArray& out, int depth);
  bool text(std::string_view& out);
  bool tensor();
  bool find_alignment(std::uint64_t& alignment);
  bool locate(formats::GgufTensor& tensor, std::uint64_t data_begin, std::uint64_t alignment);

  template <class T>
  bool number(T& out);
  template <class Kept, class Stored>
  bool number_as(formats::GgufValue& out);

  std::span<const std::byte> bytes_;
  Reader reader_;
};

/// A number or a bool as a double.
std::optional<double> as_double(const formats::GgufValue& value) noexcept;

}  // namespace rotary::impl
