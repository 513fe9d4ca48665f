// SPDX-License-Identifier: Apache-2.0
// A file's bytes without reading them: pages come in when touched.
#pragma once

#include <cstddef>
#include <memory>
#include <rotary/status.hpp>
#include <span>
#include <string>

namespace rotary::impl {

struct MappedFile {
  std::shared_ptr<const void> owner;  ///< keeps `bytes` valid; null for an empty file
  std::span<const std::byte> bytes;
};

/// Maps a regular file for reading. Another process that shortens the file while it is mapped ends this one,
/// as with any memory map. Error: unreadable, with the system's reason.
Result<MappedFile> map_file(const std::string& path);

}  // namespace rotary::impl
