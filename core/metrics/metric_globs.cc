#include "core/metrics/metric_globs.h"

#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/glob.h"
#include "core/base/str_cat.h"
#include "core/base/wire.h"

namespace tarn {
namespace {

constexpr uint8_t kGlobsVersion = 1;

}  // namespace

const std::vector<std::string>& default_metric_globs() {
  static const std::vector<std::string> kGlobs = {"metrics/**", "metrics.*", "mlruns/**"};
  return kGlobs;
}

void check_metric_globs(const std::vector<std::string>& globs) {
  if (globs.size() > kMetricGlobsMax) {
    throw_invalid(str_cat("globs: there may be at most ", kMetricGlobsMax));
  }
  for (const std::string& glob : globs) {
    const std::string problem =
        glob.empty() || !is_utf8(glob) ? "must be UTF-8 and not empty" : Glob::problem(glob);
    if (!problem.empty()) throw_invalid(str_cat("globs: \"", glob, "\": ", problem));
  }
}

std::string encode_metric_globs(const std::vector<std::string>& globs) {
  std::string out(1, static_cast<char>(kGlobsVersion));
  put_varint(out, globs.size());
  for (const std::string& glob : globs) put_bytes(out, glob);
  return out;
}

std::vector<std::string> decode_metric_globs(std::string_view bytes) {
  WireReader in(bytes, "metric globs");
  if (in.u8() != kGlobsVersion) in.fail("unknown version");
  std::vector<std::string> out;
  for (uint64_t count = in.varint(); count > 0; --count) out.emplace_back(in.bytes());
  in.expect_end();
  return out;
}

}  // namespace tarn
