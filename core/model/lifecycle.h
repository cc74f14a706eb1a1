// Lifecycle rules of a bucket: when objects and their versions are deleted, and incomplete uploads
// aborted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"
#include "core/model/entry.h"

namespace tarn {

constexpr size_t kLifecycleRulesMax = 1000;  ///< of one bucket, as S3
constexpr size_t kLifecycleIdCharactersMax = 255;

/// A rule; all parts of its filter must fit.
struct LifecycleRule {
  std::string id;
  bool enabled = false;
  bool legacy_prefix = false;  ///< the prefix was given outside a filter, and is shown so
  std::optional<std::string> prefix;
  Metadata tags;
  std::optional<uint64_t> larger_than;   ///< bytes
  std::optional<uint64_t> smaller_than;  ///< bytes
  std::optional<uint32_t> expire_days;   ///< after the object's time
  std::optional<Instant> expire_date;
  std::optional<uint32_t> abort_days;        ///< after the upload began
  std::optional<uint32_t> noncurrent_days;   ///< after a newer version was written
  std::optional<uint32_t> noncurrent_newer;  ///< so many newest noncurrent versions are kept

  bool expires() const { return expire_days || expire_date; }
  /// Whether it deletes objects or versions.
  bool deletes() const { return expires() || noncurrent_days; }
  /// Whether the filter takes an object; `key` is its key in the bucket.
  bool takes(std::string_view key, const Entry& entry) const;
  bool operator==(const LifecycleRule&) const = default;
};

using LifecycleRules = std::vector<LifecycleRule>;

/// The first midnight, UTC, at or after so many days after `time`, as S3 counts days.
Instant after_days(Instant time, uint32_t days);

/// When an object expires, and by which rule: the earliest of the enabled ones.
struct Expiry {
  Instant at{};
  const LifecycleRule* rule = nullptr;  ///< one of `rules`
};
/// nullopt: no rule takes the object.
std::optional<Expiry> expiry_of(const LifecycleRules& rules, std::string_view key,
                                const Entry& entry);
/// A version of a key that the branch does not show.
struct NoncurrentVersion {
  std::string_view key;
  const std::optional<Entry>& entry;  ///< absent: a delete marker
  Instant since{};                    ///< when it ceased to be the current one
  uint32_t newer = 0;                 ///< noncurrent versions of the key that are newer
};
/// Whether an enabled rule removes the version by now.
bool removes_noncurrent(const LifecycleRules& rules, const NoncurrentVersion& version, Instant now);

/// When an upload for the key that began at `created` is aborted; nullopt: never.
std::optional<Instant> abortion_of(const LifecycleRules& rules, std::string_view key,
                                   Instant created);

/// The form in the database.
std::string encode_lifecycle(const LifecycleRules& rules);
/// Throws: data_loss.
LifecycleRules decode_lifecycle(std::string_view bytes);

}  // namespace tarn
