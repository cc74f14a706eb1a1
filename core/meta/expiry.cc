#include "core/meta/expiry.h"

namespace tarn::meta {
namespace {

constexpr db::Query kRequireKept{"expiry_require_kept", "SELECT require_kept_tree($1)"};

}  // namespace

void require_kept(db::Pool& pool, const TreeRoot& root) {
  if (is_expired(root)) pool.run(kRequireKept, {root.nid}, db::Pool::Retry::kRead);
}

void require_kept(db::Connection& connection, Nid root) {
  if (root < 0) connection.run(kRequireKept, {root});
}

}  // namespace tarn::meta
