CREATE TABLE billing_accounts (
  id                             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  organization_id                bigint NOT NULL UNIQUE REFERENCES organizations (id),
  account_type                   text NOT NULL DEFAULT 'organization' CHECK (account_type = 'organization'),
  currency                       text NOT NULL CHECK (currency ~ '^[a-z]{3}$'),
  billing_mode                   text NOT NULL DEFAULT 'trial' CHECK (billing_mode IN ('trial', 'postpaid')),
  status                         text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'past_due', 'suspended', 'closed')),
  processor_customer_id          text UNIQUE,
  processor_subscription_id      text UNIQUE,
  subscription_status            text NOT NULL DEFAULT 'none' CHECK (subscription_status IN ('none', 'incomplete',
    'incomplete_expired', 'trialing', 'active', 'past_due', 'canceled', 'unpaid', 'paused')),
  collection_method              text CHECK (collection_method IN ('charge_automatically', 'send_invoice')),
  current_period_start           timestamptz,
  current_period_end             timestamptz,
  auto_charge_enabled_at         timestamptz,
  auto_charge_enabled_by_user_id bigint REFERENCES users (id),
  postpaid_since                 timestamptz,
  max_active_resources           integer NOT NULL CHECK (max_active_resources >= 0),
  lease_number                   bigint NOT NULL DEFAULT 0,
  leased_until                   timestamptz,
  synced_at                      timestamptz,
  created_at                     timestamptz NOT NULL,
  updated_at                     timestamptz NOT NULL,
  CHECK ((processor_subscription_id IS NULL) = (subscription_status = 'none')),
  CHECK ((billing_mode = 'postpaid') = (postpaid_since IS NOT NULL))
);
COMMENT ON TABLE billing_accounts IS 'What an organization may use and how it pays: one row for each, made when it is first needed';
COMMENT ON COLUMN billing_accounts.subscription_status IS 'As the processor said when it was last asked; none before the first subscription';
COMMENT ON COLUMN billing_accounts.postpaid_since IS 'The whole UTC hour from which usage is sent to the processor';
COMMENT ON COLUMN billing_accounts.max_active_resources IS 'Deployments from requested to terminating that may exist at a time';
COMMENT ON COLUMN billing_accounts.leased_until IS 'Until when one process has the word with the processor about this account; what it writes, it writes under lease_number';
COMMENT ON COLUMN billing_accounts.synced_at IS 'By the database''s clock, when the processor was last asked: what was heard of before is in what it said';

CREATE TABLE billing_activations (
  id                           uuid PRIMARY KEY,
  billing_account_id           bigint NOT NULL REFERENCES billing_accounts (id),
  processor_payment_method_id  text NOT NULL,
  user_id                      bigint NOT NULL REFERENCES users (id),
  status                       text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'done', 'refused')),
  created_at                   timestamptz NOT NULL,
  finished_at                  timestamptz,
  CHECK ((status = 'pending') = (finished_at IS NULL))
);
CREATE UNIQUE INDEX billing_activations_pending_idx ON billing_activations (billing_account_id) WHERE status = 'pending';
COMMENT ON TABLE billing_activations IS 'Each wish to pay by subscription, written before the processor is asked; its id is the idempotency key';

CREATE TABLE billing_events (
  id           text PRIMARY KEY,
  type         text NOT NULL,
  customer_id  text,
  created_at   timestamptz NOT NULL,
  received_at  timestamptz NOT NULL DEFAULT now(),
  handled_at   timestamptz,
  outcome      text CHECK (outcome IN ('applied', 'ignored')),
  CHECK ((handled_at IS NULL) = (outcome IS NULL))
);
CREATE INDEX billing_events_waiting_idx ON billing_events (received_at) WHERE handled_at IS NULL;
CREATE INDEX billing_events_received_idx ON billing_events (received_at);
COMMENT ON TABLE billing_events IS 'The inbox of the processor''s webhook: every event once, whatever is delivered twice';
COMMENT ON COLUMN billing_events.outcome IS 'ignored: it is about no customer, or about one that is not ours';
COMMENT ON COLUMN billing_events.received_at IS 'By the database''s clock, as billing_accounts.synced_at';

CREATE TABLE billing_event_sweeps (
  processor   text PRIMARY KEY,
  swept_until timestamptz NOT NULL
);
COMMENT ON TABLE billing_event_sweeps IS 'Up to when the processor''s own list of events was compared with the inbox';

CREATE TABLE usage_sends (
  organization_id    bigint NOT NULL REFERENCES organizations (id),
  price_key          text NOT NULL,
  hour               timestamptz NOT NULL,
  identifier         text NOT NULL UNIQUE,
  customer_id        text NOT NULL,
  quantity           bigint NOT NULL CHECK (quantity >= 0),
  at                 timestamptz NOT NULL,
  status             text NOT NULL CHECK (status IN ('pending', 'sent', 'unknown')),
  first_attempt_at   timestamptz NOT NULL,
  last_attempt_at    timestamptz NOT NULL,
  attempts           integer NOT NULL DEFAULT 1,
  sent_at            timestamptz,
  last_error         text,
  PRIMARY KEY (organization_id, price_key, hour),
  CHECK ((status = 'sent') = (sent_at IS NOT NULL))
);
CREATE INDEX usage_sends_open_idx ON usage_sends (organization_id, hour) WHERE status <> 'sent';
COMMENT ON TABLE usage_sends IS 'What was told to the processor of each hour, written before it is told';
COMMENT ON COLUMN usage_sends.at IS 'The moment that the processor counts it at: the end of the hour, or the start of the first period that is still open';
COMMENT ON COLUMN usage_sends.status IS 'pending: about to be told, or killed while telling; unknown: the answer never came';
