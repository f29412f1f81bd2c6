ALTER TABLE deployments ADD COLUMN managed_by text CHECK (char_length(managed_by) BETWEEN 1 AND 100);
COMMENT ON COLUMN deployments.managed_by IS 'The name of the file of `berth apply` that made the deployment; NULL for none';
ALTER TABLE deployable_models ADD COLUMN managed_by text CHECK (char_length(managed_by) BETWEEN 1 AND 100);
COMMENT ON COLUMN deployable_models.managed_by IS 'Like deployments.managed_by';
ALTER TABLE teams ADD COLUMN managed_by text CHECK (char_length(managed_by) BETWEEN 1 AND 100);
COMMENT ON COLUMN teams.managed_by IS 'Like deployments.managed_by';
ALTER TABLE budgets ADD COLUMN managed_by text CHECK (char_length(managed_by) BETWEEN 1 AND 100);
COMMENT ON COLUMN budgets.managed_by IS 'Like deployments.managed_by';
