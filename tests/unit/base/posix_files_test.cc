// SPDX-License-Identifier: Apache-2.0
#include "base/atomic_file.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>

#include "base/mapped_file.hpp"
#include "support/files.hpp"
#include "support/status_matchers.hpp"

namespace rotary::impl {
namespace {

using namespace rotary::testing;  // NOLINT
namespace fs = std::filesystem;

Status write(const std::string& path, std::string_view text) {
  const std::span<const std::byte> pieces[] = {
      bytes_of(text).first(text.size() / 2), {}, bytes_of(text).subspan(text.size() / 2)};
  return write_file_atomically(path, pieces);
}

TEST(AtomicFile, WritesNewAndReplacesOld) {
  const TemporaryFolder folder;
  write(folder / "x", "first").value();
  EXPECT_EQ(read_file(folder / "x"), "first");
  write(folder / "x", "second").value();
  EXPECT_EQ(read_file(folder / "x"), "second");
  EXPECT_EQ(folder.files(), 1);
}

TEST(AtomicFile, ReadersKeepTheOldFile) {
  const TemporaryFolder folder;
  write(folder / "x", "first").value();
  const auto mapped = map_file(folder / "x").value();
  // The pieces may come from the target itself.
  const std::span<const std::byte> twice[] = {mapped.bytes, mapped.bytes};
  write_file_atomically(folder / "x", twice).value();
  EXPECT_EQ(text_of(mapped.bytes), "first");
  EXPECT_EQ(read_file(folder / "x"), "firstfirst");
}

TEST(AtomicFile, PermissionsFollowUmaskOrTheOldFile) {
  const TemporaryFolder folder;
  const mode_t before = ::umask(027);
  write(folder / "new", "x").value();
  write_file(folder / "old", "x");
  fs::permissions(folder / "old", static_cast<fs::perms>(0604));
  write(folder / "old", "y").value();
  ::umask(before);
  EXPECT_EQ(fs::status(folder / "new").permissions(), static_cast<fs::perms>(0640));
  EXPECT_EQ(fs::status(folder / "old").permissions(), static_cast<fs::perms>(0604));
}

TEST(AtomicFile, FollowsALink) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "there");
  write_file(folder / "there/file", "old");
  fs::create_symlink("there/file", folder / "link");
  write(folder / "link", "new").value();
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(read_file(folder / "there/file"), "new");
}

TEST(AtomicFile, KeepsALinkToNothing) {
  const TemporaryFolder folder;
  fs::create_symlink("none/file", folder / "link");
  EXPECT_FAILS(write(folder / "link", "new"), StatusCode::unreadable, "link: is a link to what is not there");
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
}

TEST(AtomicFile, TakesTheLongestName) {
  const TemporaryFolder folder;
  const std::string name(255, 'n');
  write(folder / name, "x").value();
  EXPECT_EQ(read_file(folder / name), "x");
}

TEST(AtomicFile, LeavesNothingWhereItCannotWrite) {
  const TemporaryFolder folder;
  EXPECT_FAILS(write(folder / "none/x", "x"), StatusCode::unreadable,
               "none/x: cannot write: No such file or directory");
  EXPECT_FAILS(write(folder.path().string(), "x"), StatusCode::unreadable, "is not a regular file");
  EXPECT_FAILS(write(folder / std::string(256, 'n'), "x"), StatusCode::unreadable, "File name too long");
  EXPECT_FAILS(write("/dev/null", "x"), StatusCode::unreadable, "is not a regular file");
  EXPECT_EQ(folder.files(), 0);
}

TEST(AtomicFile, RefusesWhatIsWriteProtected) {
  const TemporaryFolder folder;
  write_file(folder / "x", "old");
  // Root may write anything, so become somebody else for a while.
  constexpr uid_t nobody = 65534;
  const bool root = ::geteuid() == 0;
  if (root) {
    for (const auto& path : {folder.path(), fs::path(folder / "x")}) {
      ASSERT_EQ(::chown(path.c_str(), nobody, static_cast<gid_t>(-1)), 0);
    }
    ASSERT_EQ(::seteuid(nobody), 0);
  }
  fs::permissions(folder / "x", static_cast<fs::perms>(0444));
  EXPECT_FAILS(write(folder / "x", "new"), StatusCode::unreadable, "Permission denied");
  fs::permissions(folder.path(), static_cast<fs::perms>(0555));
  EXPECT_FAILS(write(folder / "y", "new"), StatusCode::unreadable, "Permission denied");
  fs::permissions(folder.path(), static_cast<fs::perms>(0755));
  ASSERT_TRUE(!root || ::seteuid(0) == 0);
  EXPECT_EQ(read_file(folder / "x"), "old");
  EXPECT_EQ(folder.files(), 1);
}

TEST(AtomicFile, AFailedWriteLeavesTheOldFile) {
  const TemporaryFolder folder;
  write_file(folder / "x", "old");
  // A file-size limit stands in for a full disk.
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const struct rlimit tight { 1000, before.rlim_max };
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  const Status status = write(folder / "x", std::string(4000, 'n'));
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_FAILS(status, StatusCode::unreadable, "cannot write: File too large");
  EXPECT_EQ(read_file(folder / "x"), "old");
  EXPECT_EQ(folder.files(), 1);
}

TEST(MappedFile, DoesNotHangOnAPipe) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_FAILS(map_file(folder / "pipe").status(), StatusCode::unreadable, "is not a regular file");
}

}  // namespace
}  // namespace rotary::impl
