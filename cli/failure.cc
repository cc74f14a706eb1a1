#include "cli/failure.h"

#include <ostream>

#include <nlohmann/json.hpp>

#include "cli/exit_code.h"
#include "cli/output.h"

namespace tarn::cli {

void print_failure(std::ostream& talk, const Error& error, bool json) {
  if (!json) {
    talk << "tarn: " << printable_lines(error.message()) << std::endl;
    return;
  }
  const nlohmann::json fields{{"apiVersion", kApiVersion},
                              {"kind", "Error"},
                              {"code", error.reason()},
                              {"message", error.message()},
                              {"exitCode", static_cast<int>(exit_code_of(error))}};
  talk << fields.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << std::endl;
}

}  // namespace tarn::cli
