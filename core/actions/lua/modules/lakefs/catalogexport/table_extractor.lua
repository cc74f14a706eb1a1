-- lakefs/catalogexport/table_extractor: the files below _lakefs_tables/ that describe tables.
local pathlib = require("path")
local yaml = require("encoding/yaml")
local internal = require("lakefs/catalogexport/internal")

local REGISTRY = "_lakefs_tables/"

-- {path, physical_address} of each description.
local function list_table_descriptor_entries(client, repo_id, commit_id)
  local found = {}
  for page in internal.lakefs_object_pager(client, repo_id, commit_id, "", REGISTRY, "") do
    for _, object in ipairs(page) do
      if object.path:match("%.ya?ml$") and not pathlib.is_hidden(object.path:sub(#REGISTRY + 1)) then
        found[#found + 1] = { path = object.path, physical_address = object.physical_address }
      end
    end
  end
  return found
end

local function get_table_descriptor(client, repo_id, ref, logical_path)
  local code, text = client.get_object(repo_id, ref, logical_path)
  if code ~= 200 then
    error(string.format("table descriptor %s at %s: HTTP %d", logical_path, ref, code))
  end
  local descriptor = yaml.unmarshal(text)
  if type(descriptor) ~= "table" then
    error("table descriptor " .. logical_path .. ": is no YAML map")
  end
  descriptor.partition_columns = descriptor.partition_columns or {}
  return descriptor
end

return {
  list_table_descriptor_entries = list_table_descriptor_entries,
  get_table_descriptor = get_table_descriptor,
}
