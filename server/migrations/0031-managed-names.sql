ALTER TABLE deployments ADD COLUMN managed_name text CHECK (char_length(managed_name) BETWEEN 1 AND 128);
COMMENT ON COLUMN deployments.managed_name IS 'The name of the deployment in the file of `managed_by`; NULL: its alias';
