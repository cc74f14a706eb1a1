#include "core/branch/bucket_settings.h"

#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/branch/repositories.h"
#include "core/meta/repositories.h"
#include "core/meta/repository_settings.h"

namespace tarn::branch {
namespace {

using meta::SettingKind;
using Body = std::optional<std::string>;

BucketSettings settings_of(const Body& body) {
  return body ? decode_bucket_settings(*body) : BucketSettings{};
}

void update(Engine& engine, const Repository& repository, SettingKind kind,
            const meta::RepositorySettings::Change& change) {
  if (engine.settings.update(repository.id, kind, change)) return;
  throw Error(ErrorCode::kNotFound, reason::kRepositoryNotFound, "repository not found");
}

}  // namespace

BucketSettings get_bucket_settings(Engine& engine, const Repository& repository) {
  return settings_of(engine.settings.find(repository.id, SettingKind::kBucket));
}

void change_bucket_settings(Engine& engine, const Repository& repository, bool force,
                            const std::function<void(BucketSettings&)>& change) {
  check_writable(engine, repository, force);
  update(engine, repository, SettingKind::kBucket, [&](const Body& present) {
    BucketSettings settings = settings_of(present);
    change(settings);
    return settings == BucketSettings{} ? std::nullopt : Body(encode_bucket_settings(settings));
  });
}

std::optional<std::string> find_cors(Engine& engine, const RepositoryName& repository) {
  const std::optional<Repository> found = engine.repositories.find(repository);
  return found ? engine.settings.find(found->id, SettingKind::kCors) : std::nullopt;
}

void set_cors(Engine& engine, const Repository& repository,
              const std::optional<std::string>& document) {
  check_writable(engine, repository, /*force=*/false);
  update(engine, repository, SettingKind::kCors, [&](const Body&) { return document; });
}

std::optional<RepositoryId> public_repository(Engine& engine, const RepositoryName& repository,
                                              const BranchName& branch) {
  const std::optional<Repository> found = engine.repositories.find(repository);
  if (!found || found->bucket_kind != BucketKind::kRooted || found->default_branch != branch) {
    return std::nullopt;
  }
  const BucketSettings settings =
      settings_of(engine.settings.find(found->id, SettingKind::kBucket));
  if (!settings.readable_by_everybody()) return std::nullopt;
  return found->id;
}

}  // namespace tarn::branch
