#include "core/meta/tags.h"

#include <string>

#include "core/model/listing.h"

namespace tarn::meta {
namespace {

constexpr db::Query kSelectTag{"tags_select_by_name", R"sql(
  SELECT name, commit_id FROM tags WHERE repo_id = $1 AND name = $2)sql"};

constexpr db::Query kSelectPage{"tags_select_page", R"sql(
  SELECT name, commit_id FROM tags
  WHERE repo_id = $1 AND name > $2 AND name >= $3 AND starts_with(name, $3)
  ORDER BY name LIMIT $4)sql"};

constexpr db::Query kInsertTag{"tags_insert_row", "SELECT create_tag($1, $2, $3)"};

constexpr db::Query kDeleteTag{
    "tags_delete_row", "DELETE FROM tags WHERE repo_id = $1 AND name = $2 AND commit_id = $3"};

Tag tag_from(const db::Rows& rows, size_t row) {
  struct Column {
    enum : int { kName, kCommitId };
  };
  return {TagName(std::string(rows.text(row, Column::kName))),
          commit_id_from_bytes(rows.bytes(row, Column::kCommitId))};
}

Tags::CreateOutcome outcome_from(const db::Rows& rows) {
  return static_cast<Tags::CreateOutcome>(rows.integer(0, 0));
}

}  // namespace

std::optional<Tag> Tags::find(RepositoryId repository, const TagName& name) {
  const db::Rows rows =
      pool_.run(kSelectTag, {static_cast<int32_t>(repository), name.str()}, db::Pool::Retry::kRead);
  if (rows.empty()) return std::nullopt;
  return tag_from(rows, 0);
}

Page<Tag> Tags::list(RepositoryId repository, std::string_view prefix, std::string_view after,
                     uint32_t limit) {
  const db::Rows rows =
      pool_.run(kSelectPage, {static_cast<int32_t>(repository), after, prefix, row_limit(limit)},
                db::Pool::Retry::kRead);
  return page_of<Tag>(rows, limit, tag_from, [](const Tag& last) { return last.name.str(); });
}

Tags::CreateOutcome Tags::create(RepositoryId repository, const TagName& name,
                                 const CommitId& commit,
                                 const std::function<void(db::Connection&)>& within) {
  if (!within) {
    return outcome_from(pool_.run(
        kInsertTag, {static_cast<int32_t>(repository), name.str(), db::Bytes{view_of(commit)}},
        db::Pool::Retry::kWrite));
  }
  return pool_.transaction([&](db::Connection& connection) {
    const CreateOutcome outcome = create(connection, repository, name, commit);
    if (outcome == CreateOutcome::kDone) within(connection);
    return outcome;
  });
}

Tags::CreateOutcome Tags::create(db::Connection& connection, RepositoryId repository,
                                 const TagName& name, const CommitId& commit) {
  return outcome_from(connection.run(
      kInsertTag, {static_cast<int32_t>(repository), name.str(), db::Bytes{view_of(commit)}}));
}

bool Tags::remove(RepositoryId repository, const Tag& tag,
                  const std::function<void(db::Connection&)>& within) {
  const std::initializer_list<db::Param> params = {static_cast<int32_t>(repository), tag.name.str(),
                                                   db::Bytes{view_of(tag.commit)}};
  if (!within) return pool_.run(kDeleteTag, params, db::Pool::Retry::kWrite).affected() == 1;
  return pool_.transaction([&](db::Connection& connection) {
    const bool removed = connection.run(kDeleteTag, params).affected() == 1;
    if (removed) within(connection);
    return removed;
  });
}

}  // namespace tarn::meta
