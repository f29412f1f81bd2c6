ALTER TABLE organizations ADD COLUMN suspended_at timestamptz;
COMMENT ON COLUMN organizations.suspended_at IS 'When an operator suspended the organization; null while it is active. The job that ends its deployments belongs to one suspension.';
