// SPDX-License-Identifier: Apache-2.0
// Files by POSIX, which caches.cc assumes as well and nothing else does.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "base/atomic_file.hpp"
#include "base/mapped_file.hpp"
#include "base/message.hpp"

namespace rotary::impl {
namespace {

/// "PATH: cannot DO: No such file or directory", from errno.
Status refused(const std::string& path, std::string_view action) {
  const std::string reason = std::generic_category().message(errno);
  return failure(StatusCode::unreadable, path, ": cannot ", action, ": ", reason);
}

class Descriptor {
 public:
  explicit Descriptor(int number) noexcept : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() { close(); }

  int number() const noexcept { return number_; }
  bool ok() const noexcept { return number_ >= 0; }
  /// False if a late write error shows up here.
  bool close() noexcept { return !ok() || ::close(std::exchange(number_, -1)) == 0; }

 private:
  int number_;
};

bool write_all(int file, std::span<const std::byte> bytes) noexcept {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

/// A new file that is removed again unless it is renamed.
class TemporaryFile {
 public:
  /// The name is our own: a longer form of the target's could exceed the system's limit.
  static std::optional<TemporaryFile> create(const std::filesystem::path& folder) {
    for (int attempt = 0; attempt < 1000; ++attempt) {
      const auto path = folder / message(".rotary-", ::getpid(), "-", attempt, ".tmp");
      Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
      if (file.ok()) return TemporaryFile(path.string(), std::move(file));
      if (errno != EEXIST) break;
    }
    return std::nullopt;
  }
  TemporaryFile(TemporaryFile&& other) noexcept
      : path_(std::exchange(other.path_, {})), file_(std::move(other.file_)) {}
  TemporaryFile& operator=(TemporaryFile&&) = delete;
  ~TemporaryFile() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }

  int file() const noexcept { return file_.number(); }
  bool rename(const std::string& target) noexcept {
    if (::fsync(file_.number()) != 0 || !file_.close()) return false;
    if (::rename(path_.c_str(), target.c_str()) != 0) return false;
    path_.clear();
    return true;
  }

 private:
  TemporaryFile(std::string path, Descriptor file) : path_(std::move(path)), file_(std::move(file)) {}
  std::string path_;
  Descriptor file_;
};

}  // namespace

Result<MappedFile> map_file(const std::string& path) {
  // Not to hang on a pipe that nobody writes to; regular files do not care.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info {};
  if (!file.ok() || ::fstat(file.number(), &info) != 0) return refused(path, "open");
  if (!S_ISREG(info.st_mode)) return failure(StatusCode::unreadable, path, ": is not a regular file");
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size == 0) return MappedFile{};  // mmap refuses a length of 0
  void* const address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number(), 0);
  if (address == MAP_FAILED) return refused(path, "map");
  return MappedFile{
      std::shared_ptr<const void>(address, [address, size](const void*) { ::munmap(address, size); }),
      {static_cast<const std::byte*>(address), size}};
}

Status write_file_atomically(const std::string& path, std::span<const std::span<const std::byte>> pieces) {
  std::error_code not_there, ignored;
  const auto followed = std::filesystem::canonical(path, not_there);
  if (not_there && std::filesystem::is_symlink(std::filesystem::symlink_status(path, ignored)))
    return failure(StatusCode::unreadable, path, ": is a link to what is not there");
  const std::filesystem::path target = not_there ? std::filesystem::path(path) : followed;
  const std::filesystem::path folder = target.has_parent_path() ? target.parent_path() : ".";

  struct stat old {};
  const bool exists = ::stat(target.c_str(), &old) == 0;
  if (exists && !S_ISREG(old.st_mode))
    return failure(StatusCode::unreadable, path, ": is not a regular file");
  if (exists && ::faccessat(AT_FDCWD, target.c_str(), W_OK, AT_EACCESS) != 0) return refused(path, "write");

  auto temporary = TemporaryFile::create(folder);
  if (!temporary) return refused(path, "write");
  for (const auto piece : pieces) {
    if (!write_all(temporary->file(), piece)) return refused(path, "write");
  }
  if (exists && ::fchmod(temporary->file(), old.st_mode & 0777) != 0) return refused(path, "write");
  if (!temporary->rename(target.string())) return refused(path, "write");

  // The rename itself reaches the disk with the folder; a system that cannot sync one still has a whole file.
  const Descriptor opened(::open(folder.c_str(), O_RDONLY | O_CLOEXEC));
  if (opened.ok()) ::fsync(opened.number());
  return {};
}

}  // namespace rotary::impl
