#include "server/reload.h"

#include "core/base/log.h"
#include "core/http/access_log.h"

namespace tarn::server {
namespace {

bool same(const S3StoreConfig& a, const S3StoreConfig& b) {
  return a.name == b.name && a.buckets == b.buckets && a.endpoint == b.endpoint &&
         a.presign_endpoint == b.presign_endpoint && a.region == b.region &&
         a.access_key_id == b.access_key_id && a.secret_access_key == b.secret_access_key &&
         a.path_style == b.path_style;
}

}  // namespace

ChangedKeys changed_keys(Config running, Config read) {
  ChangedKeys out;
  for (const ConfigKey& key : config_keys()) {
    if (config_text(key.value(running)) == config_text(key.value(read))) continue;
    (key.reload ? out.applied : out.needs_restart).emplace_back(key.path);
  }
  bool stores_differ = running.store_s3_stores.size() != read.store_s3_stores.size();
  for (size_t i = 0; !stores_differ && i < read.store_s3_stores.size(); ++i) {
    stores_differ = !same(running.store_s3_stores[i], read.store_s3_stores[i]);
  }
  if (stores_differ) out.needs_restart.emplace_back("store.s3_stores");
  return out;
}

void configure_log(const Config& config) {
  const log::Level level = config.log_level == "debug"   ? log::Level::kDebug
                           : config.log_level == "warn"  ? log::Level::kWarn
                           : config.log_level == "error" ? log::Level::kError
                                                         : log::Level::kInfo;
  log::configure(level, config.log_format == "json" ? log::Format::kJson : log::Format::kText);
  http::set_logged_duration(config.log_requests == "all"    ? std::chrono::nanoseconds::zero()
                            : config.log_requests == "slow" ? config.log_slow_request
                                                            : std::chrono::nanoseconds::max());
}

}  // namespace tarn::server
