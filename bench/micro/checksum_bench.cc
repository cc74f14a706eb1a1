// The cost of keeping a CRC-64/NVME beside the MD5 of an upload: both in one pass over 64 MiB,
// against the MD5 alone, in pieces as they come from a connection.
#include <algorithm>
#include <cstdio>
#include <random>
#include <string>
#include <string_view>

#include <time.h>

#include "core/base/crc.h"
#include "core/base/digest.h"

namespace tarn {
namespace {

constexpr size_t kBodyBytes = 64 * 1024 * 1024;
constexpr size_t kPieceBytes = 256 * 1024;
constexpr int kRounds = 15;

/// Processor time of this thread: what else the machine does is not counted.
double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double seconds_of(const std::string& body, bool with_crc) {
  const double begun = cpu_seconds();
  Digest digest(DigestAlgorithm::kMd5);
  Crc crc(CrcKind::kCrc64Nvme);
  for (size_t at = 0; at < body.size(); at += kPieceBytes) {
    const std::string_view piece = std::string_view(body).substr(at, kPieceBytes);
    digest.update(piece);
    if (with_crc) crc.update(piece);
  }
  volatile uint64_t used = crc.value() + static_cast<unsigned char>(digest.finish()[0]);
  static_cast<void>(used);
  return cpu_seconds() - begun;
}

int run() {
  std::string body(kBodyBytes, '\0');
  std::minstd_rand random(1);
  for (char& c : body) c = static_cast<char>(random());
  double alone = 1e9;
  double both = 1e9;
  // In turns, the best of each.
  for (int i = 0; i < kRounds; ++i) {
    alone = std::min(alone, seconds_of(body, false));
    both = std::min(both, seconds_of(body, true));
  }
  constexpr double kMebibytes = kBodyBytes / 1048576.0;
  std::printf(
      "{\"bench\":\"checksums_64MiB\",\"md5_mib_s\":%.0f,\"md5_crc64nvme_mib_s\":%.0f,"
      "\"ratio\":%.3f}\n",
      kMebibytes / alone, kMebibytes / both, alone / both);
  return 0;
}

}  // namespace
}  // namespace tarn

int main() { return tarn::run(); }
