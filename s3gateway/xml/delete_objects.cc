#include "s3gateway/xml/delete_objects.h"

#include "core/base/str_cat.h"
#include "s3gateway/xml/reader.h"
#include "s3gateway/xml/writer.h"

namespace tarn::s3::xml {
namespace {

DeleteRequest::Object parse_object(Reader& in) {
  DeleteRequest::Object out;
  bool has_key = false;
  while (const auto child = in.next_child()) {
    if (*child == "Key") {
      out.key = in.text();
      has_key = !out.key.empty();
    } else if (*child == "VersionId") {
      out.version_id = in.text();
    } else if (*child == "ETag") {
      out.etag = in.text();
    } else if (*child == "Size") {
      out.size = in.text();
    } else if (*child == "LastModifiedTime") {
      out.modified = in.text();
    } else {
      // An unknown condition must not be ignored.
      in.fail(str_cat("has an Object with an unknown element ", *child));
    }
  }
  if (!has_key) in.fail("has an Object without Key");
  return out;
}

}  // namespace

DeleteRequest parse_delete(std::string_view document) {
  DeleteRequest out;
  Reader in(document);
  in.enter_root("Delete");
  while (const auto child = in.next_child()) {
    if (*child == "Object") {
      if (out.objects.size() == kDeleteKeysMax) in.fail("has more than 1000 objects");
      out.objects.push_back(parse_object(in));
    } else if (*child == "Quiet") {
      out.quiet = in.text() == "true";
    } else {
      in.fail(str_cat("has an unknown element ", *child));
    }
  }
  in.finish();
  if (out.objects.empty()) in.fail("has no objects");
  return out;
}

std::string to_xml(const DeleteResult& result) {
  Writer out("DeleteResult");
  for (const DeleteResult::Deleted& deleted : result.deleted) {
    out.open("Deleted");
    out.element("Key", deleted.key);
    if (deleted.version_id) out.element("VersionId", *deleted.version_id);
    if (deleted.delete_marker) {
      out.element("DeleteMarker", true);
      out.element("DeleteMarkerVersionId", deleted.marker_version_id);
    }
    out.close("Deleted");
  }
  for (const DeleteResult::Failed& failed : result.failed) {
    out.open("Error");
    out.element("Key", failed.key);
    if (failed.version_id) out.element("VersionId", *failed.version_id);
    out.element("Code", failed.code);
    out.element("Message", failed.message);
    out.close("Error");
  }
  return out.finish();
}

}  // namespace tarn::s3::xml
