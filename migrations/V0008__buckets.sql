-- Repositories that CreateBucket of S3 made: only those may DeleteBucket remove. The bare name of a rooted one stands for
-- its default branch. A column with a constant default, so nothing is rewritten.

ALTER TABLE repositories ADD COLUMN bucket_kind text COLLATE "C" NOT NULL DEFAULT 'none'
  CHECK (bucket_kind IN ('none', 'repository', 'rooted'));
