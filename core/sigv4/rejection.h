// The refusal of a signed request, with the details that S3 shows in addition to code and message.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"

namespace tarn::sigv4 {

/// An Error of this folder. `reason()` is the S3 error code ("SignatureDoesNotMatch"). `code()`
/// gives the status where S3's code alone does not: invalid_argument 400, permission_denied and
/// unauthenticated 403, unimplemented 501; "MissingContentLength" is 411.
class Rejection final : public Error {
 public:
  using Element = std::pair<std::string_view, std::string>;

  Rejection(ErrorCode error_code, std::string_view s3_code, std::string text,
            std::vector<Element> elements = {})
      : Error(error_code, s3_code, std::move(text)), elements_(std::move(elements)) {}

  /// Further elements of the XML error document in order, for example {"StringToSign", "..."}. Not
  /// secret.
  const std::vector<Element>& elements() const { return elements_; }

 private:
  std::vector<Element> elements_;
};

}  // namespace tarn::sigv4
