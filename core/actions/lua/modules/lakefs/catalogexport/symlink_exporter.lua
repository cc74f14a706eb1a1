-- lakefs/catalogexport/symlink_exporter: for each partition of a Hive table a file symlink.txt with the addresses of
-- its objects, as Hive's SymlinkTextInputFormat reads them.
local lakefs = require("lakefs")
local pathlib = require("path")
local extractor = require("lakefs/catalogexport/table_extractor")
local hive = require("lakefs/catalogexport/hive")
local internal = require("lakefs/catalogexport/internal")

-- Options: debug, export_base_uri (instead of the storage namespace), writer (function(bucket, key, data) instead of
-- the client's put_object).
local function export_s3(s3_client, table_src_path, action_info, options)
  local opts = options or {}
  local commit = internal.commit_of(action_info)
  local repository = action_info.repository_id
  local descriptor = extractor.get_table_descriptor(lakefs, repository, commit, table_src_path)
  if descriptor.type ~= "hive" then
    error(string.format("table %s: only tables of type hive have symlinks, this one is %s", table_src_path,
      tostring(descriptor.type)))
  end
  local namespace = opts.export_base_uri or action_info.storage_namespace
  local location = internal.parse_storage_uri(internal.get_storage_uri_prefix(namespace, commit, action_info))
  local write = opts.writer or s3_client.put_object
  local base = internal.directory(descriptor.path)
  local pager = hive.extract_partition_pager(lakefs, repository, commit, base, descriptor.partition_columns)
  for partition, entries in pager do
    local lines = {}
    for i, entry in ipairs(entries) do
      lines[i] = entry.physical_address .. "\n"
    end
    local key = pathlib.join("/", location.key, descriptor.name, partition:sub(#base + 1), "symlink.txt")
    if #descriptor.partition_columns == 0 then
      key = pathlib.join("/", location.key, descriptor.name, "symlink.txt")
    end
    if opts.debug then
      print(string.format("symlinks of %d objects: s3://%s/%s", #entries, location.bucket, key))
    end
    write(location.bucket, key, table.concat(lines))
  end
  return { location = location }
end

return { export_s3 = export_s3 }
