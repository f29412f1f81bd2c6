CREATE TABLE failure_logs (
  deployment_id uuid PRIMARY KEY REFERENCES deployments (id) ON DELETE CASCADE,
  lines         json NOT NULL
);
COMMENT ON TABLE failure_logs IS 'The last lines of failed engines, which outlive the instance until the deployment is deleted';
COMMENT ON COLUMN failure_logs.lines IS '[{at, line}], the oldest first; json, because jsonb refuses some characters that an engine may write';
