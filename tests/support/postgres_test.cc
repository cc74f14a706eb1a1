#include "tests/support/postgres_test.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include <sys/stat.h>
#include <unistd.h>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/db/connection.h"
#include "core/db/embedded.h"
#include "core/db/migrations.h"

namespace tarn::testing {
namespace {

constexpr db::Query kLockTemplate{"test_lock_template", "SELECT pg_advisory_lock($1)"};
constexpr db::Query kUnlockTemplate{"test_unlock_template", "SELECT pg_advisory_unlock($1)"};
constexpr db::Query kCountDatabases{"test_count_databases",
                                    "SELECT count(*) FROM pg_database WHERE datname = $1"};
/// "tarntest"
constexpr int64_t kTemplateLock = 0x7461726e74657374;

/// A server for this program only, started if there is no other.
class OwnServer {
 public:
  OwnServer() : directory_("/tmp/tarn-test-XXXXXX") {
    if (!mkdtemp(directory_.data()))
      throw Error(ErrorCode::kInternal, "making a directory in /tmp");
    chmod(directory_.c_str(), 0711);
    server_ = db::EmbeddedPostgres::start(directory_);
  }
  ~OwnServer() {
    server_.reset();
    std::filesystem::remove_all(directory_);
  }
  std::string url() const { return server_->url(); }

 private:
  std::string directory_;
  std::unique_ptr<db::EmbeddedPostgres> server_;
};

bool answers(const std::string& url) {
  try {
    db::Connection::open(url);
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::string find_server() {
  if (const char* given = std::getenv("TARN_TEST_DSN")) return given;
  std::string started;
  std::getline(std::ifstream(TARN_TEST_URL_FILE), started);
  if (!started.empty() && answers(started)) return started;
  static const OwnServer own;
  return own.url();
}

const std::string& server_url() {
  static const std::string url = find_server();
  return url;
}

/// Another database of the same server. In both forms of a connection string the later dbname wins.
std::string with_database(const std::string& url, const std::string& name) {
  const bool is_uri = url.find("://") != std::string::npos;
  if (!is_uri) return str_cat(url, " dbname=", name);
  return str_cat(url, url.find('?') == std::string::npos ? '?' : '&', "dbname=", name);
}

bool has_database(db::Connection& admin, const std::string& name) {
  return admin.run(kCountDatabases, {name}).integer(0, 0) == 1;
}

/// The name contains a hash of the content, so that long-lived servers never use an old schema.
std::string template_name() {
  std::string all;
  for (const db::Migration& migration : db::embedded_migrations()) all += sha256(migration.sql);
  return str_cat("tarn_template_", to_hex(sha256(all)).substr(0, 12));
}

/// Creates the template under a temporary name and renames it when complete; concurrent programs
/// wait.
void make_template(db::Connection& admin, const std::string& name) {
  admin.run(kLockTemplate, {kTemplateLock});
  if (!has_database(admin, name)) {
    const std::string unfinished = str_cat(name, "_unfinished");
    admin.run_script(str_cat("DROP DATABASE IF EXISTS ", unfinished));
    admin.run_script(str_cat("CREATE DATABASE ", unfinished));
    db::migrate(*db::Connection::open(with_database(server_url(), unfinished)),
                db::embedded_migrations());
    admin.run_script(str_cat("ALTER DATABASE ", unfinished, " RENAME TO ", name));
  }
  admin.run(kUnlockTemplate, {kTemplateLock});
}

}  // namespace

TestDatabase::TestDatabase(Schema schema)
    : name_(str_cat("tarn_test_", getpid(), "_", to_hex(random_bytes(4)))),
      url_(with_database(server_url(), name_)) {
  const auto admin = db::Connection::open(server_url());
  std::string source = "template0";
  if (schema == Schema::kMigrated) {
    source = template_name();
    if (!has_database(*admin, source)) make_template(*admin, source);
  }
  // As files: PostgreSQL 15 otherwise writes the template to its log, which takes three times as
  // long.
  admin->run_script(
      str_cat("CREATE DATABASE ", name_, " TEMPLATE ", source, " STRATEGY file_copy"));
}

TestDatabase::~TestDatabase() {
  try {
    db::Connection::open(server_url())
        ->run_script(str_cat("DROP DATABASE ", name_, " WITH (FORCE)"));
  } catch (const Error&) {  // a test that stopped the server has already removed the database
  }
}

}  // namespace tarn::testing
