// A real S3 server for tests: versitygw over a directory of its own.
#pragma once

#include <cstdint>
#include <string>

#include <sys/types.h>

#include "tests/support/temporary_directory.h"

namespace tarn::testing {

/// Starts on a free loopback port and is ready when the constructor returns; the destructor stops
/// it. Throws std::runtime_error that says how to install the program if it is missing.
class Versitygw {
 public:
  Versitygw();
  ~Versitygw();
  Versitygw(const Versitygw&) = delete;

  static constexpr const char* kAccessKeyId = "tarn-test-key";
  static constexpr const char* kSecret = "tarn-test-secret-0123456789";
  static constexpr const char* kRegion = "us-east-1";

  /// "http://127.0.0.1:PORT"
  std::string endpoint() const { return "http://127.0.0.1:" + std::to_string(port_); }
  /// The directory whose subdirectories are the buckets.
  const std::string& directory() const { return directory_.path(); }

 private:
  bool start_on(uint16_t port);
  void stop();

  TemporaryDirectory directory_;
  pid_t pid_ = -1;
  uint16_t port_ = 0;
};

}  // namespace tarn::testing
