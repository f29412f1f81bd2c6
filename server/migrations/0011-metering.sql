CREATE TABLE token_usage (
  deployment_id   uuid NOT NULL REFERENCES deployments (id),
  organization_id bigint NOT NULL REFERENCES organizations (id),
  user_id         bigint NOT NULL REFERENCES users (id),
  outside_name    text,
  team_id         bigint,
  model_name      text NOT NULL,
  hour            timestamptz NOT NULL,
  before_charging boolean NOT NULL DEFAULT false,
  late_for        timestamptz CHECK (late_for < hour),
  requests        bigint NOT NULL,
  input_tokens    bigint NOT NULL,
  output_tokens   bigint NOT NULL,
  cached_tokens   bigint NOT NULL DEFAULT 0 CHECK (cached_tokens <= input_tokens),
  processing_milliseconds bigint NOT NULL DEFAULT 0,
  UNIQUE NULLS NOT DISTINCT (deployment_id, hour, before_charging, late_for, user_id, outside_name, team_id, model_name)
);
CREATE INDEX token_usage_organization_idx ON token_usage (organization_id, hour);
COMMENT ON TABLE token_usage IS 'Requests and tokens of the inference routes per deployment, caller and UTC hour';
COMMENT ON COLUMN token_usage.user_id IS 'The caller. Bills don''t depend on it, usage by member does.';
COMMENT ON COLUMN token_usage.outside_name IS 'What a program called somebody who is no member; null for the caller''s own requests';
COMMENT ON COLUMN token_usage.team_id IS 'The team of the caller that has the usage, as of the requests; null for none. It may have been deleted since.';
COMMENT ON COLUMN token_usage.model_name IS 'The model of the deployment, or the LoRA that the requests named';
COMMENT ON COLUMN token_usage.processing_milliseconds IS 'How long the requests were at the engine, also if they were there at the same time';
COMMENT ON COLUMN token_usage.cached_tokens IS 'The part of input_tokens that came from a prefix cache, if it had a price of its own then; else 0';
COMMENT ON COLUMN token_usage.before_charging IS 'In the hour of usage_cursors.charged_since, the part before it';
COMMENT ON COLUMN token_usage.late_for IS 'The hour of the requests, if it was sealed before they were recorded; else null';

CREATE TABLE token_batches (
  id          uuid PRIMARY KEY,
  recorded_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX token_batches_recorded_idx ON token_batches (recorded_at);
COMMENT ON TABLE token_batches IS 'Token journal files already added to token_usage, so that each file is counted once';

CREATE TABLE usage_cursors (
  organization_id bigint PRIMARY KEY REFERENCES organizations (id),
  sealed_through  timestamptz NOT NULL DEFAULT 'epoch',
  settled_at      timestamptz,
  charged_since   timestamptz
);
COMMENT ON TABLE usage_cursors IS 'How far an organization''s usage is settled. Writers of the ledger lock this row.';
COMMENT ON COLUMN usage_cursors.charged_since IS 'From when on usage is charged; null during the trial. Its hour is cut into two parts.';
COMMENT ON COLUMN usage_cursors.sealed_through IS 'A whole UTC hour: usage before it never changes again';

CREATE TABLE settlement_clock (
  id                    integer PRIMARY KEY CHECK (id = 1),
  trusted_at            timestamptz NOT NULL,
  observed_at           timestamptz NOT NULL,
  observed_milliseconds bigint
);
COMMENT ON TABLE settlement_clock IS 'One row: guards the seals against a clock that steps';
COMMENT ON COLUMN settlement_clock.trusted_at IS 'Hours before this time of a settlement may be sealed';
COMMENT ON COLUMN settlement_clock.observed_milliseconds IS 'How long the time after a pause has been observed; null if it is trusted';

CREATE TABLE instance_spans (
  id                bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  organization_id   bigint NOT NULL REFERENCES organizations (id),
  deployment_id     uuid NOT NULL REFERENCES deployments (id),
  engine_id         uuid NOT NULL,
  instance_type     text NOT NULL,
  region            text NOT NULL,
  instance_id       text NOT NULL DEFAULT '',
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
CREATE UNIQUE INDEX instance_spans_open_idx ON instance_spans (engine_id) WHERE ended_at IS NULL;
CREATE INDEX instance_spans_engine_idx ON instance_spans (engine_id, started_at);
CREATE INDEX instance_spans_deployment_idx ON instance_spans (deployment_id, started_at);
CREATE INDEX instance_spans_organization_idx ON instance_spans (organization_id, ended_at);
COMMENT ON TABLE instance_spans IS 'When an engine of a deployment held an instance, from provisioning to confirmed release';
COMMENT ON COLUMN instance_spans.engine_id IS 'The row of instances; a row has several spans if its hardware was lost and replaced';
COMMENT ON COLUMN instance_spans.instance_id IS 'The provider''s id of the instance';
COMMENT ON COLUMN instance_spans.confirmed_at IS 'When the deployment first served. From then on the span is billed from its start.';
COMMENT ON COLUMN instance_spans.voided_at IS 'When the instance was released without having served: the span is not billed';
COMMENT ON COLUMN instance_spans.reported_start_at IS 'The start that the provider reported; started_at differs if that time is impossible';
COMMENT ON COLUMN instance_spans.reported_end_at IS 'The end by the clock; ended_at differs if that time is before the start or in a sealed hour';

CREATE TABLE usage_buckets (
  id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  organization_id bigint NOT NULL REFERENCES organizations (id),
  deployment_id   uuid NOT NULL REFERENCES deployments (id),
  meter           text NOT NULL,
  hour            timestamptz NOT NULL CHECK (date_trunc('hour', hour, 'UTC') = hour),
  before_charging boolean NOT NULL DEFAULT false,
  late_for        timestamptz CHECK (late_for < hour),
  dimensions      jsonb NOT NULL,
  dimensions_key  text NOT NULL GENERATED ALWAYS AS (dimensions::text) STORED,
  quantity        numeric(20, 3) NOT NULL CHECK (quantity > 0),
  price_key       text NOT NULL,
  service_key     text NOT NULL,
  display_name    text NOT NULL,
  unit_amount     numeric,
  currency        text,
  team_id         bigint,
  price_from      timestamptz,
  price_until     timestamptz,
  sealed_at       timestamptz,
  sequence        bigint CHECK (sequence > 0),
  previous_hash   text CHECK (previous_hash ~ '^[0-9a-f]{64}$'),
  hash            text CHECK (hash ~ '^[0-9a-f]{64}$'),
  UNIQUE NULLS NOT DISTINCT (organization_id, deployment_id, meter, hour, dimensions_key, before_charging, late_for),
  UNIQUE (organization_id, sequence),
  UNIQUE (organization_id, previous_hash),
  CHECK ((unit_amount IS NULL) = (currency IS NULL)),
  CHECK (sealed_at IS NULL OR unit_amount IS NOT NULL),
  CHECK (sequence IS NULL OR sealed_at IS NOT NULL),
  CHECK ((sequence IS NULL) = (hash IS NULL) AND (sequence IS NULL) = (previous_hash IS NULL))
);
CREATE INDEX usage_buckets_hour_idx ON usage_buckets (organization_id, hour);
CREATE INDEX usage_buckets_unsealed_idx ON usage_buckets (organization_id, hour) WHERE sealed_at IS NULL;
COMMENT ON TABLE usage_buckets IS 'Priced usage per UTC hour; recomputed from spans and tokens until the hour is sealed';
COMMENT ON COLUMN usage_buckets.before_charging IS 'In the hour of usage_cursors.charged_since, the part before it';
COMMENT ON COLUMN usage_buckets.late_for IS 'The hour of late usage, whose price it has; null if it is hour';
COMMENT ON COLUMN usage_buckets.price_from IS 'From when on the price is valid, price_until its end; null if the price is unknown or has no end';
COMMENT ON COLUMN usage_buckets.team_id IS 'The team of the owner that has what no caller has, as of the last settlement; null for none. It may have been deleted since.';
COMMENT ON COLUMN usage_buckets.sequence IS 'Number of the sealed hour in the organization''s chain, from 1 without a gap';
COMMENT ON COLUMN usage_buckets.hash IS 'SHA-256 of previous_hash and the hour as in docs/proof.md';
COMMENT ON COLUMN usage_buckets.quantity IS 'Seconds with millisecond precision, or tokens';
COMMENT ON COLUMN usage_buckets.unit_amount IS 'Price of one second or token in the currency''s main unit; null while the price is unknown, which keeps the hour unsealed';

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
  deployment_id   uuid,
  kind            text NOT NULL,
  subject         text NOT NULL,
  message         text NOT NULL,
  opened_at       timestamptz NOT NULL,
  seen_at         timestamptz NOT NULL,
  closed_at       timestamptz
);
CREATE UNIQUE INDEX usage_anomalies_open_idx ON usage_anomalies (kind, subject) WHERE closed_at IS NULL;
CREATE INDEX usage_anomalies_organization_idx ON usage_anomalies (organization_id) WHERE closed_at IS NULL;
COMMENT ON TABLE usage_anomalies IS 'Findings of the usage checks. A check that passes again closes its findings.';
COMMENT ON COLUMN usage_anomalies.organization_id IS 'Null if no organization is affected, such as an instance without a deployment';
COMMENT ON COLUMN usage_anomalies.deployment_id IS 'Null if no deployment is affected';
