// JSON bodies of aliases and their history.
#pragma once

#include <string>
#include <string_view>

#include "core/model/alias.h"
#include "server/api/json/document.h"
#include "server/api/json/writer.h"

namespace tarn::api::json {

void write_alias(Writer& out, const Alias& alias);
std::string alias_body(const Alias& alias);
/// The alias and "changed".
std::string set_alias_body(const Alias& alias, bool changed);
void write_alias_change(Writer& out, const AliasChange& change);

struct SetAlias {
  std::string to;  ///< any ref expression
  AliasExpectation expected;
  std::string reason;
};
/// "expect": a commit id, "" = the alias must not exist, absent = any position.
SetAlias parse_set_alias(const Value& body);

}  // namespace tarn::api::json
