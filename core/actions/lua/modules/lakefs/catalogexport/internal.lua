-- lakefs/catalogexport/internal: what the exporters share.
local url = require("net/url")
local pathlib = require("path")

local PAGE_SIZE = 1000
local SHORT_DIGEST_CHARACTERS = 6

local TAG_EVENTS = {
  ["pre-create-tag"] = true, ["post-create-tag"] = true, ["pre-delete-tag"] = true, ["post-delete-tag"] = true,
}

local function short_digest(digest, length)
  return digest:sub(1, length or SHORT_DIGEST_CHARACTERS)
end

-- The name under which the exporters keep what belongs to the ref that changed.
local function ref_from_branch_or_tag(action_info)
  local ref = TAG_EVENTS[action_info.event_type] and action_info.tag_id or action_info.branch_id
  if ref == nil or ref == "" then
    error("event " .. tostring(action_info.event_type) .. " names no branch and no tag")
  end
  return ref
end

local function commit_of(action_info)
  if action_info.commit_id == nil or action_info.commit_id == "" then
    error("event " .. tostring(action_info.event_type) .. " has no commit to export")
  end
  return action_info.commit_id
end

local function parse_storage_uri(uri)
  local parsed = url.parse(uri)
  return { protocol = parsed.scheme, bucket = parsed.host, key = (parsed.path:gsub("^/", "")) }
end

-- Pages of what `call(after)` answers, from `after` on.
local function lakefs_paginated_api(call, after)
  local more = true
  return function()
    if not more then
      return nil
    end
    local code, answer = call(after)
    if code < 200 or code > 299 then
      error("lakeFS: HTTP " .. code .. ": " .. tostring(type(answer) == "table" and answer.message or answer))
    end
    more, after = answer.pagination.has_more, answer.pagination.next_offset
    return answer.results
  end
end

local function lakefs_object_pager(client, repo_id, commit_id, after, prefix, delimiter, page_size)
  return lakefs_paginated_api(function(offset)
    return client.list_objects(repo_id, commit_id, offset, prefix, delimiter, page_size or PAGE_SIZE)
  end, after)
end

-- Where an export of a commit lies: <namespace>/_lakefs/exported/<branch or tag>/<first digits of the commit>/
local function get_storage_uri_prefix(storage_ns, commit_id, action_info)
  return pathlib.join("/", storage_ns, "_lakefs/exported", ref_from_branch_or_tag(action_info),
    short_digest(commit_id), "")
end

-- With one slash at its end, and without any for the root.
local function directory(path)
  local trimmed = path:gsub("/+$", "")
  return trimmed == "" and "" or trimmed .. "/"
end

-- An export names objects of the store; bytes that lie in several of them have no one name.
local function check_one_object(object)
  if object.stored_in_parts then
    error(string.format("%s is stored in several parts, so that no single object of the store holds it; " ..
      "upload it in one part to export it", object.path))
  end
end

local function deepcopy(value)
  if type(value) ~= "table" then
    return value
  end
  local copy = {}
  for key, item in pairs(value) do
    copy[key] = deepcopy(item)
  end
  return setmetatable(copy, getmetatable(value))
end

local function sortedKeys(map, less)
  local keys = {}
  for key in pairs(map) do
    keys[#keys + 1] = key
  end
  table.sort(keys, less)
  return keys
end

return {
  short_digest = short_digest,
  ref_from_branch_or_tag = ref_from_branch_or_tag,
  commit_of = commit_of,
  parse_storage_uri = parse_storage_uri,
  lakefs_paginated_api = lakefs_paginated_api,
  lakefs_object_pager = lakefs_object_pager,
  get_storage_uri_prefix = get_storage_uri_prefix,
  directory = directory,
  check_one_object = check_one_object,
  deepcopy = deepcopy,
  sortedKeys = sortedKeys,
}
