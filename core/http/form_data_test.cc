#include "core/http/form_data.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/str_cat.h"

namespace tarn::http {
namespace {

/// Returns its bytes in pieces of the given sizes, repeated.
class PiecewiseSource final : public BodySource {
 public:
  PiecewiseSource(std::string bytes, std::vector<size_t> pieces)
      : bytes_(std::move(bytes)), pieces_(std::move(pieces)) {}
  size_t read(std::span<char> out) override {
    const size_t want = pieces_[turn_++ % pieces_.size()];
    const size_t count = std::min({want, out.size(), bytes_.size() - at_});
    std::copy_n(bytes_.data() + at_, count, out.data());
    at_ += count;
    return count;
  }

 private:
  std::string bytes_;
  std::vector<size_t> pieces_;
  size_t turn_ = 0;
  size_t at_ = 0;
};

struct Read {
  std::string name;
  std::string content_type;
  std::string bytes;
  bool operator==(const Read&) const = default;
};
void PrintTo(const Read& read, std::ostream* out) {
  *out << read.name << " (" << read.content_type << "): " << read.bytes.size() << " bytes";
}

std::vector<Read> read_form(BodySource& source, std::string_view boundary,
                            size_t buffer_bytes = 1000) {
  FormDataReader reader(source, boundary);
  std::vector<Read> parts;
  std::vector<char> buffer(buffer_bytes);
  while (auto part = reader.next_part()) {
    Read read{part->name, part->content_type, ""};
    while (const size_t count = reader.read(buffer)) read.bytes.append(buffer.data(), count);
    parts.push_back(std::move(read));
  }
  return parts;
}

std::string part(std::string_view head, std::string_view bytes, std::string_view boundary = "B") {
  return str_cat("--", boundary, "\r\n", head, "\r\n\r\n", bytes, "\r\n");
}

std::string failure_of(std::string body, std::string_view boundary = "B") {
  PiecewiseSource source(std::move(body), {7});
  try {
    read_form(source, boundary);
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(error.reason(), "malformed_form");
    return error.message();
  }
}

TEST(FormData, ReadsPartsWithTheirNamesAndTypes) {
  const std::string body =
      part("Content-Disposition: form-data; name=\"a\"", "1") +
      part("content-disposition: form-data; filename=f; name=content\r\nContent-Type:  text/csv ",
           "1,2\r\n") +
      "--B--\r\n";
  PiecewiseSource source(body, {1000});
  EXPECT_EQ(read_form(source, "B"),
            (std::vector<Read>{{"a", "", "1"}, {"content", "text/csv", "1,2\r\n"}}));
}

TEST(FormData, ReadsTheSameHoweverTheBytesArrive) {
  std::mt19937 random(7);
  // Bytes that look like the beginnings of boundaries are the hard ones.
  std::string content;
  constexpr std::string_view kAlphabet = "\r\n-Bx";
  for (int i = 0; i < 20'000; ++i) content.push_back(kAlphabet[random() % kAlphabet.size()]);
  for (size_t at; (at = content.find("\r\n--B")) != std::string::npos;) content[at] = 'x';
  const std::string body =
      "preamble\r\n" + part("Content-Disposition: form-data; name=\"content\"", content) +
      part("Content-Disposition: form-data; name=\"last\"", "") + "--B--epilogue";
  const std::vector<Read> expected = {{"content", "", content}, {"last", "", ""}};
  for (size_t piece = 1; piece <= 12; ++piece) {
    PiecewiseSource source(body, {piece});
    EXPECT_EQ(read_form(source, "B", piece), expected) << "pieces of " << piece;
  }
  for (int round = 0; round < 20; ++round) {
    std::vector<size_t> pieces(17);
    for (size_t& piece : pieces) piece = 1 + random() % 300;
    PiecewiseSource source(body, pieces);
    EXPECT_EQ(read_form(source, "B", 1 + random() % 100), expected) << "round " << round;
  }
}

TEST(FormData, SkipsUnreadParts) {
  const std::string body =
      part("Content-Disposition: form-data; name=\"big\"", std::string(300'000, 'x')) +
      part("Content-Disposition: form-data; name=\"content\"", "here") + "--B--";
  PiecewiseSource source(body, {5000});
  FormDataReader reader(source, "B");
  EXPECT_EQ(reader.next_part()->name, "big");
  EXPECT_EQ(reader.next_part()->name, "content");
  std::vector<char> buffer(10);
  EXPECT_EQ(std::string(buffer.data(), reader.read(buffer)), "here");
  EXPECT_FALSE(reader.next_part());
  EXPECT_FALSE(reader.next_part()) << "the end stays the end";
}

TEST(FormData, ReturnsTheNameOfAFile) {
  PiecewiseSource source(
      part("Content-Disposition: form-data; name=file; filename=\"a b.txt\"", "") +
          part("Content-Disposition: form-data; name=file", "") + "--B--",
      {11});
  FormDataReader reader(source, "B");
  EXPECT_EQ(reader.next_part()->file_name, "a b.txt");
  EXPECT_EQ(reader.next_part()->file_name, std::nullopt);
}

TEST(FormData, ReadsAPartWithoutAnyHeader) {
  PiecewiseSource source("--B\r\n\r\nx\r\n--B--", {3});
  EXPECT_EQ(read_form(source, "B"), (std::vector<Read>{{"", "", "x"}}));
}

TEST(FormData, RefusesWhatIsCutShort) {
  const std::string whole =
      part("Content-Disposition: form-data; name=\"content\"", "bytes") + "--B--";
  EXPECT_EQ(failure_of(whole), "");
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_NE(failure_of(whole.substr(0, length)), "") << "cut at " << length;
  }
}

TEST(FormData, RefusesHeadsAndPreamblesWithoutEnd) {
  EXPECT_EQ(failure_of("--B\r\nX: " + std::string(kPartHeadBytesMax, 'x')),
            "reading the multipart form: a part's head is too long");
  EXPECT_EQ(failure_of(std::string(2 * kPreambleBytesMax, 'x')),
            "reading the multipart form: it has no boundary near its beginning");
  EXPECT_EQ(
      failure_of("--Bogus\r\n\r\nx\r\n--B--"),
      "reading the multipart form: a boundary is followed by something else than a line break");
  EXPECT_EQ(failure_of("--B\r\nno colon\r\n\r\nx\r\n--B--"),
            "reading the multipart form: a part has a header line without a colon");
}

TEST(FormData, ReadsRandomBytesWithoutHarm) {
  std::mt19937 random(11);
  constexpr std::string_view kAlphabet = "\r\n-B:; \"=xname";
  for (int round = 0; round < 3000; ++round) {
    std::string body = random() % 2 == 0 ? "--B\r\n" : "";
    const size_t length = random() % 200;
    for (size_t i = 0; i < length; ++i) body.push_back(kAlphabet[random() % kAlphabet.size()]);
    failure_of(body);  // ends, whatever it says
  }
}

TEST(FormBoundary, IsTakenFromTheContentType) {
  EXPECT_EQ(form_boundary("multipart/form-data; boundary=abc"), "abc");
  EXPECT_EQ(form_boundary("Multipart/Form-Data; charset=utf-8; Boundary=\"a b\""), "a b");
  EXPECT_EQ(form_boundary("text/plain"), std::nullopt);
  EXPECT_EQ(form_boundary(""), std::nullopt);
  EXPECT_THROW(form_boundary("multipart/form-data"), Error);
  EXPECT_THROW(form_boundary("multipart/form-data; boundary=" + std::string(71, 'x')), Error);
}

TEST(HeaderParameter, IsReadQuotedAndBareInAnyOrder) {
  EXPECT_EQ(header_parameter("form-data; name=\"a;b\\\"c\"; filename=f", "name"), "a;b\"c");
  EXPECT_EQ(header_parameter("form-data; filename=f; name=content", "name"), "content");
  EXPECT_EQ(header_parameter("form-data; flag; name=x", "name"), "x");
  EXPECT_EQ(header_parameter("form-data; filename=\"name=no\"", "name"), std::nullopt);
  EXPECT_EQ(header_parameter("form-data", "name"), std::nullopt);
  EXPECT_EQ(header_parameter("form-data; name=\"open", "name"), "open");
}

}  // namespace
}  // namespace tarn::http
