CREATE TABLE usage_cursors (
  organization_id bigint PRIMARY KEY REFERENCES organizations (id),
  sealed_through  timestamptz NOT NULL DEFAULT 'epoch',
  settled_at      timestamptz
);
COMMENT ON TABLE usage_cursors IS 'How far an organization''s usage is settled; its row is the lock under which the ledger is written';
COMMENT ON COLUMN usage_cursors.sealed_through IS 'A whole UTC hour: usage of the hours before it never changes again';

CREATE TABLE instance_spans (
  id                bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  organization_id   bigint NOT NULL REFERENCES organizations (id),
  deployment_id     uuid NOT NULL REFERENCES deployments (id),
  instance_type     text NOT NULL,
  region            text NOT NULL,
  started_at        timestamptz NOT NULL,
  ended_at          timestamptz,
  confirmed_at      timestamptz,
  voided_at         timestamptz,
  reported_start_at timestamptz NOT NULL,
  reported_end_at   timestamptz,
  CHECK (ended_at >= started_at),
  CHECK ((ended_at IS NULL) = (reported_end_at IS NULL)),
  CHECK (voided_at IS NULL OR (confirmed_at IS NULL AND ended_at IS NOT NULL)),
  CHECK (ended_at IS NULL OR (voided_at IS NULL) <> (confirmed_at IS NULL))
);
CREATE UNIQUE INDEX instance_spans_open_idx ON instance_spans (deployment_id) WHERE ended_at IS NULL;
CREATE INDEX instance_spans_deployment_idx ON instance_spans (deployment_id, started_at);
CREATE INDEX instance_spans_organization_idx ON instance_spans (organization_id, ended_at);
COMMENT ON TABLE instance_spans IS 'When a deployment had an instance: from the moment the provider gave it until its release was confirmed';
COMMENT ON COLUMN instance_spans.confirmed_at IS 'When the deployment first served: from then on the span is billed, from its start';
COMMENT ON COLUMN instance_spans.voided_at IS 'When the instance was given back without having served: not billed';
COMMENT ON COLUMN instance_spans.reported_start_at IS 'What the provider said; started_at differs where that cannot be';
COMMENT ON COLUMN instance_spans.reported_end_at IS 'What the clock said; ended_at differs where that lies before the start or in a sealed hour';

CREATE TABLE usage_buckets (
  organization_id bigint NOT NULL REFERENCES organizations (id),
  deployment_id   uuid NOT NULL REFERENCES deployments (id),
  meter           text NOT NULL,
  hour            timestamptz NOT NULL CHECK (date_trunc('hour', hour, 'UTC') = hour),
  dimensions      jsonb NOT NULL,
  dimensions_key  text NOT NULL GENERATED ALWAYS AS (dimensions::text) STORED,
  quantity        numeric(20, 3) NOT NULL CHECK (quantity > 0),
  price_key       text NOT NULL,
  service_key     text NOT NULL,
  display_name    text NOT NULL,
  unit_amount     numeric,
  currency        text,
  sealed_at       timestamptz,
  PRIMARY KEY (organization_id, deployment_id, meter, hour, dimensions_key),
  CHECK ((unit_amount IS NULL) = (currency IS NULL)),
  CHECK (sealed_at IS NULL OR unit_amount IS NOT NULL)
);
CREATE INDEX usage_buckets_hour_idx ON usage_buckets (organization_id, hour);
CREATE INDEX usage_buckets_unsealed_idx ON usage_buckets (organization_id, hour) WHERE sealed_at IS NULL;
COMMENT ON TABLE usage_buckets IS 'Usage of a UTC hour with its price; written anew from spans and tokens until the hour is sealed';
COMMENT ON COLUMN usage_buckets.quantity IS 'Seconds to the millisecond, or tokens';
COMMENT ON COLUMN usage_buckets.unit_amount IS 'Price of a second or token in the currency''s main unit; null while no price is known, which keeps the hour from being sealed';

CREATE FUNCTION refuse_sealed_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'usage of % is sealed', OLD.hour;
END
$$;
CREATE TRIGGER usage_buckets_sealed BEFORE UPDATE OR DELETE ON usage_buckets
  FOR EACH ROW WHEN (OLD.sealed_at IS NOT NULL) EXECUTE FUNCTION refuse_sealed_change();

CREATE TABLE usage_anomalies (
  id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  organization_id bigint REFERENCES organizations (id),
  kind            text NOT NULL,
  subject         text NOT NULL,
  message         text NOT NULL,
  opened_at       timestamptz NOT NULL,
  seen_at         timestamptz NOT NULL,
  closed_at       timestamptz
);
CREATE UNIQUE INDEX usage_anomalies_open_idx ON usage_anomalies (kind, subject) WHERE closed_at IS NULL;
CREATE INDEX usage_anomalies_organization_idx ON usage_anomalies (organization_id) WHERE closed_at IS NULL;
COMMENT ON TABLE usage_anomalies IS 'What the checks of the ledger saw and still see; a check that passes again closes what it had opened';
COMMENT ON COLUMN usage_anomalies.organization_id IS 'Null where it is nobody''s, such as an instance that no deployment knows';

INSERT INTO instance_spans (organization_id, deployment_id, instance_type, region, started_at, ended_at, confirmed_at, voided_at,
  reported_start_at, reported_end_at)
SELECT organization_id, id, selected_instance_type, region, instance_started_at,
  CASE WHEN instance_released_at IS NOT NULL THEN greatest(instance_released_at, instance_started_at) END, ran_at,
  CASE WHEN ran_at IS NULL THEN instance_released_at END, instance_started_at, instance_released_at
FROM deployments WHERE instance_started_at IS NOT NULL;
INSERT INTO usage_cursors (organization_id)
SELECT organization_id FROM instance_spans UNION SELECT organization_id FROM token_usage;
