// JSON request bodies: the first byte chooses the operation, the rest is the body.
#include <array>
#include <string_view>

#include "core/base/error.h"
#include "server/api/json/account.h"
#include "server/api/json/commit.h"
#include "server/api/json/document.h"
#include "server/api/json/import.h"
#include "server/api/json/merge.h"
#include "server/api/json/object.h"
#include "server/api/json/ref.h"
#include "server/api/json/repository.h"
#include "tests/fuzz/require.h"

namespace json = tarn::api::json;

namespace {

using Read = void (*)(const json::Value& body);

template <auto parse>
constexpr Read read = [](const json::Value& body) { static_cast<void>(parse(body)); };

constexpr std::array kReaders = {
    read<json::parse_create_repository>,
    read<json::parse_set_metadata>,
    read<json::parse_metadata_keys>,
    read<json::parse_create_branch>,
    read<json::parse_create_tag>,
    read<json::parse_reset_branch>,
    read<json::parse_create_commit>,
    read<json::parse_revert>,
    read<json::parse_cherry_pick>,
    read<json::parse_merge>,
    read<json::parse_path_list>,
    read<json::parse_copy_object>,
    read<json::parse_stage_object>,
    read<json::parse_link_address>,
    read<json::parse_user_metadata>,
    read<json::parse_start_import>,
    read<json::parse_policy>,
    read<json::parse_principal_settings>,
    read<json::parse_create_user>,
    read<json::parse_create_group>,
    read<json::parse_acl>,
    read<json::parse_login>,
    read<json::parse_setup>,
    read<json::check_statistics>,
    read<json::parse_branch_rules>,
    read<json::parse_collection_rules>,
    read<json::parse_tag_rules>,
    read<json::check_communication_preferences>,
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const Read reader = kReaders[data[0] % kReaders.size()];
  const std::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    reader(json::Document::parse(body).root());
  } catch (const tarn::Error& error) {
    require(error.code() == tarn::ErrorCode::kInvalidArgument, "a bad body is the caller's");
    require(!error.message().empty(), "a refusal says why");
  }
  return 0;
}
