// Output of a commit.
#pragma once

#include <string>
#include <string_view>

#include "cli/client.h"
#include "cli/output.h"
#include "cli/uri.h"

namespace tarn::cli {

/// Prints `commit` (the server's record) as one object of `kind` with "changed": true.
void print_commit(Output& out, std::string_view kind, const Json& commit);
/// Its line in a list: id, date, committer, message; in a table the id and the message are cut
/// short. Empty cells for null.
Cells commit_cells(const Output& out, const Json& commit);
/// Prints that nothing had to be done: {"changed": false}, and `why` for people.
void print_no_changes(Output& out, std::string_view kind, std::string_view why);

/// The commit that `ref` (a branch, a tag, an id, any expression) stands for.
Json get_commit(Client& client, std::string_view repository, std::string_view ref);
/// Its full id.
std::string get_commit_id(Client& client, std::string_view repository, std::string_view ref);

/// Two targets of one command. Throws a usage error when they are in different repositories.
void need_same_repository(const Uri& a, const Uri& b);

}  // namespace tarn::cli
