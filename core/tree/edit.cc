#include "core/tree/edit.h"

#include "core/tree/change_window.h"
#include "core/tree/editor.h"

namespace tarn::tree {
namespace {

constexpr size_t kLookAheadEdits = 512;

}  // namespace

EditResult edit_tree(NodeSource& source, NodeSink& sink, const TreeFormat& format,
                     const TreeRoot& base, std::span<const RangeDelete> deletes,
                     ChangeSource& changes) {
  const size_t look_ahead = base.empty() ? 1 : kLookAheadEdits;
  return Editor(source, sink, format, deletes, changes, look_ahead).run(base);
}

}  // namespace tarn::tree
