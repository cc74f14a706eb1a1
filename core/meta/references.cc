#include "core/meta/references.h"

#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/wire.h"
#include "core/meta/part_lists.h"

namespace tarn::meta {
namespace {

constexpr db::Query kRescue{"references_rescue", "SELECT rescue_objects($1, $2, $3)"};

constexpr db::Query kRescueOfBranch{"references_rescue_of_branch", R"sql(
  SELECT rescue_objects(repo_id, $2, $3) FROM branches WHERE branch_id = $1)sql"};

void require(const db::Rows& rows) {
  if (!rows.empty() && rows.boolean(0, 0)) return;
  throw Error(ErrorCode::kUnavailable, reason::kBeingCollected,
              "referring to an object: nothing else refers to it any more, and garbage collection "
              "is removing it; read the source again");
}

std::vector<db::Bytes> views_of(const std::vector<std::string>& addresses) {
  std::vector<db::Bytes> out;
  out.reserve(addresses.size());
  for (const std::string& address : addresses) out.push_back({address});
  return out;
}

}  // namespace

std::string candidate_address(const OwnAddress& address) {
  return {reinterpret_cast<const char*>(address.id.data()), address.id.size()};
}

std::string candidate_address(const PartListAddress& address) {
  std::string out;
  put_u64be(out, static_cast<uint64_t>(address.id));
  return out;
}

void References::add(const Address& address) {
  if (const auto* own = std::get_if<OwnAddress>(&address)) {
    add_own(0, *own);
  } else if (const auto* list = std::get_if<PartListAddress>(&address)) {
    add(0, candidate_address(*list));
  } else if (const auto* foreign = std::get_if<ForeignAddress>(&address)) {
    add(static_cast<int32_t>(foreign->repository), candidate_address(foreign->own));
  }
}

void References::add(const StoredPart& part) {
  if (part.owner) {
    add(static_cast<int32_t>(*part.owner), candidate_address(part.address));
  } else {
    add_own(0, part.address);
  }
}

void References::add_own(int32_t owner, const OwnAddress& address) {
  if (created_at(address) < fresh_since_) add(owner, candidate_address(address));
}

void References::add(int32_t owner, std::string address) {
  owners_.push_back(owner);
  addresses_.push_back(std::move(address));
}

void References::rescue(db::Connection& connection, RepositoryId repository) const {
  if (empty()) return;
  require(
      connection.run(kRescue, {static_cast<int32_t>(repository), owners_, views_of(addresses_)}));
}

void References::rescue(db::Connection& connection, BranchId branch) const {
  if (empty()) return;
  require(connection.run(kRescueOfBranch,
                         {static_cast<int32_t>(branch), owners_, views_of(addresses_)}));
}

}  // namespace tarn::meta
