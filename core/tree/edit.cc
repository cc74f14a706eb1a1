#include "core/tree/edit.h"

#include <utility>

#include "core/tree/change_window.h"
#include "core/tree/editor.h"

namespace tarn::tree {
namespace {

constexpr size_t kLookAheadEdits = 512;

class EditChanges final : public ChangeSource {
 public:
  explicit EditChanges(EditSource& edits) : edits_(edits) {}

  std::optional<Change> next() override {
    std::optional<Edit> edit = edits_.next();
    if (!edit) return std::nullopt;
    Change change;
    change.kind = edit->entry ? Change::Kind::kSet : Change::Kind::kDelete;
    change.key = std::move(edit->key);
    change.entry = std::move(edit->entry);
    return change;
  }

 private:
  EditSource& edits_;
};

}  // namespace

EditResult edit_tree(NodeSource& source, NodeSink& sink, const TreeFormat& format,
                     const TreeRoot& base, std::span<const RangeDelete> deletes,
                     EditSource& edits) {
  EditChanges changes(edits);
  const size_t look_ahead = base.empty() ? 1 : kLookAheadEdits;
  return Editor(source, sink, format, deletes, changes, look_ahead).run(base);
}

}  // namespace tarn::tree
