-- No foreign keys: an insert joins the rows that it names, and nothing deletes these.
CREATE TABLE request_log (
  id              uuid NOT NULL,
  at              timestamptz NOT NULL,
  organization_id bigint NOT NULL,
  user_id         bigint NOT NULL,
  deployment_id   uuid,
  model           text NOT NULL,
  route           text NOT NULL,
  status          smallint NOT NULL,
  input_tokens    bigint,
  cached_tokens   bigint,
  output_tokens   bigint,
  first_token_ms  integer,
  duration_ms     integer NOT NULL,
  client          text,
  retry           smallint NOT NULL,
  caller_left     boolean NOT NULL,
  PRIMARY KEY (user_id, at, id)
);
CREATE INDEX request_log_deployment_idx ON request_log (deployment_id, at, id) WHERE deployment_id IS NOT NULL;
CREATE INDEX request_log_at_idx ON request_log (at);
COMMENT ON TABLE request_log IS 'Requests to models without their content, for their callers and for owners of deployments; kept for REQUEST_LOG_RETENTION and not used for billing';
COMMENT ON COLUMN request_log.at IS 'When the request arrived';
COMMENT ON COLUMN request_log.organization_id IS 'Of the deployment, or the current one of the caller';
COMMENT ON COLUMN request_log.model IS 'The model of the deployment, or the LoRA; what the request named if it reached no deployment';
COMMENT ON COLUMN request_log.status IS 'What the caller received; 499 if the caller left before';
COMMENT ON COLUMN request_log.cached_tokens IS 'null also for callers who may not learn what others have asked';
COMMENT ON COLUMN request_log.retry IS 'Earlier attempts of the client library';
