// Opening a connection, running statements on it, transactions.
#include "core/db/connection.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>

#include <fcntl.h>
#include <libpq-fe.h>
#include <poll.h>
#include <sys/socket.h>

#include "core/base/log.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/base/wait_scope.h"
#include "core/base/work_time.h"
#include "core/db/connection_state.h"

namespace tarn::db {
namespace {

constexpr int kServerVersionMin = 150000;

/// Defaults for keywords that the connection string does not set. The timeouts detect a host that
/// vanished; the response limit and Pool::probe detect a server that hangs.
constexpr std::pair<const char*, const char*> kDefaults[] = {
    {"fallback_application_name", "tarnd"},
    {"client_encoding", "UTF8"},
    {"connect_timeout", "5"},
    {"keepalives_idle", "30"},
    {"keepalives_interval", "10"},
    {"keepalives_count", "3"},
    {"tcp_user_timeout", "30000"},
    // After a failover a replica must not be used as the primary.
    {"target_session_attrs", "read-write"},
};

/// Settings are part of the start-up packet, so reconnects cannot lose them; those of the
/// connection string follow ours and win. Generic plans: the fixed statements have one good plan,
/// and planning costs more than running them.
constexpr const char* kSessionSettings =
    "-c statement_timeout=60s"
    " -c idle_in_transaction_session_timeout=30s"
    " -c default_transaction_isolation=read\\ committed"
    " -c plan_cache_mode=force_generic_plan"
    " -c jit=off"
    " -c client_min_messages=warning";

constexpr Query kCheckSession{"session_check", R"sql(
  SELECT current_setting('transaction_isolation'),
         (extract(epoch FROM current_setting('statement_timeout')::interval) * 1000)::bigint, pg_postmaster_start_time(),
         CASE WHEN pg_is_in_recovery() THEN '' ELSE left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) END,
         CASE WHEN pg_is_in_recovery() THEN NULL ELSE pg_last_wal_replay_lsn() END, pg_backend_pid())sql"};

/// The position of the transaction, NULL if it does not wait for the disk: such a commit is not
/// acknowledged to clients.
constexpr Query kPosition{"commit_position", R"sql(
  SELECT CASE WHEN current_setting('synchronous_commit') <> 'off' THEN pg_current_xact_id_if_assigned() END,
         pg_current_wal_insert_lsn())sql"};

class Timer {
 public:
  explicit Timer(metrics::Histogram& seconds) : seconds_(seconds) {}
  ~Timer() {
    const auto taken = Clock::now() - start_;
    work_time().database += taken;
    seconds_.observe(std::chrono::duration<double>(taken).count());
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  metrics::Histogram& seconds_;
  const WaitScope waits_;
  const Clock::time_point start_ = Clock::now();
};

struct OptionsDeleter {
  void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};

/// The elements of a list of hosts or ports.
std::vector<std::string> pieces_of(std::string_view list) {
  std::vector<std::string> out;
  for (size_t start = 0; start <= list.size();) {
    const size_t comma = std::min(list.find(',', start), list.size());
    out.emplace_back(list.substr(start, comma - start));
    start = comma + 1;
  }
  return out;
}

bool lists_hosts(std::string_view keyword) {
  return keyword == "host" || keyword == "hostaddr" || keyword == "port";
}

/// Waits until the session is open, has failed, or `deadline` has passed.
void finish_connecting(PGconn* conn, std::chrono::steady_clock::time_point deadline) {
  using std::chrono::milliseconds;
  PostgresPollingStatusType next = PGRES_POLLING_WRITING;
  while (PQstatus(conn) != CONNECTION_BAD && next != PGRES_POLLING_OK &&
         next != PGRES_POLLING_FAILED) {
    const short events = next == PGRES_POLLING_READING ? POLLIN : POLLOUT;
    pollfd socket{PQsocket(conn), events, 0};
    const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now());
    const int ready = poll(&socket, 1, static_cast<int>(std::max(left, milliseconds{0}).count()));
    if (ready == 0) return;
    if (ready > 0 || errno != EINTR) next = PQconnectPoll(conn);
  }
}

/// The keywords of `url` and our defaults, for PQconnectdbParams.
class Keywords {
 public:
  Keywords(const std::string& url, const OpenOptions& options) {
    const std::unique_ptr<PQconninfoOption, OptionsDeleter> given(
        PQconninfoParse(url.c_str(), nullptr));
    if (!given) {  // libpq's message may quote a part of the password
      throw_invalid(
          "reading the database's connection string: neither key=value pairs nor a postgresql:// "
          "URI");
    }
    std::string settings = kSessionSettings;
    for (const PQconninfoOption* o = given.get(); o->keyword; ++o) {
      const std::string_view keyword = o->keyword;
      if (!o->val) continue;
      if (keyword == "options") {
        settings += str_cat(' ', o->val);
      } else if (lists_hosts(keyword)) {
        add(o->keyword, rotated(o->val, options));
      } else {
        add(o->keyword, o->val);
      }
    }
    for (const auto& [keyword, value] : kDefaults) {
      if (!has(keyword)) add(keyword, value);
    }
    add("options", settings);
  }

  /// Opens a session; if it fails, the result has the error. After a timeout its status is not bad
  /// yet.
  PGconn* connect(std::optional<std::chrono::milliseconds> limit) {
    std::vector<const char*> keywords;
    std::vector<const char*> values;
    for (const auto& [keyword, value] : pairs_) {
      keywords.push_back(keyword.c_str());
      values.push_back(value.c_str());
    }
    keywords.push_back(nullptr);
    values.push_back(nullptr);
    if (!limit) return PQconnectdbParams(keywords.data(), values.data(), 0);
    PGconn* const conn = PQconnectStartParams(keywords.data(), values.data(), 0);
    finish_connecting(conn, std::chrono::steady_clock::now() + *limit);
    return conn;
  }

  /// The number of places by which the first of several hosts moved; 0 for a single host.
  size_t shift() const { return shift_; }
  size_t hosts() const { return hosts_; }
  /// The index of a connection's `host` and `port` in the list given to libpq.
  size_t place_of(std::string_view host, std::string_view port) const {
    const std::vector<std::string> names =
        pieces_of(has("host") ? value("host") : value("hostaddr"));
    const std::vector<std::string> ports = pieces_of(value("port"));
    for (size_t i = 0; i < names.size(); ++i) {
      const std::string& its_port = ports.size() == 1 ? ports[0] : i < ports.size() ? ports[i] : "";
      if (names[i] == host && (its_port.empty() || its_port == port)) return i;
    }
    return 0;
  }

 private:
  void add(std::string_view keyword, std::string_view value) {
    pairs_.emplace_back(keyword, value);
  }
  bool has(std::string_view keyword) const {
    return std::any_of(pairs_.begin(), pairs_.end(),
                       [keyword](const auto& pair) { return pair.first == keyword; });
  }
  std::string value(std::string_view keyword) const {
    for (const auto& [name, value] : pairs_) {
      if (name == keyword) return value;
    }
    return "";
  }
  std::string rotated(std::string_view list, const OpenOptions& options) {
    std::vector<std::string> pieces = pieces_of(list);
    if (pieces.size() > 1) {
      hosts_ = pieces.size();
      shift_ = options.first_host % hosts_;
      std::rotate(pieces.begin(), pieces.begin() + static_cast<ptrdiff_t>(shift_), pieces.end());
      if (options.only_first_host) pieces.resize(1);
    }
    return joined(pieces, ",");
  }

  std::vector<std::pair<std::string, std::string>> pairs_;
  size_t hosts_ = 1;
  size_t shift_ = 0;
};

/// Detects a commit whose wait for the standby was cancelled: PostgreSQL reports it as success with
/// this warning.
void take_notice(void* unreplicated, const PGresult* result) {
  const char* message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  log::debug("sql_notice", {{"message", message ? message : ""}});
  const char* function = PQresultErrorField(result, PG_DIAG_SOURCE_FUNCTION);
  if (function && std::string_view(function) == "SyncRepWaitForLSN") {
    *static_cast<bool*>(unreplicated) = true;
  }
}

std::string one_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace

Connection::Connection() : state_(std::make_unique<State>()) {}
Connection::~Connection() {
  if (state_->witness != nullptr) state_->witness->close(*this);
}

/// A pooler may have dropped our settings; writes are protected against lost updates only at read
/// committed.
void Connection::State::check_session() {
  struct Column {
    enum : int { kIsolation, kTimeoutMs, kStart, kTimeline, kReplayEnd, kProcess };
  };
  const Result result = execute(kCheckSession.sql, kCheckSession.name, false);
  const std::string_view isolation = PQgetvalue(result.get(), 0, Column::kIsolation);
  if (isolation != "read committed") {
    throw Error(ErrorCode::kInternal,
                str_cat("opening the database: its transactions default to \"", isolation,
                        "\", not \"read committed\""));
  }
  const std::chrono::milliseconds timeout{
      std::stoll(PQgetvalue(result.get(), 0, Column::kTimeoutMs))};
  if (timeout.count() == 0) {
    throw Error(ErrorCode::kInternal,
                "opening the database: its sessions have no statement_timeout; where a pooler "
                "drops the settings of a connection, set them on the role");
  }
  usual_limit = timeout + kAnswerMargin;
  timeline = PQgetvalue(result.get(), 0, Column::kTimeline);
  server = str_cat(PQgetvalue(result.get(), 0, Column::kStart), ' ', timeline, ' ',
                   PQgetvalue(result.get(), 0, Column::kReplayEnd));
  pooled = PQgetvalue(result.get(), 0, Column::kProcess) != std::to_string(PQbackendPID(conn));
}

size_t hosts_of(const std::string& url) { return Keywords(url, {}).hosts(); }

std::unique_ptr<Connection> Connection::open(const std::string& url, const OpenOptions& options) {
  std::unique_ptr<Connection> connection(new Connection());
  State& state = *connection->state_;
  state.faults = options.faults;
  state.witness = options.witness;
  if (options.answer_limit) state.answer_limit = *options.answer_limit;
  Keywords keywords(url, options);
  PGconn* const conn = state.conn = keywords.connect(options.connect_limit);
  const ConnStatusType status = PQstatus(conn);
  if (status != CONNECTION_OK && status != CONNECTION_BAD) {
    throw DbError(
        ErrorCode::kUnavailable, std::string(kStateNoAnswer),
        str_cat("opening the database: no session within ", options.connect_limit->count(), " ms"),
        false);
  }
  if (status != CONNECTION_OK) {
    throw DbError(ErrorCode::kUnavailable, "08001",
                  str_cat("opening the database: ", one_line(PQerrorMessage(conn))), false);
  }
  if (PQserverVersion(conn) < kServerVersionMin) {
    throw Error(ErrorCode::kInternal,
                str_cat("opening the database: PostgreSQL 15 or newer is needed, not ",
                        PQserverVersion(conn) / 10000));
  }
  PQsetNoticeReceiver(conn, take_notice, &state.unreplicated);
  PQsetnonblocking(conn, 1);
  state.socket_copy = fcntl(PQsocket(conn), F_DUPFD_CLOEXEC, 0);
  state.host =
      (keywords.place_of(PQhost(conn), PQport(conn)) + keywords.shift()) % keywords.hosts();
  state.check_session();
  if (options.answer_limit) state.usual_limit = *options.answer_limit;
  state.answer_limit = state.usual_limit;
  return connection;
}

const std::string& Connection::server() const { return state_->server; }
const std::string& Connection::timeline() const { return state_->timeline; }
size_t Connection::host() const { return state_->host; }

void Connection::limit_answers(std::optional<std::chrono::milliseconds> limit) {
  state_->answer_limit = limit.value_or(state_->usual_limit);
}

void Connection::interrupt() noexcept { shutdown(state_->socket_copy, SHUT_RDWR); }

std::optional<std::chrono::steady_clock::time_point> Connection::waits_since() const {
  using Clock = std::chrono::steady_clock;
  const Clock::rep since = state_->waits_since;
  return since == 0 ? std::nullopt : std::optional(Clock::time_point(Clock::duration(since)));
}

bool Connection::broken() const { return state_->lost(); }

bool Connection::alive() {
  while (!broken()) {
    pollfd socket{PQsocket(state_->conn), POLLIN, 0};
    if (poll(&socket, 1, 0) == 0) return true;
    // There is unsolicited input: a notice, or the server's last message and the end of the stream.
    if (PQconsumeInput(state_->conn) != 1) state_->broken = true;
  }
  return false;
}

Rows Connection::run(const Query& query, std::initializer_list<Param> params) {
  return run(query, std::span<const Param>(params.begin(), params.size()));
}

Rows Connection::run(const Query& query, std::span<const Param> params) {
  return run_statement(query, params, /*tells=*/false);
}

Rows Connection::run_write(const Query& query, std::initializer_list<Param> params) {
  return run_statement(query, {params.begin(), params.size()},
                       state_->has_witness() && state_->autocommit());
}

Rows Connection::run_statement(const Query& query, std::span<const Param> params, bool tells) {
  State& s = *state_;
  s.require_usable(query.name);
  Statement& statement = s.statement_for(query, params);
  Statement* const position =
      tells && !query.has_position ? &s.statement_for(kPosition, {}) : nullptr;
  s.before(query.name);
  const Timer timer(*statement.seconds);
  Result result;
  Result position_result;
  if (statement.ready && !s.pending_begin && position == nullptr) {
    s.bound.bind(params);
    const bool sent =
        PQsendQueryPrepared(s.conn, statement.name.c_str(), s.bound.count(), s.bound.values.data(),
                            s.bound.lengths.data(), s.bound.formats.data(), 1) == 1 &&
        s.flush();
    if (!sent) s.fail(nullptr, query.name, s.autocommit());
    result = s.last_result();
  } else {
    result = s.run_first(statement, params, position, &position_result);
  }
  if (!succeeded(result.get())) s.fail(result.get(), query.name, s.autocommit());
  s.after(query.name, s.autocommit());
  if (tells) {
    s.tell_witness(*this, position != nullptr ? position_result.get() : result.get(), query.name);
  }
  return State::rows_of(std::move(result));
}

void Connection::run_script(const std::string& sql) {
  State& s = *state_;
  s.send_pending_begin();
  s.execute(sql.c_str(), "script", s.autocommit(), PGRES_EMPTY_QUERY);
  s.after("script", s.autocommit());
}

void Connection::begin() {
  TARN_CHECK(!state_->in_transaction);
  state_->require_usable("begin");
  state_->in_transaction = true;
  state_->pending_begin = "BEGIN";
}

void Connection::begin_snapshot() {
  begin();
  state_->read_only = true;
  state_->pending_begin = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY";
}

void Connection::commit() {
  State& s = *state_;
  TARN_CHECK(s.in_transaction);
  if (!s.pending_begin) {
    s.before("commit");
    const bool tells = s.has_witness() && !s.read_only;
    const Result result = tells ? s.commit_with(s.statement_for(kPosition, {}))
                                : s.execute("COMMIT", "commit", !s.read_only);
    // PostgreSQL answers COMMIT of a failed transaction with success although it rolled back.
    if (!tells && std::string_view(PQcmdStatus(result.get())) != "COMMIT") {
      throw DbError(ErrorCode::kInternal, "25P02",
                    "running commit: a statement of the transaction had failed, all is undone",
                    false);
    }
    s.after("commit", !s.read_only);
    if (tells) s.tell_witness(*this, result.get(), "commit");
  }
  s.pending_begin = nullptr;
  s.in_transaction = s.read_only = false;
}

void Connection::rollback() noexcept {
  State& s = *state_;
  s.pending_begin = nullptr;
  s.in_transaction = s.read_only = false;
  if (broken() || PQtransactionStatus(s.conn) == PQTRANS_IDLE) return;
  try {
    s.execute("ROLLBACK", "rollback", false);
  } catch (const DbError&) {
    s.broken = true;
  }
}

}  // namespace tarn::db
