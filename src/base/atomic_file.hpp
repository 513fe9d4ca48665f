// SPDX-License-Identifier: Apache-2.0
// Whole files or none.
#pragma once

#include <cstddef>
#include <rotary/status.hpp>
#include <span>
#include <string>

namespace rotary::impl {

/// Writes the pieces one after the other to a temporary file in the target's folder, syncs it and renames it
/// onto the target: a reader sees the old file or the whole new one. On error the temporary is gone and the
/// old file as it was. A link is followed, an old file's permissions are kept, a write-protected one is
/// refused. The pieces may lie in a mapping of the target. Error: unreadable, with the system's reason.
Status write_file_atomically(const std::string& path, std::span<const std::span<const std::byte>> pieces);

}  // namespace rotary::impl
