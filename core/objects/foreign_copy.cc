#include "core/objects/foreign_copy.h"

#include "core/meta/part_lists.h"
#include "core/meta/repositories.h"

namespace tarn::objects {
namespace {

/// The bytes of `owner`. Records that `reader` refers to them before any entry does.
SharedBytes shared(branch::Engine& engine, RepositoryId owner, RepositoryId reader,
                   const OwnAddress& own) {
  if (owner == reader) return {own, std::nullopt};
  engine.repositories.record_reader(owner, reader);
  return {own, owner};
}

Address address_of(const SharedBytes& bytes) {
  if (bytes.owner) return ForeignAddress{*bytes.owner, bytes.own};
  return bytes.own;
}

PartListAddress shared_parts(branch::Engine& engine, const Repository& source,
                             const Repository& target, int64_t list) {
  meta::PartList parts = *engine.part_lists.get(list);
  std::optional<RepositoryId> recorded;
  for (meta::StoredPart& part : parts) {
    const RepositoryId owner = part.owner.value_or(source.id);
    part.owner = owner == target.id ? std::nullopt : std::optional(owner);
    if (part.owner && part.owner != recorded) {
      engine.repositories.record_reader(owner, target.id);
      recorded = part.owner;
    }
  }
  return {engine.part_lists.insert(target.id, parts)};
}

}  // namespace

std::optional<SharedBytes> share_bytes(branch::Engine& engine, const Repository& source,
                                       const Repository& reader, const Entry& entry) {
  if (const auto* own = std::get_if<OwnAddress>(&entry.address)) {
    return shared(engine, source.id, reader.id, *own);
  }
  if (const auto* foreign = std::get_if<ForeignAddress>(&entry.address)) {
    return shared(engine, foreign->repository, reader.id, foreign->own);
  }
  return std::nullopt;
}

Address address_for_foreign_copy(branch::Engine& engine, const Repository& source,
                                 const Repository& target, const Entry& entry) {
  if (const auto bytes = share_bytes(engine, source, target, entry)) return address_of(*bytes);
  if (const auto* list = std::get_if<PartListAddress>(&entry.address)) {
    return shared_parts(engine, source, target, list->id);
  }
  return entry.address;
}

}  // namespace tarn::objects
