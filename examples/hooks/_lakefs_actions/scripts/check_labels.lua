-- Refuses the commit when a file does not begin with its header.
local lakefs = require("lakefs")

local status, text = lakefs.get_object(action.repository_id, action.branch_id, args.path)
if status == 404 then
  print("no " .. args.path)
  return
end
if status ~= 200 then
  error("cannot read " .. args.path .. ": status " .. status)
end
local first = text:match("^[^\r\n]*")
if first ~= args.header then
  error(args.path .. ' must begin with "' .. args.header .. '", not "' .. first .. '"')
end
print(args.path .. " has its header")
