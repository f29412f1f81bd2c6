CREATE TABLE sandbox_objects (
  id           text PRIMARY KEY,
  sequence     bigint NOT NULL GENERATED ALWAYS AS IDENTITY UNIQUE,
  type         text NOT NULL,
  customer_id  text,
  data         jsonb NOT NULL,
  created_at   timestamptz NOT NULL,
  due_at       timestamptz
);
CREATE INDEX sandbox_objects_type_idx ON sandbox_objects (type, customer_id, sequence DESC);
CREATE INDEX sandbox_objects_due_idx ON sandbox_objects (due_at) WHERE due_at IS NOT NULL;
COMMENT ON TABLE sandbox_objects IS 'What the embedded payment processor knows: customers, cards, prices, subscriptions, invoices; nothing real, nothing is charged';
COMMENT ON COLUMN sandbox_objects.data IS 'The object as Stripe’s API shows it, without the secrets that pages are reached by';
COMMENT ON COLUMN sandbox_objects.due_at IS 'When the clock does something with it next: a period’s end, a payment attempt, an expiry';

CREATE TABLE sandbox_events (
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
CREATE INDEX sandbox_events_due_idx ON sandbox_events (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX sandbox_events_created_idx ON sandbox_events (created_at);
COMMENT ON TABLE sandbox_events IS 'Events of the embedded payment processor, each written in the transaction that changes the object';
COMMENT ON COLUMN sandbox_events.due_at IS 'When it is posted to the webhook next; null: it was taken, or given up after three days';

CREATE TABLE sandbox_idempotency_keys (
  key          text PRIMARY KEY,
  fingerprint  bytea NOT NULL,
  status       integer,
  body         jsonb,
  created_at   timestamptz NOT NULL
);
CREATE INDEX sandbox_idempotency_keys_created_idx ON sandbox_idempotency_keys (created_at);
COMMENT ON COLUMN sandbox_idempotency_keys.fingerprint IS 'SHA-256 of the method, the address and the parameters: the same key with others is an error';

CREATE TABLE sandbox_meter_events (
  identifier   text PRIMARY KEY,
  event_name   text NOT NULL,
  customer_id  text NOT NULL,
  at           timestamptz NOT NULL,
  value        numeric NOT NULL,
  created_at   timestamptz NOT NULL
);
CREATE INDEX sandbox_meter_events_idx ON sandbox_meter_events (event_name, customer_id, at);
