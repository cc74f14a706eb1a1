-- lakefs/catalogexport/glue_exporter: a table of the Glue catalog over the symlinks that symlink_exporter wrote.
local json = require("encoding/json")
local lakefs = require("lakefs")
local pathlib = require("path")
local extractor = require("lakefs/catalogexport/table_extractor")
local internal = require("lakefs/catalogexport/internal")

-- Types of descriptors that Glue calls otherwise.
local GLUE_TYPES = { integer = "int", long = "bigint", short = "smallint", byte = "tinyint" }

local function get_full_table_name(descriptor, action_info)
  return string.format("%s_%s_%s_%s", descriptor.name, action_info.repository_id,
    internal.ref_from_branch_or_tag(action_info), internal.short_digest(internal.commit_of(action_info)))
end

local function glue_column(field)
  return {
    Name = field.name,
    Type = GLUE_TYPES[field.type] or field.type,
    Comment = field.comment or (field.metadata or {}).comment,
    Parameters = field.parameters,
  }
end

-- The columns, and those of the partitions in the order in which paths name them; Glue wants no column twice.
local function columns_and_partitions(descriptor)
  local by_name, is_partition, columns, partitions = {}, {}, {}, {}
  local fields = (descriptor.schema or {}).fields or {}
  for _, field in ipairs(fields) do
    by_name[field.name] = field
  end
  for i, name in ipairs(descriptor.partition_columns) do
    if by_name[name] == nil then
      error(string.format("table %s: its schema has no field for the partition column %s", descriptor.name, name))
    end
    is_partition[name] = true
    partitions[i] = glue_column(by_name[name])
  end
  for _, field in ipairs(fields) do
    if not is_partition[field.name] then
      columns[#columns + 1] = glue_column(field)
    end
  end
  return columns, partitions
end

-- Options: table_name, debug, export_base_uri, create_db_input (the database is made unless it is there).
local function export_glue(glue, db, table_src_path, create_table_input, action_info, options)
  local opts = options or {}
  local commit = internal.commit_of(action_info)
  local descriptor = extractor.get_table_descriptor(lakefs, action_info.repository_id, commit, table_src_path)
  if descriptor.type ~= "hive" then
    error(string.format("table %s: only tables of type hive can be exported to Glue, this one is %s", table_src_path,
      tostring(descriptor.type)))
  end
  local columns, partitions = columns_and_partitions(descriptor)
  local namespace = opts.export_base_uri or action_info.storage_namespace

  local input = internal.deepcopy(create_table_input or {})
  input.Name = opts.table_name or get_full_table_name(descriptor, action_info)
  input.TableType = "EXTERNAL_TABLE"
  input.PartitionKeys = array(partitions)
  input.StorageDescriptor = input.StorageDescriptor or {}
  input.StorageDescriptor.Columns = array(columns)
  input.StorageDescriptor.Location = pathlib.join("/",
    internal.get_storage_uri_prefix(namespace, commit, action_info), descriptor.name)

  if opts.create_db_input ~= nil then
    glue.create_database(db, { error_on_already_exists = false, create_db_input = opts.create_db_input })
  end
  local text = json.marshal(input)
  if opts.debug then
    print("Glue table: " .. text)
  end
  glue.create_table(db, text)
  return { table_input = input }
end

return { get_full_table_name = get_full_table_name, export_glue = export_glue }
