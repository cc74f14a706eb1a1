#include "server/api/json/document.h"

#include <functional>

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace tarn::api::json {
namespace {

/// The error of reading, or "".
std::string failure(
    std::string_view body, const std::function<void(const Value&)>& read = [](const Value&) {}) {
  try {
    read(Document::parse(body).root());
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    return error.message();
  }
}

TEST(Document, RefusesInvalidJson) {
  EXPECT_EQ(failure("{"), "request body: not JSON at byte 2");
  for (const char* bad : {"", "{]", "{\"a\":1,}", "{'a':1}", "nul", "1 2", "\"\xff\"", "{\"a\":01}",
                          "\"\\ud800\"", "NaN"}) {
    EXPECT_NE(failure(bad), "") << bad;
  }
}

TEST(Document, RefusesAFieldThatIsGivenTwice) {
  EXPECT_EQ(failure(R"({"a":1,"b":{"a":2},"a":3})"),
            "request body: the field \"a\" is given twice");
  EXPECT_EQ(failure(R"({"list":[{"path":"x"},{"path":"y","path":"z"}]})"),
            "request body: the field \"path\" is given twice");
  EXPECT_EQ(failure(R"([{"a":1},{"a":1},{"b":{"a":{"a":null}}}])"), "");
}

TEST(Document, LimitsItsSize) {
  const auto text_of = [](const Value& body) { static_cast<void>(body.at("a").text()); };
  const auto texts_of = [](const Value& body) { static_cast<void>(body.at("a").texts()); };
  const auto items_of = [](const Value& body) { static_cast<void>(body.at("a").items()); };
  const auto map_of = [](const Value& body) { static_cast<void>(body.at("a").text_map()); };
  const auto quoted = [](size_t size) { return "\"" + std::string(size, 'x') + "\""; };
  const auto array = [](size_t size) {
    std::string out = "[\"x\"";
    for (size_t i = 1; i < size; ++i) out += ",\"x\"";
    return out + "]";
  };
  const auto body = [](const std::string& value) { return "{\"a\":" + value + "}"; };

  EXPECT_EQ(failure(body(quoted(kTextBytesMax)), text_of), "");
  EXPECT_EQ(failure(body(quoted(kTextBytesMax + 1)), text_of),
            "request body: /a: longer than 262144 bytes");
  EXPECT_EQ(failure(body("[" + quoted(kTextBytesMax + 1) + "]"), texts_of),
            "request body: /a/0: longer than 262144 bytes");
  EXPECT_EQ(failure(body(array(kItemsMax)), texts_of), "");
  for (const auto& read : {std::function(texts_of), std::function(items_of)}) {
    EXPECT_EQ(failure(body(array(kItemsMax + 1)), read), "request body: /a: more than 10000 items");
  }
  EXPECT_EQ(failure(body("{\"k\":" + quoted(kMapBytesMax - 1) + "}"), map_of), "");
  EXPECT_EQ(failure(body("{\"k\":" + quoted(kMapBytesMax - 1) + ",\"l\":\"\"}"), map_of),
            "request body: /a: longer than 262144 bytes in all");
}

TEST(Document, LimitsTheNumberOfValuesBeforeStoringThem) {
  const auto objects = [](size_t count) {
    std::string out = "{\"a\":{\"b\":[{}";
    for (size_t i = 1; i < count; ++i) out += ",{}";
    return out + "]}}";
  };
  EXPECT_EQ(failure(objects(kValuesMax - 3)), "");
  EXPECT_EQ(failure(objects(kValuesMax - 2)), "request body: /a: more than 100000 values");
  EXPECT_EQ(failure("[1e999]"), "request body: a number is out of range");
}

TEST(Document, RefusesNulEverywhere) {
  const auto texts_of = [](const Value& body) { static_cast<void>(body.texts()); };
  EXPECT_EQ(failure("[\"a\\u0000b\"]", texts_of), "request body: /0: holds a NUL character");
}

TEST(Document, RefusesDepthWithoutParsingIt) {
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_EQ(failure(nested(kDepthMax)), "");
  EXPECT_EQ(failure(nested(kDepthMax + 1)), "request body: nested deeper than 64 levels");
  EXPECT_EQ(failure(std::string(1'000'000, '[')), "request body: nested deeper than 64 levels");
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_EQ(failure(objects), "request body: nested deeper than 64 levels");
}

TEST(NestingDepth, DoesNotCountBracketsInText) {
  EXPECT_EQ(nesting_depth(R"({"a":"[[[[\"[[[[","b":[1]})", 64), 2u);
  EXPECT_EQ(nesting_depth(R"([[]][[[]]])", 64), 3u);
  EXPECT_EQ(nesting_depth("]]]][", 64), 1u);
  EXPECT_EQ(nesting_depth("\"\\", 64), 0u);
}

TEST(Value, ErrorsNameTheJsonPointer) {
  EXPECT_EQ(failure("[]", [](const Value& v) { v.at("name"); }),
            "request body: /: expected an object");
  EXPECT_EQ(failure("{}", [](const Value& v) { v.at("name"); }), "request body: /name: is missing");
  EXPECT_EQ(failure(R"({"name":null})", [](const Value& v) { v.at("name"); }),
            "request body: /name: is missing");
  EXPECT_EQ(
      failure(R"({"a":[{"b":1}]})", [](const Value& v) { v.at("a").items()[0].at("b").text(); }),
      "request body: /a/0/b: expected a string");
  EXPECT_EQ(failure(R"({"a":["x",2]})", [](const Value& v) { v.at("a").texts(); }),
            "request body: /a/1: expected a string");
  EXPECT_EQ(failure(R"({"m":{"x/y~z":1}})", [](const Value& v) { v.at("m").text_map(); }),
            "request body: /m/x~1y~0z: expected a string");
}

TEST(Value, ReadsEachTypeStrictly) {
  EXPECT_EQ(failure(R"({"f":"true"})", [](const Value& v) { v.flag("f"); }),
            "request body: /f: expected a boolean");
  EXPECT_EQ(failure(R"({"f":1})", [](const Value& v) { v.flag("f"); }),
            "request body: /f: expected a boolean");
  for (const char* bad : {"1.0", "\"1\"", "true", "1e3"}) {
    EXPECT_EQ(failure(bad, [](const Value& v) { v.integer(); }),
              "request body: /: expected an integer")
        << bad;
  }
  EXPECT_EQ(failure("9223372036854775808", [](const Value& v) { v.integer(); }),
            "request body: /: the integer is out of range");
  EXPECT_EQ(failure("5", [](const Value& v) { v.integer(0, 4); }),
            "request body: /: must be between 0 and 4");
  EXPECT_EQ(Document::parse("-9223372036854775808").root().integer(), INT64_MIN);
}

TEST(Value, RefusesNulInText) {
  EXPECT_EQ(failure("\"a\\u0000b\"", [](const Value& v) { v.text(); }),
            "request body: /: holds a NUL character");
  EXPECT_EQ(failure("{\"a\\u0000\":\"\"}", [](const Value& v) { v.text_map(); }),
            "request body: /: a name holds a NUL character");
}

// Clients write null for NaN and infinity.
TEST(Value, NullIsNoNumber) {
  const Document document = Document::parse(R"({"number":null,"other":2})");
  EXPECT_EQ(document.root().find_number("absent"), std::nullopt);
  EXPECT_EQ(document.root().find_number("other")->integer(), 2);
  EXPECT_EQ(
      failure(R"({"number":null})", [](const Value& v) { v.find_number("number")->number(); }),
      "request body: /number: expected a number");
  EXPECT_EQ(failure(R"({"number":1e999})"), "request body: a number is out of range");
}

TEST(Value, TreatsNullAsAbsentAndIgnoresUnknownMembers) {
  const Document document = Document::parse(R"({"force":null,"text":null,"map":null,"other":[1]})");
  const Value root = document.root();
  EXPECT_FALSE(root.flag("force"));
  EXPECT_EQ(root.find_text("text"), std::nullopt);
  EXPECT_EQ(root.text_or_empty("text"), "");
  EXPECT_EQ(root.find_map("map"), std::nullopt);
}

}  // namespace
}  // namespace tarn::api::json
