// multipart/form-data read as a stream: part after part, in bounded memory. Source: RFC 7578, RFC
// 2046 section 5.1.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/http/message.h"

namespace tarn::http {

/// The head of one part; longer ones are refused.
constexpr size_t kPartHeadBytesMax = 16 * 1024;
/// Limit of the text before the first boundary; longer text is no form.
constexpr size_t kPreambleBytesMax = 64 * 1024;

struct FormPart {
  std::string name;                      ///< of the form field; "" if absent
  std::optional<std::string> file_name;  ///< as the client sent it; may hold a path
  std::string content_type;              ///< "" if absent
};

/// Reads one form. Throws invalid_argument (reason "malformed_form") for a malformed form, and what
/// the source throws. One thread at a time.
class FormDataReader {
 public:
  /// `boundary` as in the Content-Type. The source outlives the reader.
  FormDataReader(BodySource& source, std::string_view boundary);

  /// Skips to the next part; nullopt after the last.
  std::optional<FormPart> next_part();
  /// Bytes of the current part; 0 = its end.
  size_t read(std::span<char> out);

 private:
  /// Reads more into the buffer; false at the end of the source.
  bool fill();
  /// Bytes of the current part at the front of the buffer that are surely data; 0 = the delimiter
  /// is next.
  size_t data_ready();
  void skip_part();
  std::string read_head();

  BodySource& source_;
  std::string delimiter_;  ///< CRLF "--" boundary
  std::string buffer_;
  size_t begin_ = 0;  ///< of what is unread in the buffer
  bool in_part_ = false;
  bool done_ = false;
};

/// The boundary of a "multipart/form-data; boundary=..." header; nullopt for another media type.
/// Throws invalid_argument (reason "malformed_form") when there is no boundary, or one longer than
/// RFC 2046 allows.
std::optional<std::string> form_boundary(std::string_view content_type);

/// A parameter of a header value such as `form-data; name="a"; filename=b`: quoted or not; nullopt
/// when absent.
std::optional<std::string> header_parameter(std::string_view value, std::string_view name);

}  // namespace tarn::http
