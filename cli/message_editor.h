// Messages that a person writes in an editor.
#pragma once

#include <string>
#include <string_view>

#include "cli/session.h"
#include "cli/settings.h"

namespace tarn::cli {

/// Bytes of an edited file that are read.
constexpr size_t kEditedBytesMax = size_t{1} << 20;

/// Whether an editor can be shown: standard input and output are a terminal, and CI is unset.
bool may_edit(const Session& session);
/// The command in TARN_EDITOR, VISUAL or EDITOR; else "vi".
std::string editor_of(const Environment& environment);

/// `initial`, then `notes` with "# " before each line.
std::string message_template(std::string_view initial, std::string_view notes);
/// The text without lines that begin with '#' and without blank lines at both ends.
std::string message_in(std::string_view edited);

/// Lets the user write a message below which `notes` stand. Throws interrupted if it is empty, and
/// invalid_argument if the editor fails: nothing was changed then. Only if may_edit().
std::string edit_message(std::string_view initial, std::string_view notes);

}  // namespace tarn::cli
