ALTER TABLE deployments ADD COLUMN engine jsonb;

COMMENT ON COLUMN deployments.engine IS
  'The engine that became ready last: {name, version}. NULL before that, on Xinference, and until the next start of engines from before this column.';
