// A repository with rules of retention and commits of any age, for tests.
#pragma once

#include <map>
#include <string>

#include "core/base/str_cat.h"
#include "core/branch/settings.h"
#include "core/gc/collection_fixture.h"
#include "core/model/expiry.h"

namespace tarn::gc {

class Retention : public CollectionTest {
 protected:
  void set_rules(uint32_t days, std::map<std::string, uint32_t> branches = {}) {
    branch::set_collection_rules(
        *engine, repo, {.default_retention_days = days, .retention_days = std::move(branches)});
  }

  /// A commit that writes `key` and was stored so many days ago.
  Commit old_commit(const std::string& branch, const std::string& key, const std::string& text,
                    int days) {
    engine.put(repo, branch, key, text);
    Commit commit = engine.commit(repo, branch, text);
    set_age(commit.id, days);
    return commit;
  }

  void set_age(const CommitId& id, int days) {
    run_sql(str_cat("UPDATE commits SET stored_at = clock_timestamp() - interval '", days,
                    " days' WHERE commit_id = decode('", to_text(id), "', 'hex')"));
  }

  bool is_expired_now(const CommitId& id) {
    return count(str_cat("SELECT count(*) FROM commits WHERE root_nid < 0 AND commit_id = decode('",
                         to_text(id), "', 'hex')")) == 1;
  }

  /// Collects while only a tag names the head of the branch, which then comes back.
  void collect_without_branch(const std::string& branch) {
    branch::create_tag(*engine, repo, TagName("saved"), branch, false);
    branch::delete_branch(*engine, repo, BranchName(branch), false);
    collect_all(repo);
    engine.branch(repo, branch, "saved");
  }

  std::string read_reason(const std::string& ref, const std::string& key) {
    return testing::reason_of([&] { engine.read(repo, ref, key); });
  }

  CommitId head(const std::string& branch) {
    return branch::get_branch(*engine, repo, BranchName(branch)).head;
  }
};

}  // namespace tarn::gc
