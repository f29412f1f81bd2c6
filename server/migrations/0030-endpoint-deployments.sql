CREATE TABLE endpoint_prices (
  endpoint_id     uuid NOT NULL,
  organization_id bigint NOT NULL REFERENCES organizations (id),
  valid_from      timestamptz NOT NULL CHECK (date_trunc('hour', valid_from, 'UTC') = valid_from),
  input           numeric CHECK (input >= 0),
  output          numeric CHECK (output >= 0),
  currency        text NOT NULL,
  PRIMARY KEY (endpoint_id, valid_from),
  CHECK ((input IS NULL) = (output IS NULL))
);
CREATE INDEX endpoint_prices_organization_idx ON endpoint_prices (organization_id);
COMMENT ON TABLE endpoint_prices IS 'What a million tokens cost at endpoints, from an hour until the next row';
COMMENT ON COLUMN endpoint_prices.endpoint_id IS 'No reference: usage that is not sealed outlives its endpoint';
COMMENT ON COLUMN endpoint_prices.input IS 'Null if the price list applies';

CREATE INDEX deployments_endpoint_idx ON deployments (organization_id, (variant #>> '{weights,endpoint}'))
  WHERE variant #>> '{weights,endpoint}' IS NOT NULL;

-- Server processes cache where requests go, which depends on how an endpoint is reached.
CREATE FUNCTION notify_endpoint_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('deployment_changed', user_id::text) FROM memberships WHERE organization_id = NEW.organization_id;
  RETURN NULL;
END
$$;
CREATE TRIGGER endpoints_changed AFTER UPDATE ON endpoints FOR EACH ROW
  WHEN ((OLD.base_url, OLD.header, OLD.key) IS DISTINCT FROM (NEW.base_url, NEW.header, NEW.key))
  EXECUTE FUNCTION notify_endpoint_changed();

ALTER TABLE organizations ADD COLUMN allow_external boolean NOT NULL DEFAULT true;
COMMENT ON COLUMN organizations.allow_external IS 'Whether prompts may leave the installation, for models of endpoints';
CREATE TRIGGER organizations_external_changed AFTER UPDATE ON organizations FOR EACH ROW
  WHEN (OLD.allow_external IS DISTINCT FROM NEW.allow_external) EXECUTE FUNCTION notify_organization_changed();
