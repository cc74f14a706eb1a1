-- Operations belong to a user, not to a name that another user may bear later. NULL: the user was gone already.
ALTER TABLE operations ADD COLUMN owner_id integer;
UPDATE operations o SET owner_id = u.user_id FROM users u WHERE u.name = o.owner AND u.created_ms <= o.created_ms;
CREATE INDEX operations_by_owner_id ON operations (owner_id, operation_id);
DROP INDEX operations_by_owner;
