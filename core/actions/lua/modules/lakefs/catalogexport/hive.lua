-- lakefs/catalogexport/hive: the partitions of a table whose paths name them, as in year=2026/month=3/file.
local pathlib = require("path")
local strings = require("strings")
local internal = require("lakefs/catalogexport/internal")

-- The folders of a path below the table that name the columns' values, "" without columns; nil when one is missing:
-- such a file belongs to no partition, and Hive does not read it either.
local function partition_of(columns, path)
  local folders, named = {}, 0
  if #columns == 0 then
    return ""
  end
  local segments = strings.split(path, "/")
  for i = 1, #segments - 1 do
    folders[i] = segments[i]
    local value = strings.has_prefix(segments[i], columns[named + 1] .. "=")
    if value and #segments[i] > #columns[named + 1] + 1 then
      named = named + 1
    end
    if named == #columns then
      return table.concat(folders, "/")
    end
  end
  return nil
end

-- An iterator: the path of a partition, from the repository's root, and its files.
local function extract_partition_pager(client, repo_id, commit_id, base_path, partition_cols, page_size)
  local base = internal.directory(base_path)
  local columns = partition_cols or {}
  local pager = internal.lakefs_object_pager(client, repo_id, commit_id, "", base, "", page_size)
  local page, at = pager(), 1
  local function next_object()
    while page ~= nil do
      local object = page[at]
      at = at + 1
      if object ~= nil then
        return object
      end
      page, at = pager(), 1
    end
    return nil
  end
  local pending, pending_partition
  -- Of the next file that belongs to a partition.
  local function advance()
    for object in next_object do
      local path = object.path:sub(#base + 1)
      local partition = not pathlib.is_hidden(path) and partition_of(columns, path) or nil
      if partition ~= nil then
        internal.check_one_object(object)
        pending = {
          path = object.path,
          physical_address = object.physical_address,
          size = object.size_bytes,
          checksum = object.checksum,
        }
        pending_partition = partition
        return
      end
    end
    pending = nil
  end
  advance()
  return function()
    if pending == nil then
      return nil
    end
    local partition, entries = pending_partition, {}
    while pending ~= nil and pending_partition == partition do
      entries[#entries + 1] = pending
      advance()
    end
    return (partition == "" and base or base .. partition .. "/"), entries
  end
end

return { extract_partition_pager = extract_partition_pager }
