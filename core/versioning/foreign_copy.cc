#include "core/versioning/foreign_copy.h"

#include "core/meta/repositories.h"
#include "core/meta/writer.h"
#include "core/versioning/object_writer.h"
#include "core/versioning/objects.h"

namespace tarn::versioning {

Address address_for_foreign_copy(Engine& engine, const Repository& source, const Repository& target,
                                 const Entry& entry) {
  if (const auto* own = std::get_if<OwnAddress>(&entry.address)) {
    engine.repositories.record_reader(source.id, target.id);
    return ForeignAddress{source.id, *own};
  }
  if (const auto* foreign = std::get_if<ForeignAddress>(&entry.address)) {
    if (foreign->repository == target.id) return foreign->own;
    engine.repositories.record_reader(foreign->repository, target.id);
    return *foreign;
  }
  if (std::holds_alternative<PartListAddress>(entry.address)) {
    const auto reader = open_object(engine, source, entry, {0, entry.size_bytes});
    return write_object(
               engine, target, [&reader](std::span<char> out) { return reader->read(out); },
               entry.size_bytes)
        .address;
  }
  return entry.address;
}

}  // namespace tarn::versioning
