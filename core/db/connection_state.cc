// The messages of one libpq session, and the conversion of its errors to DbError.
#include "core/db/connection_state.h"

#include <algorithm>
#include <cerrno>
#include <optional>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/fault_point.h"
#include "core/base/log.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/db/types.h"

namespace tarn::db {
namespace {

/// Raised by hold_repository of the schema, in statements that name a deleted repository.
constexpr std::string_view kRepositoryGoneState = "TN404";
/// Raised by require_kept_tree of the schema, in statements that need the data of a commit.
constexpr std::string_view kExpiredState = "TN410";

/// Raised by charge_metadata of the schema, in statements that exceed a quota.
constexpr std::string_view kOverMetadataState = "TN508";

std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

std::string_view field_of(const PGresult* result, int code) {
  const char* text = result ? PQresultErrorField(result, code) : nullptr;
  return text ? text : "";
}

/// After FATAL the server closes the connection, even if libpq has not noticed yet.
bool is_last_word(const PGresult* result) {
  const std::string_view severity = field_of(result, PG_DIAG_SEVERITY_NONLOCALIZED);
  return severity == "FATAL" || severity == "PANIC";
}

/// The server's prepared statement no longer fits this connection: a migration changed its columns,
/// or a pooler switched the server session. A new connection prepares it again.
bool is_stale_statement(std::string_view sqlstate) {
  return sqlstate == "0A000" || sqlstate == "26000" || sqlstate == "42P05";
}

ErrorCode code_of(std::string_view sqlstate, bool lost) {
  const std::string_view kind = sqlstate.substr(0, 2);
  // 57014: statement_timeout ended it; 55P03: lock_timeout.
  if (lost || kind == "08" || kind == "53" || sqlstate.substr(0, 3) == "57P" ||
      sqlstate == "57014" || sqlstate == "55P03" || sqlstate == kStateReadLeased) {
    return ErrorCode::kUnavailable;
  }
  if (sqlstate == "40001" || sqlstate == "40P01") return ErrorCode::kConflict;
  if (sqlstate == "23505") return ErrorCode::kAlreadyExists;
  return ErrorCode::kInternal;
}

bool send_prepared(PGconn* conn, const Statement& statement, const BoundParams& bound) {
  return (statement.ready ||
          PQsendPrepare(conn, statement.name.c_str(), statement.sql,
                        static_cast<int>(statement.types.size()), statement.types.data()) == 1) &&
         PQsendQueryPrepared(conn, statement.name.c_str(), bound.count(), bound.values.data(),
                             bound.lengths.data(), bound.formats.data(), 1) == 1;
}

bool send_plain(PGconn* conn, const char* sql) {
  return PQsendQueryParams(conn, sql, 0, nullptr, nullptr, nullptr, nullptr, 1) == 1;
}

}  // namespace

bool Statement::takes(std::span<const Param> params) const {
  return std::equal(types.begin(), types.end(), params.begin(), params.end(),
                    [](Oid type, const Param& param) {
                      const bool untyped_null = param.null() && param.type_oid() == 0;
                      return untyped_null || type == param.type_oid();
                    });
}

void BoundParams::bind(std::span<const Param> params) {
  values.clear();
  lengths.clear();
  formats.assign(params.size(), 1);
  for (const Param& param : params) {
    values.push_back(param.null() ? nullptr : param.bytes().data());
    lengths.push_back(static_cast<int>(param.bytes().size()));
  }
}

bool succeeded(const PGresult* result) {
  if (!result) return false;
  const ExecStatusType status = PQresultStatus(result);
  return status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK;
}

Connection::State::~State() {
  if (socket_copy >= 0) {
    // libpq sends a final message when it closes, which would block on a server that hangs.
    if (broken) shutdown(socket_copy, SHUT_RDWR);
    close(socket_copy);
  }
  PQfinish(conn);
}

bool Connection::State::wait(short events, Deadline deadline) {
  using std::chrono::milliseconds;
  while (!lost()) {
    pollfd socket{PQsocket(conn), events, 0};
    const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now());
    const int ready = poll(&socket, 1, static_cast<int>(std::max(left, milliseconds{0}).count()));
    if (ready > 0) return true;
    if (ready < 0 && errno == EINTR) continue;
    broken = no_answer = true;
  }
  return false;
}

bool Connection::State::flush() {
  const Deadline end = deadline();
  for (;;) {
    const int left = PQflush(conn);
    if (left <= 0) return left == 0;
    // Read as well: a server that waits for us to read its results does not read.
    if (!wait(POLLIN | POLLOUT, end) || PQconsumeInput(conn) != 1) return false;
  }
}

Result Connection::State::next_result() {
  const Deadline end = deadline();
  waits_since = std::chrono::steady_clock::now().time_since_epoch().count();
  while (!broken && PQisBusy(conn)) {
    if (!wait(POLLIN, end) || PQconsumeInput(conn) != 1) break;
  }
  waits_since = 0;
  return Result(broken ? nullptr : PQgetResult(conn));
}

Result Connection::State::last_result() {
  Result last;
  while (Result result = next_result()) {
    const ExecStatusType status = PQresultStatus(result.get());
    last = std::move(result);
    if (status == PGRES_COPY_IN || status == PGRES_COPY_OUT) break;
  }
  if (broken) last.reset();
  return last;
}

void Connection::State::before(std::string_view statement) {
  if (fault_points_armed()) fault_point(str_cat("sql.", statement, ".before"));
  if (faults == nullptr || faults->before(statement) == Fault::kNone) return;
  broken = true;
  throw DbError(ErrorCode::kUnavailable, "08006",
                str_cat("running ", statement, ": injected fault before it"), false);
}

void Connection::State::after(std::string_view statement, bool lasting) {
  if (fault_points_armed()) fault_point(str_cat("sql.", statement, ".after"));
  if (unreplicated) {
    broken = true;
    throw DbError(ErrorCode::kUnavailable, "08006",
                  str_cat("running ", statement, ": the server did not wait for its standby"),
                  lasting);
  }
  if (faults == nullptr || faults->after(statement) == Fault::kNone) return;
  broken = true;
  throw DbError(ErrorCode::kUnavailable, "08006",
                str_cat("running ", statement, ": injected fault after it"), lasting);
}

void Connection::State::require_usable(std::string_view doing) const {
  if (!lost()) return;
  throw DbError(ErrorCode::kUnavailable, "08003",
                str_cat("running ", doing, ": the connection to the database is broken"), false);
}

void Connection::State::fail(const PGresult* result, std::string_view doing, bool lasting) {
  const bool gone = lost() || is_last_word(result);
  std::string sqlstate(field_of(result, PG_DIAG_SQLSTATE));
  if (no_answer) sqlstate = kStateNoAnswer;
  if (sqlstate.empty()) sqlstate = gone ? "08006" : "XX000";
  const bool stale = is_stale_statement(sqlstate);
  if (gone || stale) broken = true;
  const std::string_view primary = field_of(result, PG_DIAG_MESSAGE_PRIMARY);
  if (sqlstate == kRepositoryGoneState) {
    throw Error(ErrorCode::kNotFound, reason::kRepositoryNotFound, std::string(primary));
  }
  if (sqlstate == kOverMetadataState) {
    throw Error(ErrorCode::kResourceExhausted, reason::kQuotaExceeded, std::string(primary));
  }
  if (sqlstate == kExpiredState) {
    throw Error(ErrorCode::kGone, reason::kExpired, std::string(primary));
  }
  const std::string why =
      no_answer         ? str_cat("the database did not answer for ", answer_limit.count(), " ms")
      : primary.empty() ? first_line(PQerrorMessage(conn))
                        : std::string(primary);
  // The detail quotes values of the row, which must not appear in the message.
  log::debug("sql_failed", {{"query", doing},
                            {"sqlstate", sqlstate},
                            {"detail", field_of(result, PG_DIAG_MESSAGE_DETAIL)}});
  throw DbError(code_of(sqlstate, gone || stale), sqlstate,
                str_cat("running ", doing, ": ", why, " (SQLSTATE ", sqlstate, ")"),
                gone && lasting);
}

Result Connection::State::execute(const char* sql, std::string_view doing, bool lasting,
                                  ExecStatusType also_fine) {
  require_usable(doing);
  if (PQsendQuery(conn, sql) != 1 || !flush()) fail(nullptr, doing, lasting);
  Result result = last_result();
  const bool fine =
      succeeded(result.get()) || (result && PQresultStatus(result.get()) == also_fine);
  if (!fine) fail(result.get(), doing, lasting);
  return result;
}

void Connection::State::send_pending_begin() {
  if (!pending_begin) return;
  execute(pending_begin, "begin", false);
  pending_begin = nullptr;
}

Statement& Connection::State::statement_for(const Query& query, std::span<const Param> params) {
  std::vector<Statement>& known = statements[query.name];
  for (Statement& statement : known) {
    if (statement.sql != query.sql && std::string_view(statement.sql) != query.sql) {
      throw Error(ErrorCode::kInternal,
                  str_cat("running ", query.name, ": the name stands for two statements"));
    }
    if (statement.takes(params)) return statement;
  }
  Statement statement{
      .name = query.name,
      .sql = query.sql,
      .types = {},
      .seconds = &metrics::histogram("tarn_sql_seconds", "Round trips to the database by query.",
                                     {"query", query.name})};
  if (!known.empty()) statement.name += str_cat('#', known.size());
  for (const Param& param : params) statement.types.push_back(param.type_oid());
  known.push_back(std::move(statement));
  return known.back();
}

void Connection::State::send(const Statement& statement, std::span<const Param> params,
                             const Statement* position) {
  bool sent = PQenterPipelineMode(conn) == 1;
  if (pending_begin) sent = sent && send_plain(conn, pending_begin);
  bound.bind(params);
  sent = sent && send_prepared(conn, statement, bound);
  if (position != nullptr) sent = sent && send_prepared(conn, *position, BoundParams{});
  if (!sent) {  // without the sync the server commits nothing
    broken = true;
    fail(nullptr, statement.name, false);
  }
  if (PQpipelineSync(conn) != 1 || !flush()) {
    broken = true;
    fail(nullptr, statement.name, autocommit());
  }
}

/// The result of one statement of the pipeline, and the null that follows it.
Result Connection::State::next_answer(std::string_view doing, bool lasting) {
  Result result = next_result();
  if (!result || lost() || is_last_word(result.get())) {
    broken = true;
    fail(result.get(), doing, lasting);
  }
  while (next_result()) {
  }
  return result;
}

/// Reads up to the end of the pipeline. `result` becomes that of the end of its transaction where
/// that failed.
void Connection::State::end_pipeline(std::string_view doing, bool lasting, Result& result) {
  for (;;) {
    Result end = next_result();
    if (end && PQresultStatus(end.get()) == PGRES_PIPELINE_SYNC) break;
    if (lost() || is_last_word(end.get())) fail(end.get(), doing, lasting);
    if (end && succeeded(result.get())) result = std::move(end);
  }
  if (PQexitPipelineMode(conn) != 1) broken = true;
}

Result Connection::State::run_first(Statement& statement, std::span<const Param> params,
                                    Statement* position, Result* position_result) {
  send(statement, params, position);
  const bool with_begin = pending_begin != nullptr;
  const bool with_prepare = !statement.ready;
  const bool with_position = position != nullptr && !position->ready;
  const bool lasting = autocommit();
  Result begun = with_begin ? next_answer("begin", lasting) : nullptr;
  Result prepared = with_prepare ? next_answer(statement.name, lasting) : nullptr;
  Result result = next_answer(statement.name, lasting);
  Result position_prepared = with_position ? next_answer(position->name, lasting) : nullptr;
  if (position != nullptr) *position_result = next_answer(position->name, lasting);
  end_pipeline(statement.name, lasting, result);
  if (with_begin) {
    if (!succeeded(begun.get())) fail(begun.get(), "begin", false);
    pending_begin = nullptr;
  }
  if (with_prepare) {
    if (!succeeded(prepared.get())) fail(prepared.get(), statement.name, false);
    statement.ready = true;
  }
  if (with_position && succeeded(position_prepared.get())) position->ready = true;
  if (position != nullptr && succeeded(result.get()) && !succeeded(position_result->get())) {
    return std::move(*position_result);
  }
  return result;
}

Result Connection::State::commit_with(Statement& position) {
  require_usable("commit");
  const bool with_prepare = !position.ready;
  if (PQenterPipelineMode(conn) != 1 || !send_prepared(conn, position, BoundParams{}) ||
      !send_plain(conn, "COMMIT")) {
    broken = true;
    fail(nullptr, "commit", false);
  }
  if (PQpipelineSync(conn) != 1 || !flush()) {
    broken = true;
    fail(nullptr, "commit", true);
  }
  Result prepared = with_prepare ? next_answer("commit", true) : nullptr;
  Result asked = next_answer("commit", true);
  Result committed = next_answer("commit", true);
  end_pipeline("commit", true, committed);
  if (prepared && succeeded(prepared.get())) position.ready = true;
  // COMMIT was skipped if the transaction had failed before.
  if (!succeeded(asked.get()) || std::string_view(PQcmdStatus(committed.get())) != "COMMIT") {
    const bool failed = succeeded(asked.get()) && !succeeded(committed.get());
    if (failed) fail(committed.get(), "commit", true);
    throw DbError(ErrorCode::kInternal, "25P02",
                  "running commit: a statement of the transaction had failed, all is undone",
                  false);
  }
  return asked;
}

void Connection::State::tell_witness(const Connection& self, const PGresult* result,
                                     std::string_view doing) {
  const int columns = PQnfields(result);
  if (PQntuples(result) != 1 || PQgetisnull(result, 0, columns - 2) == 1) return;  // wrote nothing
  const auto value = [&](int column) {
    return get_be<int64_t>({PQgetvalue(result, 0, column), sizeof(int64_t)});
  };
  if (witness->acknowledge(self, {value(columns - 2), value(columns - 1)})) return;
  broken = true;
  throw DbError(ErrorCode::kUnavailable, "08006",
                str_cat("running ", doing, ": another server has taken over meanwhile"), true);
}

}  // namespace tarn::db
