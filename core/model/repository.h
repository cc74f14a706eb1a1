// Repositories and their refs as values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/time.h"
#include "core/model/commit.h"
#include "core/model/names.h"

namespace tarn {

/// How S3's CreateBucket made a repository.
enum class BucketKind : uint8_t {
  kNone,        ///< not at all: DeleteBucket refuses it
  kRepository,  ///< the first segment of a key is a ref
  kRooted,      ///< the bare name means the default branch, keys are paths in it
};

/// A named history over one storage namespace. Everything but the metadata (kept apart) and the
/// setting of paths is fixed at creation.
struct Repository {
  RepositoryId id{};
  RepositoryName name;
  std::string storage_namespace;  ///< without a trailing slash, for example "s3://bucket/prefix"
  BranchName default_branch;
  uint64_t salt = 0;
  bool read_only = false;
  bool strict_paths = false;  ///< requests of REST store plain paths only (is_plain_path)
  Instant created{};
  BucketKind bucket_kind = BucketKind::kNone;
};

struct Branch {
  BranchId id{};
  BranchName name;
  CommitId head;
  TreeRoot root;
  bool hidden = false;
  std::optional<Instant> expires{};  ///< when it expires
  /// The policy that protects it: it changes by promotion only. "" = none. Known where
  /// settings_version is.
  std::string gate{};
  /// Name of the user who made it; "" = with its repository, by a restore, or before that was kept.
  std::string creator{};
  /// The version of its repository's settings when the row was read to be written to
  /// (meta::Branches::find, meta::Staging::lookup): the rules it obeys. 0 elsewhere, which every
  /// write checks again.
  int64_t settings_version = 0;
};

struct Tag {
  TagName name;
  CommitId commit;
};

}  // namespace tarn
