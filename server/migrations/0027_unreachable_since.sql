ALTER TABLE deployments ADD COLUMN unreachable_since timestamptz;

COMMENT ON COLUMN deployments.unreachable_since IS
  'When the runtime stopped to answer for this deployment; NULL while it answers. If the engine turns out to be lost, its billing ends here.';
