#include "s3gateway/wire/post_form.h"

#include <gtest/gtest.h>

#include "core/base/str_cat.h"
#include "s3gateway/wire/errors.h"

namespace tarn::s3 {
namespace {

std::string part(std::string_view name, std::string_view value, std::string_view more = "") {
  return str_cat("--B\r\nContent-Disposition: form-data; name=\"", name, "\"", more, "\r\n\r\n",
                 value, "\r\n");
}

constexpr std::string_view kEnd = "--B--\r\n";

http::Request post(std::string body) {
  http::Request request;
  request.method = "POST";
  request.target = "/lake";
  request.headers.add("Content-Type", "multipart/form-data; boundary=B");
  request.body = http::string_body(std::move(body));
  return request;
}

/// The code of the refusal, or "".
std::string refused(std::string body) {
  http::Request request = post(std::move(body));
  try {
    PostForm form = read_post_form(request);
    http::read_all(*form.file, 1 << 20);
    return "";
  } catch (const Error& error) {
    return std::string(answer_for(error).failure.code);
  }
}

std::string key_of(std::string_view key, std::string_view file_name) {
  http::Request request = post(str_cat(
      part("key", key), part("file", "x", str_cat("; filename=\"", file_name, "\"")), kEnd));
  return read_post_form(request).key;
}

TEST(PostForm, HandsOverFieldsAndThenTheFile) {
  const std::string bytes(200'000, 'b');
  http::Request request = post(str_cat(part("Key", "main/a"), part("x-amz-meta-a", "1"),
                                       part("FILE", bytes), part("submit", "Go"), kEnd));
  PostForm form = read_post_form(request);
  EXPECT_EQ(form.key, "main/a");
  EXPECT_EQ(form.fields.get("X-Amz-Meta-A"), "1");
  EXPECT_EQ(form.fields.all().size(), 2u);
  EXPECT_EQ(http::read_all(*form.file, 1 << 20), bytes);
  EXPECT_EQ(form.fields.find("submit"), nullptr) << "what follows the file is nobody's";
}

TEST(PostForm, PutsTheFileNameIntoTheKey) {
  EXPECT_EQ(key_of("main/${filename}", "a b.txt"), "main/a b.txt");
  EXPECT_EQ(key_of("main/${filename}", "dir/sub/a.txt"), "main/a.txt");
  EXPECT_EQ(key_of("main/${filename}", "C:/dir/a.txt"), "main/a.txt");
  EXPECT_EQ(key_of("main/${filename}/${filename}", "a"), "main/a/a");
  EXPECT_EQ(key_of("${filename}", "${filename}"), "${filename}") << "once only";
  EXPECT_EQ(key_of("main/$filename", "a"), "main/$filename");
}

TEST(PostForm, RefusesInvalidKeys) {
  EXPECT_EQ(refused(str_cat(part("file", "x"), kEnd)), "InvalidArgument");
  EXPECT_EQ(refused(str_cat(part("key", ""), part("file", "x"), kEnd)), "InvalidArgument");
  EXPECT_EQ(refused(str_cat(part("file", "x"), part("key", "main/a"), kEnd)), "InvalidArgument")
      << "a key behind the file is none";
  EXPECT_EQ(refused(str_cat(part("key", "main/\xff"), part("file", "x"), kEnd)), "InvalidURI");
  EXPECT_EQ(refused(str_cat(part("key", std::string_view("main/\0", 6)), part("file", "x"), kEnd)),
            "InvalidURI");
  std::string repeated;
  for (int i = 0; i < 1000; ++i) repeated += "${filename}";
  EXPECT_EQ(refused(str_cat(part("key", repeated),
                            part("file", "x", "; filename=" + std::string(10'000, 'x')), kEnd)),
            "KeyTooLongError");
}

TEST(PostForm, RefusesMalformedForms) {
  EXPECT_EQ(refused(""), "MalformedPOSTRequest");
  EXPECT_EQ(refused("no form"), "MalformedPOSTRequest");
  EXPECT_EQ(refused(str_cat(part("key", "main/a"), kEnd)), "InvalidArgument") << "no file";
  EXPECT_EQ(refused(str_cat(part("", "x"), part("file", "x"), kEnd)), "MalformedPOSTRequest");
  EXPECT_EQ(refused(str_cat(part("key", "main/a"), part("KEY", "main/b"), part("file", "x"), kEnd)),
            "InvalidArgument");
  EXPECT_EQ(refused(str_cat(part("key", "a"), part("acl", "x\ny"), part("file", "x"), kEnd)),
            "InvalidArgument");
  http::Request request = post("x");
  request.headers.set("Content-Type", "text/plain");
  EXPECT_THROW(read_post_form(request), Refusal);
}

TEST(PostForm, TruncatedFormIsRefusedAtEveryByte) {
  const std::string whole = str_cat(part("key", "main/a"), part("file", "bytes"), "--B--");
  EXPECT_EQ(refused(whole), "");
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_EQ(refused(whole.substr(0, length)), "MalformedPOSTRequest") << length;
  }
}

TEST(PostForm, HasLimits) {
  const std::string file = str_cat(part("file", "x"), kEnd);
  const size_t left = kFormFieldsBytesMax - std::string_view("keymain/atext").size();
  const auto form = [&](size_t bytes) {
    return str_cat(part("key", "main/a"), part("text", std::string(bytes, 'x')), file);
  };
  EXPECT_EQ(refused(form(left)), "");
  EXPECT_EQ(refused(form(left + 1)), "MaxPostPreDataLengthExceeded");
  EXPECT_EQ(refused(form(10 << 20)), "MaxPostPreDataLengthExceeded");
  std::string many = part("key", "main/a");
  for (size_t i = 1; i < kFormFieldsMax; ++i) many += part(str_cat("f", i), "");
  EXPECT_EQ(refused(many + file), "");
  EXPECT_EQ(refused(many + part("more", "") + file), "MaxPostPreDataLengthExceeded");
  EXPECT_EQ(refused(str_cat(part("key", "main/a"), part("file", "x"),
                            part("rest", std::string(kAfterFileBytesMax + 1, 'x')), kEnd)),
            "MalformedPOSTRequest");
}

}  // namespace
}  // namespace tarn::s3
