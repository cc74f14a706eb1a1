// A handler for the presigned URLs of block_url.h.
#pragma once

#include "core/http/message.h"
#include "server/api/call.h"
#include "server/api/request_record.h"

namespace tarn::api {

/// Safe from any thread.
class BlockHandler {
 public:
  explicit BlockHandler(Context context);

  /// Answers every request of is_block_request(), failures included; never throws. The user who
  /// requested the URL must still exist and still have the permission. Ignores Authorization
  /// headers: clients that follow a redirect send theirs along.
  http::Response handle(http::Request& request);

 private:
  http::Response answer(http::Request& request, RequestRecord& record) const;

  const Context context_;
  const Probe reads_;
  const Probe writes_;
  const Probe part_writes_;
  const Probe refusals_;
};

}  // namespace tarn::api
