// A new administrator's key for an installation whose keys are lost.
#pragma once

#include <string_view>

#include "core/auth/credentials.h"

namespace tarn::auth {

/// Adds an access key to the user, who is made if absent and becomes a member of group Admins; the
/// group is made again if it was deleted, and gets back its built-in policies as far as they exist.
/// Other keys stay valid. For operators who control the database: it asks for no permission. Throws
/// unavailable.
NewKey recover_admin(db::Pool& pool, std::string_view master_key, std::string_view name,
                     Instant now);

}  // namespace tarn::auth
