#include "s3gateway/xml/tagging.h"

#include <optional>

#include "s3gateway/wire/errors.h"
#include "s3gateway/xml/reader.h"
#include "s3gateway/xml/writer.h"

namespace tarn::s3::xml {
namespace {

void parse_tag(Reader& in, Metadata& tags) {
  std::optional<std::string> key;
  std::optional<std::string> value;
  while (const auto child = in.next_child()) {
    if (*child == "Key") {
      key = in.text();
    } else if (*child == "Value") {
      value = in.text();
    } else {
      in.fail("has an unknown element in a Tag");
    }
  }
  if (!key || !value) in.fail("has a Tag without Key or Value");
  if (!tags.emplace(*key, *value).second) {
    throw Refusal(failure::kInvalidTag, "A tag key occurs more than once.", {{"TagKey", *key}});
  }
}

}  // namespace

Metadata parse_tagging(std::string_view document) {
  Metadata tags;
  Reader in(document);
  in.enter_root("Tagging");
  bool has_set = false;
  while (const auto child = in.next_child()) {
    if (*child != "TagSet" || has_set) in.fail("has something other than one TagSet");
    has_set = true;
    while (const auto tag = in.next_child()) {
      if (*tag != "Tag") in.fail("has something other than a Tag in its TagSet");
      parse_tag(in, tags);
    }
  }
  in.finish();
  if (!has_set) in.fail("has no TagSet");
  return tags;
}

std::string tagging_to_xml(const Metadata& tags) {
  Writer out("Tagging");
  out.open("TagSet");
  for (const auto& [key, value] : tags) {
    out.open("Tag");
    out.element("Key", key);
    out.element("Value", value);
    out.close("Tag");
  }
  out.close("TagSet");
  return out.finish();
}

}  // namespace tarn::s3::xml
