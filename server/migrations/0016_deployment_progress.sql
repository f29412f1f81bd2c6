ALTER TABLE deployments ADD COLUMN progress double precision CHECK (progress BETWEEN 0 AND 1);
COMMENT ON COLUMN deployments.progress IS 'How much of a download is there; written with status_message, null where nobody knows';
