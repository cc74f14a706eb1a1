#include "core/gc/holds.h"

#include <utility>
#include <vector>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/branch/refs.h"
#include "core/gc/hold_store.h"
#include "core/meta/node_writer.h"
#include "core/meta/writer.h"
#include "core/tree/edit.h"

namespace tarn::gc {
namespace {

[[noreturn]] void throw_invalid(std::string message) {
  throw Error(ErrorCode::kInvalidArgument, std::move(message));
}

void log_added(const Repository& repository, const Hold& hold) {
  log::info("hold_added", {{"repository", repository.name.str()},
                           {"hold", hold.id},
                           {"commit", to_text(hold.commit)},
                           {"path", hold.path},
                           {"user", hold.actor},
                           {"reason", hold.reason}});
}

class NoEdits final : public tree::ChangeSource {
 public:
  std::optional<tree::Change> next() override { return std::nullopt; }
};

/// The objects of `source` below the path alone. Its nodes are in the database.
Commit commit_of_path(branch::Engine& engine, const Repository& repository, const Commit& source,
                      const Hold& hold) {
  std::vector<tree::RangeDelete> others{{"", hold.path}};
  // No key follows a path of nothing but 0xff.
  if (std::string end = prefix_end(hold.path); !end.empty()) others.push_back({std::move(end), ""});
  meta::NodeWriter nodes(engine.pool, engine.nodes, repository.id);
  NoEdits none;
  Commit made;
  made.root =
      tree::edit_tree(engine.nodes, nodes, {repository.salt}, source.root, others, none).root;
  if (made.root.empty()) {
    throw Error(ErrorCode::kNotFound, reason::kObjectNotFound,
                str_cat("holding a path: commit ", to_text(source.id), " has no object below \"",
                        hold.path, "\""));
  }
  nodes.flush();
  made.committer = hold.actor;
  made.message = str_cat("hold of ", hold.path, " at ", to_text(source.id));
  made.created = hold.created;
  made.id = compute_commit_id(made);
  return made;
}

/// Ascending by time.
std::string new_hold_id(Instant now) {
  std::string time = std::to_string(to_millis(now));
  return str_cat("hold-", time, "-", to_hex(random_bytes(4)));
}

}  // namespace

Hold add_hold(branch::Engine& engine, const Repository& repository, const HoldRequest& request) {
  if (request.reason.empty()) throw_invalid("holding a commit: a reason is needed");
  if (request.reason.size() > kHoldReasonBytesMax) {
    throw_invalid(
        str_cat("holding a commit: the reason is longer than ", kHoldReasonBytesMax, " bytes"));
  }
  Hold hold;
  hold.created = engine.clock.now();
  if (request.until && *request.until <= hold.created) {
    throw_invalid("holding a commit: the time until which to hold it has passed");
  }
  Holds holds(engine.pool);
  if (holds.count(repository.id) >= static_cast<int64_t>(kHoldsMax)) {
    throw_invalid(str_cat("holding a commit: the repository has ", kHoldsMax,
                          " holds; remove some that are no longer needed"));
  }
  hold.id = new_hold_id(hold.created);
  hold.path = request.path;
  hold.until = request.until;
  hold.reason = request.reason;
  hold.actor = request.actor;
  const meta::Writer::Operation operation(engine.writer);
  const Commit source = branch::resolve_commit(engine, repository, request.ref);
  if (hold.path.empty()) {
    hold.commit = source.id;
    holds.insert(repository.id, hold);
    log_added(repository, hold);
    return hold;
  }
  const Commit made = commit_of_path(engine, repository, source, hold);
  hold.commit = made.id;
  holds.insert(repository.id, hold, made, source.id, engine.writer.id());
  log_added(repository, hold);
  return hold;
}

Page<Hold> list_holds(branch::Engine& engine, const Repository& repository, std::string_view after,
                      uint32_t limit) {
  Page<Hold> page{.next_of = std::mem_fn(&Hold::id)};
  page.items = Holds(engine.pool).list(repository.id, after, limit + 1);
  if (page.items.size() > limit) {
    page.items.resize(limit);
    page.end_here();
  }
  return page;
}

void remove_hold(branch::Engine& engine, const Repository& repository, std::string_view id,
                 std::string_view user) {
  if (Holds(engine.pool).remove(repository.id, id)) {
    log::info("hold_removed",
              {{"repository", repository.name.str()}, {"hold", id}, {"user", user}});
    return;
  }
  throw Error(ErrorCode::kNotFound, reason::kHoldNotFound, str_cat("hold '", id, "' not found"));
}

}  // namespace tarn::gc
