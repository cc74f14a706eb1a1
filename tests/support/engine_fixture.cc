#include "tests/support/engine_fixture.h"

#include <algorithm>
#include <cstring>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/meta/read_leases.h"
#include "tests/support/forwarding_store.h"

namespace tarn::testing {
size_t TextBody::read(std::span<char> out) {
  const size_t count = std::min(out.size(), text_.size() - at_);
  std::memcpy(out.data(), text_.data() + at_, count);
  at_ += count;
  return count;
}

objects::UploadDigests TextBody::digests() { return {to_hex(md5(text_)), {}}; }

TestEngine::TestEngine(const std::string& database_url, blob::MemoryStore* shared,
                       db::Faults* faults, bool takes_read_leases,
                       std::function<std::string()> identify)
    : pool(database_url, {.faults = faults, .end_read_leases = [this](const db::DbError& error) {
                            meta::end_read_leases(pool, error);
                          }}) {
  if (shared) {
    store = shared;
    stores.set_local_root(std::make_unique<ForwardingStore>(*shared));
  } else {
    auto own = std::make_unique<blob::MemoryStore>();
    store = own.get();
    stores.set_local_root(std::move(own));
  }
  stores.add_import_root("/lake", std::make_unique<ForwardingStore>(*store));
  assembly = std::make_unique<server::Assembly>(
      pool, stores, clock,
      server::AssemblyOptions{
          .node_cache_bytes = 64 << 20,
          .link_key = std::string(32, 'k'),
          .read_leases = {.are_taken = takes_read_leases, .reads_min = 20, .pause = {}},
          .owners = {.identify = std::move(identify)}});
}

TestRepository TestEngine::make_repository(const std::string& name) {
  branch::RepositoryCreation creation;
  creation.name = RepositoryName(name);
  creation.storage_namespace = "local://" + name;
  return {branch::create_repository(**this, creation)};
}

Entry TestEngine::put(const RepositoryName& repo, const std::string& branch, const std::string& key,
                      std::string text, const branch::Condition& condition) {
  const objects::UploadTarget target =
      objects::check_upload(**this, repo, BranchName(branch), Key(key), false, condition);
  const size_t size = text.size();
  TextBody body(std::move(text));
  return objects::put_object(**this, target, body, size, {"text/plain", {}, {}}, condition);
}

void TestEngine::remove(const RepositoryName& repo, const std::string& branch,
                        const std::string& key) {
  objects::delete_object(**this, repo, BranchName(branch), Key(key), false);
}

Commit TestEngine::commit(const RepositoryName& repo, const std::string& branch,
                          const std::string& message) {
  versioning::CommitRequest request;
  request.committer = "tester";
  request.message = message;
  return versioning::commit_branch(**this, branch::get_repository(**this, repo), BranchName(branch),
                                   request);
}

CommitId TestEngine::head(const RepositoryName& repo, const std::string& branch) {
  return branch::get_branch(**this, branch::get_repository(**this, repo), BranchName(branch)).head;
}

void TestEngine::branch(const RepositoryName& repo, const std::string& name,
                        const std::string& source) {
  branch::create_branch(**this, branch::get_repository(**this, repo),
                        {BranchName(name), source, false, false});
}

void TestEngine::send(const std::string& handed_out, std::string_view bytes) {
  const blob::Located at = stores.locate(handed_out.substr(0, handed_out.rfind(',')));
  const auto writer = at.store->create(at.key, bytes.size());
  writer->write(bytes);
  if (!writer->finish()) throw Error(ErrorCode::kAlreadyExists, "address: holds bytes already");
}

std::string TestEngine::read(const RepositoryName& repo, const std::string& ref,
                             const std::string& key) {
  const auto found = objects::find_object(**this, repo, ref, Key(key));
  if (!found) return "<absent>";
  const auto reader =
      objects::open_object(**this, found->repository, found->entry, {0, found->entry.size_bytes});
  std::string out(found->entry.size_bytes, '\0');
  size_t at = 0;
  while (const size_t got = reader->read(std::span<char>(out).subspan(at))) at += got;
  return out;
}

std::string TestEngine::keys(const RepositoryName& repo, const std::string& ref) {
  std::string out, after;
  for (;;) {
    const auto page = objects::list_objects(**this, repo, ref, {"", after, "", 1000});
    for (const auto& item : page.items) out += (out.empty() ? "" : " ") + item.path;
    if (!page.has_more) return out;
    after = page.next;
  }
}

}  // namespace tarn::testing
