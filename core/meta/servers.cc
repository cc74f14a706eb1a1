#include "core/meta/servers.h"

#include <string>

namespace tarn::meta {
namespace {

/// A server neither starts nor ends later because somebody locks the table.
constexpr std::string_view kLockTimeout = "1s";
constexpr int64_t kDeletedAtOnce = 100;

constexpr db::Query kLimitWait{"servers_limit_wait", R"sql(
  SELECT set_config('lock_timeout', $1, true))sql"};

// The server's own row may be that old too, after the process was suspended.
constexpr db::Query kAnnounce{"servers_announce", R"sql(
  WITH forgotten AS (
    DELETE FROM servers WHERE server_id IN (
      SELECT server_id FROM servers
      WHERE server_id <> $1 AND seen_at < clock_timestamp() - make_interval(secs => $6::bigint)
      ORDER BY seen_at LIMIT $7 FOR UPDATE SKIP LOCKED))
  INSERT INTO servers (server_id, version, host, listen, started_at, seen_at)
  VALUES ($1, $2, $3, $4, to_timestamp($5::bigint / 1000.0), clock_timestamp())
  ON CONFLICT (server_id) DO UPDATE
  SET version = excluded.version, host = excluded.host, listen = excluded.listen, seen_at = excluded.seen_at)sql"};

constexpr db::Query kList{"servers_list", R"sql(
  SELECT server_id, version, host, listen, (extract(epoch FROM started_at) * 1000)::bigint,
         (extract(epoch FROM seen_at) * 1000)::bigint,
         seen_at > clock_timestamp() - make_interval(secs => $1::bigint)
  FROM servers ORDER BY seen_at DESC, server_id LIMIT $2)sql"};

constexpr db::Query kRemove{"servers_remove", "DELETE FROM servers WHERE server_id = $1"};

}  // namespace

void Servers::announce(const ServerProcess& server) {
  pool_.transaction([&](db::Connection& connection) {
    connection.run(kLimitWait, {kLockTimeout});
    connection.run(
        kAnnounce,
        {server.id, server.version, server.host, server.listen, to_millis(server.started),
         int64_t{std::chrono::seconds{kServerRowKept}.count()}, kDeletedAtOnce});
  });
}

std::vector<ServerProcess> Servers::list() {
  struct Column {
    enum : int { kServerId, kVersion, kHost, kListen, kStartedMs, kSeenMs, kIsAlive };
  };
  return pool_.transaction([&](db::Connection& connection) {
    connection.run(kLimitWait, {kLockTimeout});
    const db::Rows rows =
        connection.run(kList, {int64_t{kServerAliveFor.count()}, int64_t{kServersMax}});
    std::vector<ServerProcess> out;
    out.reserve(rows.size());
    for (size_t row = 0; row < rows.size(); ++row) {
      out.push_back({.id = std::string(rows.text(row, Column::kServerId)),
                     .version = std::string(rows.text(row, Column::kVersion)),
                     .host = std::string(rows.text(row, Column::kHost)),
                     .listen = std::string(rows.text(row, Column::kListen)),
                     .started = from_millis(rows.integer(row, Column::kStartedMs)),
                     .seen = from_millis(rows.integer(row, Column::kSeenMs)),
                     .alive = rows.boolean(row, Column::kIsAlive)});
    }
    return out;
  });
}

void Servers::remove(std::string_view id) {
  pool_.transaction([&](db::Connection& connection) {
    connection.run(kLimitWait, {kLockTimeout});
    connection.run(kRemove, {id});
  });
}

}  // namespace tarn::meta
