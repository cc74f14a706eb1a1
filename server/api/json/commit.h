// JSON bodies of commits: creating, reverting, cherry-picking, showing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/commit.h"
#include "core/versioning/commit.h"
#include "server/api/json/document.h"
#include "server/api/json/writer.h"

namespace tarn::api::json {

void write_commit(Writer& out, const Commit& commit);
/// The member "metadata" of a request that makes a commit. Rejects keys that only the server may
/// set.
Metadata commit_metadata(const Value& body);
std::string commit_body(const Commit& commit);
/// The id of a tree in the API: 64 hex digits, "" for the empty tree.
std::string metarange_id(const TreeRoot& root);
/// The hash in such an id; nullopt if the text is not one. "" is the empty tree.
std::optional<Hash128> parse_metarange_id(std::string_view text);

struct CreateCommit {
  std::string message;
  Metadata metadata;
  std::optional<Instant> date;
  std::optional<std::vector<std::string>> parents;
  bool allow_empty = false;
  bool force = false;
  versioning::CommitExpectation expected;
};
CreateCommit parse_create_commit(const Value& body);

struct Overrides {
  std::optional<std::string> message;
  std::optional<Metadata> metadata;
};

struct Revert {
  std::string ref;
  int32_t parent_number = 0;
  Overrides overrides;
  bool force = false;
  bool allow_empty = false;
};
Revert parse_revert(const Value& body);

struct CherryPick {
  std::string ref;
  std::optional<int32_t> parent_number;
  Overrides overrides;
  bool force = false;
};
CherryPick parse_cherry_pick(const Value& body);

struct CommitRecord {
  Commit commit;  ///< its root has only a hash
  bool force = false;
};
/// CommitRecordCreation.
CommitRecord parse_commit_record(const Value& body);

}  // namespace tarn::api::json
