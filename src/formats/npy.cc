// SPDX-License-Identifier: Apache-2.0
#include <rotary/formats/npy.hpp>

#include "base/atomic_file.hpp"
#include "base/mapped_file.hpp"
#include "base/message.hpp"
#include "formats/npy_header.hpp"
#include "formats/reader.hpp"
#include "formats/tensor_size.hpp"

namespace rotary::formats {

using namespace impl;  // NOLINT: this file is a source of impl with a public face

Result<Npy> Npy::from_bytes(std::span<const std::byte> bytes, const std::string& origin) {
  const auto malformed = [&](const auto&... pieces) {
    return failure(StatusCode::malformed, origin, ": ", pieces...);
  };
  Reader reader(bytes);
  const auto magic = reader.take(npy_magic.size());
  if (!magic || as_text(*magic) != npy_magic) return malformed("does not begin as an .npy file");
  const auto major = reader.number<std::uint8_t>(), minor = reader.number<std::uint8_t>();
  if (!minor) return malformed("ends inside its version");
  if (*major < 1 || *major > 3 || *minor != 0) {
    return failure(StatusCode::unsupported, origin, ": version ", *major, '.', *minor,
                   ": only 1.0, 2.0 and 3.0 are supported");
  }
  const auto length = *major == 1 ? std::optional<std::uint32_t>(reader.number<std::uint16_t>())
                                  : reader.number<std::uint32_t>();
  if (!length) return malformed("ends inside its header length");
  const auto text = reader.take(*length);
  if (!text) {
    return malformed("header length ", *length, " is more than the ", reader.remaining(),
                     " bytes that follow it");
  }
  auto header = parse_npy_header(as_text(*text), origin);
  if (!header) return header.status();

  const auto size = byte_size(header->dtype, header->shape);
  if (!size) return malformed("shape ", shape_text(header->shape), " is too large");
  if (*size != reader.remaining()) {
    return malformed(reader.remaining(), " bytes follow the header, but ", name(header->dtype), ' ',
                     shape_text(header->shape), " needs ", *size);
  }
  if (header->fortran_order && header->shape.size() > 1) {
    return failure(StatusCode::unsupported, origin, ": Fortran order of ", header->shape.size(),
                   " axes is not supported: save numpy.ascontiguousarray(...)");
  }
  Npy file;
  file.tensor_ = {"", header->dtype, std::move(header->shape), reader.rest()};
  return file;
}

Result<Npy> Npy::open(const std::string& path) {
  auto mapped = map_file(path);
  if (!mapped) return mapped.status();
  auto file = from_bytes(mapped->bytes, path);
  if (file) file->mapping_ = mapped->owner;
  return file;
}

Status save_npy(const std::string& path, const FileTensor& tensor) {
  if (Status status = check_tensor(tensor, path); !status.ok()) return status;
  if (npy_code(tensor.dtype).empty()) {
    return failure(StatusCode::unsupported, path, ": .npy has no code for ", name(tensor.dtype));
  }
  const std::string header = npy_header_text({tensor.dtype, false, tensor.shape});
  const std::span<const std::byte> pieces[] = {as_bytes(header), tensor.bytes};
  return write_file_atomically(path, pieces);
}

}  // namespace rotary::formats
