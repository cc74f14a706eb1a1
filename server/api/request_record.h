// The end of every request under /api and /_blocks: common headers, counters, its line in the log.
#pragma once

#include "core/base/error.h"
#include "core/http/access_log.h"
#include "core/http/message.h"
#include "server/api/probe.h"

namespace tarn::api {

/// The record of one request, made when it arrives. One thread.
struct RequestRecord {
  http::AccessRecord access;
  const Probe* probe;

  /// The answer to a request that failed, which is noted.
  http::Response failed(const Error& failure, const http::Request& request);
  /// Completes the answer, counts it and writes the line.
  void finish(const http::Request& request, http::Response& response) const;
};

}  // namespace tarn::api
