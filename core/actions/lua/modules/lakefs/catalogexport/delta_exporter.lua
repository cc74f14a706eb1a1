-- lakefs/catalogexport/delta_exporter: the log of a Delta table with the objects' addresses in the store, so that
-- engines read the table of a commit there.
local delta = ...
local lakefs = require("lakefs")
local json = require("encoding/json")
local pathlib = require("path")
local strings = require("strings")
local url = require("net/url")
local extractor = require("lakefs/catalogexport/table_extractor")
local internal = require("lakefs/catalogexport/internal")

local function descriptor_of(repository, ref, descriptors_path, name)
  local file = strings.has_suffix(name, ".yaml") and name or name .. ".yaml"
  local path = pathlib.join("/", descriptors_path, file)
  local descriptor = extractor.get_table_descriptor(lakefs, repository, ref, path)
  if type(descriptor.path) ~= "string" then
    error("table descriptor " .. path .. ": has no path")
  end
  if type(descriptor.name) ~= "string" then
    error("table descriptor " .. path .. ": has no name")
  end
  return descriptor
end

-- A function that gives the address of a file of the table as a log has it, nil for a file that is no longer there.
local function address_finder(repository, commit, table_path, transform)
  local known = {}
  return function(path)
    if known[path] == nil then
      local code, text = lakefs.stat_object(repository, commit, internal.directory(table_path) .. path)
      if code == 200 then
        local object = json.unmarshal(text)
        internal.check_one_object(object)
        local at = url.parse(object.physical_address)
        known[path] = transform(url.build_url(at.scheme, at.host, at.path))
      elseif code == 404 or code == 410 then
        known[path] = false
      else
        error("Delta table: looking at " .. path .. ": HTTP " .. code)
      end
    end
    return known[path] or nil
  end
end

-- The lines of each version with other paths. Files that a later version removed may be gone: their lines stay as
-- they are, an added file and its removal alike. Of the newest version every file must be there.
local function rewritten(log, address_of)
  local versions, missing = {}, {}
  for _, version in ipairs(internal.sortedKeys(log)) do
    local lines = {}
    for i, line in ipairs(log[version]) do
      local action = delta.describe(line)
      lines[i] = line
      if action.path ~= nil and not action.absolute then
        if action.vector_file and action.kind == "add" then
          error("Delta table: it has deletion vectors, which an export cannot name; rewrite them with " ..
            "REORG TABLE ... APPLY (PURGE) or its like")
        end
        local address = address_of(action.path)
        if address ~= nil then
          lines[i] = delta.with_path(line, address)
        elseif action.kind ~= "cdc" then
          missing[action.path] = action.kind == "add" or nil
        end
      end
    end
    versions[version] = table.concat(lines, "\n") .. "\n"
  end
  local path = next(missing)
  if path ~= nil then
    error("Delta table: its log names " .. path .. ", which is not there")
  end
  return versions
end

-- Writes with write_object(bucket, key, data). Returns {[name] = {path = , metadata = }}.
local function export_delta_log(action, table_def_names, write_object, delta_client, table_descriptors_path,
                                path_transformer)
  local transform = path_transformer or function(path) return path end
  local commit = internal.commit_of(action)
  local prefix = internal.get_storage_uri_prefix(action.storage_namespace, commit, action)
  local exported = {}
  for _, name in ipairs(table_def_names) do
    local descriptor = descriptor_of(action.repository_id, commit, table_descriptors_path, name)
    local log, metadata = delta_client.get_table(action.repository_id, commit, descriptor.path)
    local versions = rewritten(log, address_finder(action.repository_id, commit, descriptor.path, transform))
    local location = pathlib.join("/", prefix, descriptor.name)
    local at = internal.parse_storage_uri(pathlib.join("/", location, "_delta_log"))
    -- In their order: a reader meanwhile finds an older version, never one with a gap before it.
    for _, version in ipairs(internal.sortedKeys(versions)) do
      write_object(at.bucket, string.format("%s/%020d.json", at.key, version), versions[version])
    end
    exported[name] = { path = transform(location), metadata = metadata }
  end
  return exported
end

-- Those of the tables of which a file differs between the two refs.
local function changed_table_defs(table_def_names, table_descriptors_path, repository_id, ref, compare_ref)
  local changed = {}
  for _, name in ipairs(table_def_names) do
    local descriptor = descriptor_of(repository_id, compare_ref, table_descriptors_path, name)
    local code, answer = lakefs.diff_refs(repository_id, ref, compare_ref, "", internal.directory(descriptor.path), "", 1)
    if code ~= 200 then
      error("comparing " .. ref .. " with " .. compare_ref .. ": HTTP " .. code)
    end
    if #answer.results > 0 then
      changed[#changed + 1] = name
    end
  end
  return changed
end

return { export_delta_log = export_delta_log, changed_table_defs = changed_table_defs }
