// Constructors of responses.
#pragma once

#include <string>

#include "core/http/message.h"

namespace tarn::api {

http::Response json_response(int status, std::string body);
http::Response text_response(int status, std::string body);
/// A response without a body, for example 204.
http::Response empty_response(int status);

}  // namespace tarn::api
