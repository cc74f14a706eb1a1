-- Whose commit is read: readers take turns among users. '' = not known. A constant default, so that no row is written
-- anew.
ALTER TABLE extractions ADD COLUMN owner text COLLATE "C" NOT NULL DEFAULT '';

-- The oldest of each user, and who has some at all.
DROP INDEX extractions_queued;
CREATE INDEX extractions_queued ON extractions (owner, queued_at) WHERE state = 'queued';
-- Those that are read now, and those whose reader ended.
CREATE INDEX extractions_leased ON extractions (owner) WHERE state = 'queued' AND lease_until IS NOT NULL;

CREATE OR REPLACE FUNCTION queue_extractions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO extractions (repo_id, commit_id, owner)
  SELECT repo_id, commit_id, coalesce(made_by, '') FROM made ON CONFLICT DO NOTHING;
  RETURN NULL;
END
$$;
