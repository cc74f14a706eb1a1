#include "core/meta/timeline.h"

#include "core/base/log.h"

namespace tarn::meta {
namespace {

constexpr db::Query kEnter{"timeline_enter", "SELECT enter_timeline()"};

}  // namespace

void enter_timeline(db::Connection& connection) {
  if (!connection.run(kEnter).boolean(0, 0)) return;
  log::warn("timeline_entered", {{"timeline", connection.timeline()}});
}

}  // namespace tarn::meta
