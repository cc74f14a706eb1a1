// A digest of all rows of a database, for tests that must change nothing.
#pragma once

#include <string>

#include "core/db/pool.h"

namespace tarn::testing {

/// One line for each table except `except` (a PostgreSQL array, "{policies,users}"): its name and a
/// digest of its rows.
inline std::string table_digests(db::Pool& pool, const std::string& except = "{}") {
  static constexpr db::Query kDigests{
      "test_table_digests",
      "SELECT string_agg(table_name || ' ' || md5(query_to_xml("
      "format('SELECT * FROM %I', table_name), true, false, '')::text), E'\\n' ORDER BY table_name)"
      " FROM information_schema.tables"
      " WHERE table_schema = current_schema() AND table_type = 'BASE TABLE'"
      " AND table_name <> ALL ($1::text[])"};
  return std::string(pool.run(kDigests, {except}, db::Pool::Retry::kRead).text(0, 0));
}

}  // namespace tarn::testing
