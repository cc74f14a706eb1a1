#include "server/api/json/error.h"

#include "server/api/json/writer.h"

namespace tarn::api::json {

std::string failure_body(const Failure& failure) {
  Writer out;
  out.begin_object();
  out.text("message", failure.message);
  out.text("code", failure.code);
  out.text("request_id", failure.request_id);
  out.end_object();
  return std::move(out).take();
}

}  // namespace tarn::api::json
