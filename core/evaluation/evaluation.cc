#include "core/evaluation/evaluation.h"

#include <array>
#include <cmath>

#include "core/base/digest.h"
#include "core/base/enum_names.h"
#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/base/wire.h"
#include "core/tree/cursor.h"

namespace tarn::evaluation {
namespace {

constexpr std::array<std::string_view, 4> kStates = {"queued", "measuring", "measured", "failed"};
/// First field of every digest: a change of what is digested has another.
constexpr uint64_t kDigestVersion = 1;

}  // namespace

std::string_view name_of(State state) { return kStates[static_cast<size_t>(state)]; }
std::optional<State> parse_state(std::string_view name) { return find_name<State>(kStates, name); }

double rounded(double value, uint32_t digits) {
  const double scale = std::pow(10.0, digits);
  const double scaled = std::round(value * scale) / scale;
  return std::isfinite(scaled) ? scaled : value;
}

std::map<std::string, Entry> find_objects(tree::NodeSource& nodes,
                                          const std::vector<Glob>& patterns, const TreeRoot& root) {
  std::map<std::string, Entry> out;
  uint64_t seen = 0;
  for (const Glob& pattern : patterns) {
    const bool complete = tree::visit_matches(
        nodes, root, pattern, kEvaluationObjectsMax, seen,
        [&](const std::string& path, const Entry& entry) { out.try_emplace(path, entry); });
    if (!complete) {
      throw Error(ErrorCode::kInvalidArgument, reason::kTooManyObjects,
                  str_cat("pattern \"", pattern.pattern(), "\": more than ", kEvaluationObjectsMax,
                          " objects were looked at; name a narrower folder"));
    }
  }
  return out;
}

std::string definition_of(const Spec& spec, const TreeRoot& data) {
  std::string text;
  put_varint(text, kDigestVersion);
  put_u64be(text, static_cast<uint64_t>(spec.data));
  put_bytes(text, view_of(data.hash));
  for (const std::string* part : {&spec.folder, &spec.inputs, &spec.predict, &spec.score}) {
    put_bytes(text, *part);
  }
  put_varint(text, spec.runners.size());
  for (const int32_t runner : spec.runners) put_u64be(text, static_cast<uint64_t>(runner));
  return sha256(text);
}

std::string key_of(RepositoryId repository, std::string_view definition,
                   const std::map<std::string, Entry>& objects) {
  std::string text;
  put_varint(text, kDigestVersion);
  put_u64be(text, static_cast<uint64_t>(repository));
  put_bytes(text, definition);
  for (const auto& [path, entry] : objects) {
    put_bytes(text, path);
    put_bytes(text, content_name(entry));
  }
  return sha256(text);
}

}  // namespace tarn::evaluation
