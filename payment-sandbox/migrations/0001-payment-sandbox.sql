CREATE TABLE payment_sandbox.objects (
  id           text PRIMARY KEY,
  sequence     bigint NOT NULL GENERATED ALWAYS AS IDENTITY UNIQUE,
  type         text NOT NULL,
  customer_id  text,
  data         jsonb NOT NULL,
  due_at       timestamptz
);
CREATE INDEX objects_type_idx ON payment_sandbox.objects (type, customer_id, sequence DESC);
CREATE INDEX objects_due_idx ON payment_sandbox.objects (due_at) WHERE due_at IS NOT NULL;
COMMENT ON TABLE payment_sandbox.objects IS 'Customers, cards, sessions, prices, meters, subscriptions and invoices';
COMMENT ON COLUMN payment_sandbox.objects.data IS 'The object as the API returns it, without page secrets and page URLs';
COMMENT ON COLUMN payment_sandbox.objects.due_at IS 'Time of the next scheduled step: expiry, end of a period, finalization, payment attempt, due date';

CREATE TABLE payment_sandbox.events (
  id            text PRIMARY KEY,
  sequence      bigint NOT NULL GENERATED ALWAYS AS IDENTITY UNIQUE,
  type          text NOT NULL,
  data          jsonb NOT NULL,
  created_at    timestamptz NOT NULL,
  attempts      integer NOT NULL DEFAULT 0,
  due_at        timestamptz,
  delivered_at  timestamptz,
  last_error    text
);
CREATE INDEX events_due_idx ON payment_sandbox.events (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX events_created_idx ON payment_sandbox.events (created_at);
COMMENT ON TABLE payment_sandbox.events IS 'Outbox of webhook events, each written in the transaction that changes the object';
COMMENT ON COLUMN payment_sandbox.events.due_at IS 'Time of the next delivery attempt; null once delivered or given up after three days';

CREATE TABLE payment_sandbox.idempotency_keys (
  key          text PRIMARY KEY,
  fingerprint  bytea NOT NULL,
  status       integer,
  body         jsonb,
  created_at   timestamptz NOT NULL
);
CREATE INDEX idempotency_keys_created_idx ON payment_sandbox.idempotency_keys (created_at);
COMMENT ON COLUMN payment_sandbox.idempotency_keys.fingerprint IS 'SHA-256 of the method, the URL and the parameters; reusing the key for another request is an error';

CREATE TABLE payment_sandbox.meter_events (
  identifier   text PRIMARY KEY,
  event_name   text NOT NULL,
  customer_id  text NOT NULL,
  at           timestamptz NOT NULL,
  value        numeric NOT NULL
);
CREATE INDEX meter_events_idx ON payment_sandbox.meter_events (event_name, customer_id, at);
