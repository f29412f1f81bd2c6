CREATE TABLE endpoints (
  id              uuid PRIMARY KEY,
  organization_id bigint NOT NULL REFERENCES organizations (id),
  name            text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 100),
  base_url        text NOT NULL,
  header          text,
  key             bytea,
  chosen_models   jsonb,
  listed_models   jsonb NOT NULL,
  prices          jsonb,
  status          text NOT NULL CHECK (status IN ('ready', 'unreachable', 'refused', 'invalid')),
  status_message  text,
  checked_at      timestamptz NOT NULL,
  revision        uuid NOT NULL,
  created_at      timestamptz NOT NULL
);
CREATE UNIQUE INDEX endpoints_name_key ON endpoints (organization_id, lower(name));
COMMENT ON TABLE endpoints IS 'Servers with OpenAI''s protocol that organizations use and Berth does not run';
COMMENT ON COLUMN endpoints.header IS 'The header that has the key; null for Authorization with Bearer';
COMMENT ON COLUMN endpoints.key IS 'Encrypted under a key derived from the SECRET_KEY';
COMMENT ON COLUMN endpoints.chosen_models IS 'The models that the organization named; null for all that the endpoint lists';
COMMENT ON COLUMN endpoints.revision IS 'Another one after each change of where and how the endpoint is reached, so that an older check is not stored';
