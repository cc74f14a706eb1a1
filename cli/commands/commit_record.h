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
/// A commit as a table row: id, date, committer, message; id and message are shortened in a table,
/// where the message of a commit whose data has expired says so. Empty cells for null.
Cells commit_cells(const Output& out, const Json& commit);
/// Prints that nothing was changed: {"changed": false}, or `why` for people.
void print_no_changes(Output& out, std::string_view kind, std::string_view why);

/// The commit of `ref` (a branch, a tag, an id, any expression).
Json get_commit(Client& client, std::string_view repository, std::string_view ref);
/// The full id of the commit that a ref means.
std::string get_commit_id(Client& client, std::string_view repository, std::string_view ref);
/// The full id of the commit whose id begins with `id`. Throws a usage error for a branch, tag or
/// alias: it may have moved since its commit was looked at.
std::string get_full_commit_id(Client& client, std::string_view repository, std::string_view id);

/// Throws a usage error if the targets of a command are in different repositories.
void need_same_repository(const Uri& a, const Uri& b);

}  // namespace tarn::cli
