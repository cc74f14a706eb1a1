#include "cli/commands/list_record.h"

#include <nlohmann/json.hpp>

namespace tarn::cli {

void print_list(Session& session, const Request& request, std::string kind, Cells columns,
                const std::function<Cells(const Json&)>& cells) {
  ListWriter rows = session.out.list(std::move(kind), std::move(columns));
  session.client.each(request, [&](const Json& item) {
    rows.add(item, cells(item));
    return true;
  });
  rows.finish();
}

}  // namespace tarn::cli
