CREATE TABLE hub_tokens (
  organization_id bigint PRIMARY KEY REFERENCES organizations (id),
  token           bytea NOT NULL
);
COMMENT ON TABLE hub_tokens IS 'Tokens with which organizations read gated and private repositories on the Hub';
COMMENT ON COLUMN hub_tokens.token IS 'Encrypted under a key derived from the SECRET_KEY';
