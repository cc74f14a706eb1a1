-- Whether the object at a handed-out address is counted for quotas already: it is when its bytes arrive, and not again when it is linked.
-- A new column with a constant default, so nothing is rewritten; locks uploads for a moment.
ALTER TABLE uploads ADD COLUMN charged boolean NOT NULL DEFAULT false;
