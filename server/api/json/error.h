// The body of every failure.
#pragma once

#include <string>
#include <string_view>

namespace tarn::api::json {

struct Failure {
  std::string_view message;
  std::string_view code;  ///< stable snake_case word
  std::string_view request_id;
};
std::string failure_body(const Failure& failure);

}  // namespace tarn::api::json
