CREATE TABLE token_usage (
  deployment_id   uuid NOT NULL REFERENCES deployments (id),
  organization_id bigint NOT NULL REFERENCES organizations (id),
  model_name      text NOT NULL,
  hour            timestamptz NOT NULL,
  requests        bigint NOT NULL,
  input_tokens    bigint NOT NULL,
  output_tokens   bigint NOT NULL,
  PRIMARY KEY (deployment_id, hour)
);
CREATE INDEX token_usage_organization_idx ON token_usage (organization_id, hour);
COMMENT ON TABLE token_usage IS 'Tokens that passed the inference routes, summed up per deployment and UTC hour';
