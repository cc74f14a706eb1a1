-- formats: reading tables of formats that keep a log. Reads as the user who set the hook off.
local delta = ...
local lakefs = require("lakefs")
local internal = require("lakefs/catalogexport/internal")

local VERSIONS_MAX = 10000

-- The entries of the log in order of their versions, which must begin with 0 and have no gap: without the first
-- ones only a checkpoint says which files there are, and checkpoints are not read.
local function log_entries(repository, ref, directory)
  local entries = {}
  for page in internal.lakefs_object_pager(lakefs, repository, ref, "", directory, "") do
    for _, object in ipairs(page) do
      local version = object.path:sub(#directory + 1):match("^(%d+)%.json$")
      if version then
        version = math.tointeger(tonumber(version))
        if version ~= #entries then
          error(string.format("Delta table: its log has no version %d, and checkpoints are not read (%s)", #entries,
            object.path))
        end
        if #entries >= VERSIONS_MAX then
          error("Delta table: its log has more than " .. VERSIONS_MAX .. " versions")
        end
        entries[#entries + 1] = object.path
      end
    end
  end
  if #entries == 0 then
    error("Delta table: there is no log below " .. directory)
  end
  return entries
end

local function get_table(repository, ref, prefix)
  local log, metadata = {}, nil
  for number, path in ipairs(log_entries(repository, ref, internal.directory(prefix) .. "_delta_log/")) do
    local code, text = lakefs.get_object(repository, ref, path)
    if code ~= 200 then
      error("Delta table: reading " .. path .. ": HTTP " .. code)
    end
    local lines = {}
    for line in text:gmatch("[^\r\n]+") do
      lines[#lines + 1] = line
      metadata = delta.describe(line).metadata or metadata
    end
    log[number - 1] = lines
  end
  if metadata == nil then
    error("Delta table: its log has no metadata")
  end
  return log, metadata
end

-- The arguments are those of lakeFS, whose client sends requests with them. This one reads with the rights of the
-- user who set the hook off and uses none of them.
local function delta_client(_key, _secret, _region)
  return { get_table = get_table }
end

return { delta_client = delta_client }
