#include "core/branch/aliases.h"

#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/branch/alias_store.h"
#include "core/branch/refs.h"
#include "core/branch/repositories.h"

namespace tarn::branch {
namespace {

[[noreturn]] void throw_no_alias(const AliasName& name) {
  throw Error(ErrorCode::kNotFound, reason::kAliasNotFound,
              str_cat("alias @", name.str(), ": alias not found"));
}

uint64_t version_after(std::string_view after) {
  if (after.empty()) return 0;
  uint64_t version = 0;
  const auto [end, error] = std::from_chars(after.data(), after.data() + after.size(), version);
  if (error != std::errc() || end != after.data() + after.size() || version == 0 ||
      version > INT64_MAX) {
    throw_invalid(str_cat("after: \"", after, "\" is no version of the alias"));
  }
  return version;
}

[[noreturn]] void throw_moved(const AliasRequest& request, const std::optional<Alias>& now) {
  const std::string place = now ? str_cat("is at commit ", to_text(now->commit)) : "is not there";
  const std::string expected = request.expected.commit
                                   ? str_cat("commit ", to_text(*request.expected.commit))
                                   : "no such alias";
  throw Error(ErrorCode::kConflict, reason::kDestinationMoved,
              str_cat("alias @", request.name.str(), " ", place, " and ", expected,
                      " was expected: look at it and try again"));
}

/// The alias after a change; nullopt after its removal.
struct Changed {
  std::optional<Alias> alias;
  bool changed = false;
};

Changed change(Engine& engine, const Repository& repository, const AliasRequest& request,
               const std::optional<CommitId>& to) {
  if (request.reason.size() > kAliasReasonBytesMax) {
    throw_invalid(str_cat("reason: is longer than ", kAliasReasonBytesMax, " bytes"));
  }
  check_writable(engine, repository, /*force=*/false);
  const AliasMove wanted{.name = request.name,
                         .expected = request.expected,
                         .to = to,
                         .actor = request.actor,
                         .reason = request.reason,
                         .at = engine.clock.now()};
  return engine.pool.transaction([&](db::Connection& connection) {
    const auto outcome = AliasStore::try_move(connection, repository.id, wanted);
    auto now = AliasStore::find_locked(connection, repository.id, request.name);
    if (outcome == AliasStore::MoveOutcome::kElsewhere) throw_moved(request, now);
    return Changed{std::move(now), outcome == AliasStore::MoveOutcome::kMoved};
  });
}

}  // namespace

Alias get_alias(Engine& engine, const Repository& repository, const AliasName& name) {
  auto alias = engine.aliases.find(repository.id, name);
  if (!alias) throw_no_alias(name);
  return *std::move(alias);
}

Page<Alias> list_aliases(Engine& engine, const Repository& repository, std::string_view prefix,
                         std::string_view after, uint32_t limit) {
  return existing(engine, repository, engine.aliases.list(repository.id, prefix, after, limit));
}

Page<AliasChange> list_alias_changes(Engine& engine, const Repository& repository,
                                     const AliasName& name, std::string_view after,
                                     uint32_t limit) {
  const uint64_t before = version_after(after);
  Page<AliasChange> page = engine.aliases.history(repository.id, name, before, limit);
  // An alias that was ever set has a version 1, and nothing precedes that.
  if (page.items.empty() && before != 1) throw_no_alias(name);
  return page;
}

AliasOutcome set_alias(Engine& engine, const Repository& repository, const AliasRequest& request,
                       std::string_view to) {
  const Commit commit = resolve_commit(engine, repository, to);
  Changed made = change(engine, repository, request, commit.id);
  return {.alias = *std::move(made.alias), .changed = made.changed};
}

void remove_alias(Engine& engine, const Repository& repository, const AliasRequest& request) {
  if (!change(engine, repository, request, std::nullopt).changed) throw_no_alias(request.name);
}

}  // namespace tarn::branch
