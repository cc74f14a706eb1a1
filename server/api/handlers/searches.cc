#include "core/auth/resource.h"
#include "core/objects/search.h"
#include "core/objects/search_refs.h"
#include "server/api/handlers/handlers.h"
#include "server/api/object_listing.h"
#include "server/api/search_query.h"

namespace tarn::api {
namespace {

bool may_read(const Call& call, std::string_view repository, std::string_view ref,
              std::string_view path) {
  return call.allows(auth::Action::kReadObject, auth::object_arn(repository, ref, path));
}

bool asks_for_tags(const search::Query& query, const std::optional<search::SortOrder>& sort) {
  return (query.where && query.where->expression.asks_for_tags()) ||
         (sort && sort->field.kind == search::Field::Kind::kTag);
}

/// Whether the order is that of the keys, in which the ref is scanned anyway.
bool is_by_path(const std::optional<search::SortOrder>& sort) {
  return !sort || (sort->field.kind == search::Field::Kind::kPath && !sort->descending);
}

objects::RefsSearch search_of(const Call& call, search::Query query,
                              std::optional<search::SortOrder> sort) {
  return {.query = std::move(query),
          .sort = std::move(sort),
          .after = std::string(call.parameter("after")),
          .question = question_of(call),
          .limit = call.amount()};
}

/// Searches one ref; the route has checked the permission to list it.
Page<objects::ListItem> sorted(const Context& context, const Call& call, search::Query query,
                               std::optional<search::SortOrder> sort) {
  const auto all = [](const auto&...) { return true; };
  objects::SearchScope scope{.repositories = {{call.repository().str()}, {}},
                             .refs = {{call.path("ref")}, {}},
                             .shows_repository = all,
                             .shows_branches = all,
                             .shows_ref = all};
  if (asks_for_tags(query, sort)) {
    scope.shows_object = [&](const RepositoryName& repository, std::string_view ref,
                             std::string_view path) {
      return may_read(call, repository.str(), ref, path);
    };
  }
  auto found = objects::search_refs(context.engine, scope,
                                    search_of(call, std::move(query), std::move(sort)));
  Page<objects::ListItem> out{.items = {},
                              .has_more = found.has_more,
                              .next = std::move(found.next),
                              .ended_by_bytes = true};
  for (objects::FoundAtPlace& one : found.items)
    out.items.push_back({std::move(one.place.path), std::move(one.entry)});
  return out;
}

}  // namespace

http::Response search_objects(const Context& context, Call& call) {
  const auto presigner = Presigner::asked_for(context, call);
  search::Query query = search_query_of(call.query);
  auto sort = search::parse_sort_order(call.parameter("sort"));
  if (!is_by_path(sort)) {
    return object_listing(context, call, presigner,
                          sorted(context, call, std::move(query), std::move(sort)));
  }
  objects::SearchOptions options{.query = std::move(query),
                                 .after = std::string(call.parameter("after")),
                                 .limit = call.amount(),
                                 .limits = {}};
  if (asks_for_tags(options.query, sort)) {
    options.shows = [&](std::string_view path) {
      return may_read(call, call.path("repository"), call.path("ref"), path);
    };
  }
  const auto found =
      objects::search_objects(context.engine, call.repository(), call.path("ref"), options);
  return object_listing(context, call, presigner, found.page);
}

http::Response search_refs(const Context& context, Call& call) {
  using enum auth::Action;
  const objects::SearchScope scope{
      .repositories = objects::searched_repositories(call.query.values("repository")),
      .refs = objects::searched_refs(call.query.values("ref")),
      .shows_repository =
          [&](const RepositoryName& repository) {
            return call.allows(kReadRepository, auth::repository_arn(repository.str()));
          },
      .shows_branches =
          [&](const RepositoryName& repository) {
            return call.allows(kListBranches, auth::repository_arn(repository.str()));
          },
      .shows_ref =
          [&](const RepositoryName& repository, std::string_view ref) {
            return call.allows(kListObjects, auth::ref_arn(repository.str(), ref));
          },
      .shows_object =
          [&](const RepositoryName& repository, std::string_view ref, std::string_view path) {
            return may_read(call, repository.str(), ref, path);
          }};
  const auto page =
      objects::search_refs(context.engine, scope,
                           search_of(call, search_query_of(call.query),
                                     search::parse_sort_order(call.parameter("sort"))));
  return found_listing(context, call, page);
}

}  // namespace tarn::api
