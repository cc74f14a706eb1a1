#include "server/store_usage.h"

namespace tarn::server {
namespace {

constexpr db::Query kSelectStores{"store_usage_select", R"sql(
  SELECT DISTINCT CASE WHEN storage_namespace LIKE 's3://%'
                       THEN 's3://' || split_part(substr(storage_namespace, 6), '/', 1)
                       ELSE 'local' END COLLATE "C" AS store
  FROM repositories WHERE deleted_ms IS NULL ORDER BY store LIMIT $1)sql"};

}  // namespace

std::vector<std::string> stores_in_use(db::Pool& pool, uint32_t limit) {
  const db::Rows rows = pool.run(kSelectStores, {int64_t{limit}}, db::Pool::Retry::kRead);
  std::vector<std::string> out;
  for (size_t row = 0; row < rows.size(); ++row) out.emplace_back(rows.text(row, 0));
  return out;
}

}  // namespace tarn::server
