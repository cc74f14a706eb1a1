// A directory with the lifetime of a test.
#pragma once

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>

#include <stdlib.h>
#include <unistd.h>

namespace tarn::testing {

/// In memory if possible: tests create and sync tens of thousands of files. TARN_TEST_TMP overrides
/// it.
inline std::filesystem::path temporary_place() {
  if (const char* chosen = ::getenv("TARN_TEST_TMP")) return chosen;
  const std::filesystem::path memory = "/dev/shm";
  constexpr uintmax_t kEnoughBytes = uintmax_t{1} << 30;
  std::error_code error;
  const auto space = std::filesystem::space(memory, error);
  const bool enough =
      !error && space.available >= kEnoughBytes && ::access(memory.c_str(), W_OK) == 0;
  return enough ? memory : std::filesystem::temp_directory_path();
}

class TemporaryDirectory {
 public:
  explicit TemporaryDirectory(const std::filesystem::path& place = temporary_place())
      : path_((place / "tarn-test-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("making " + path_ + " failed");
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace tarn::testing
