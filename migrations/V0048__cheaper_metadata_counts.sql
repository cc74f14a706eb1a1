-- Rows that count for quotas of metadata are measured only where there is such a quota: each commit paid for its
-- measure. Replaces two functions; locks nothing.

CREATE OR REPLACE FUNCTION charge_commit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM quotas
             WHERE repo_id IN (0, NEW.repo_id) AND (soft_metadata IS NOT NULL OR hard_metadata IS NOT NULL)) THEN
    PERFORM charge_metadata(NEW.repo_id, coalesce(NEW.made_by, ''), commit_metadata_bytes(NEW), false);
  END IF;
  RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION charge_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM quotas
             WHERE repo_id IN (0, NEW.repo_id) AND (soft_metadata IS NOT NULL OR hard_metadata IS NOT NULL)) THEN
    PERFORM charge_metadata(NEW.repo_id, '', 200 + octet_length(NEW::text), TG_ARGV[0]::boolean);
  END IF;
  RETURN NULL;
END
$$;
