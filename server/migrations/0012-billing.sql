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
  usage_reported_through         timestamptz,
  usage_remainders               jsonb NOT NULL DEFAULT '{}',
  lease_number                   bigint NOT NULL DEFAULT 0,
  leased_until                   timestamptz,
  synced_at                      timestamptz,
  trial_exhausted_at             timestamptz,
  created_at                     timestamptz NOT NULL,
  updated_at                     timestamptz NOT NULL,
  CHECK ((processor_subscription_id IS NULL) = (subscription_status = 'none')),
  CHECK ((billing_mode = 'postpaid') = (postpaid_since IS NOT NULL))
);
COMMENT ON TABLE billing_accounts IS 'How an organization pays and how much it may use. The row is created on first use.';
COMMENT ON COLUMN billing_accounts.subscription_status IS 'The processor''s last known status; none before the first subscription';
COMMENT ON COLUMN billing_accounts.postpaid_since IS 'From when on usage is reported to the processor, as in usage_cursors.charged_since';
COMMENT ON COLUMN billing_accounts.max_active_resources IS 'Maximum number of deployments that are neither failed nor terminated';
COMMENT ON COLUMN billing_accounts.usage_reported_through IS 'All sealed usage of earlier hours is in usage_reports; null before the first report';
COMMENT ON COLUMN billing_accounts.usage_remainders IS 'Reported usage below one whole unit: {price key: thousandths of a unit}';
COMMENT ON COLUMN billing_accounts.leased_until IS 'Only one process at a time talks to the processor about this account; its writes name lease_number';
COMMENT ON COLUMN billing_accounts.synced_at IS 'Time of the last request to the processor, by the database''s clock. The response covers every event received before.';
COMMENT ON COLUMN billing_accounts.trial_exhausted_at IS 'When the trial''s credit was found used up while deployments were active; they end after a grace period';

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
COMMENT ON TABLE billing_activations IS 'Requests to switch to a subscription, inserted before the processor is called. The id is the idempotency key.';

CREATE TABLE billing_checkouts (
  session_id          text PRIMARY KEY,
  billing_account_id  bigint NOT NULL REFERENCES billing_accounts (id),
  user_id             bigint NOT NULL REFERENCES users (id),
  created_at          timestamptz NOT NULL,
  finished_at         timestamptz
);
CREATE INDEX billing_checkouts_open_idx ON billing_checkouts (billing_account_id) WHERE finished_at IS NULL;
COMMENT ON TABLE billing_checkouts IS 'Checkouts at the processor that activate billing with the card that they save';

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
COMMENT ON TABLE billing_events IS 'Inbox of the processor''s webhook; each event is stored once, even if it is delivered twice';
COMMENT ON COLUMN billing_events.outcome IS 'ignored: the event concerns no customer, or a customer of another installation';
COMMENT ON COLUMN billing_events.received_at IS 'By the database''s clock, like billing_accounts.synced_at';

CREATE TABLE billing_sweeps (
  processor   text NOT NULL,
  list        text NOT NULL CHECK (list IN ('events', 'invoices')),
  swept_until timestamptz NOT NULL,
  PRIMARY KEY (processor, list)
);
COMMENT ON TABLE billing_sweeps IS 'How far the processor''s own lists were read: events for the inbox, invoices for invoice_comparisons';

CREATE TABLE usage_reports (
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
CREATE INDEX usage_reports_open_idx ON usage_reports (organization_id, hour) WHERE status <> 'sent';
COMMENT ON TABLE usage_reports IS 'Usage reported to the processor per hour. Each row is inserted before its report is sent.';
COMMENT ON COLUMN usage_reports.at IS 'The time at which the processor counts the usage: the end of the hour, or the start of the first open billing period';
COMMENT ON COLUMN usage_reports.status IS 'pending: not sent yet, or the process died while sending; unknown: the processor never answered';

CREATE TABLE invoice_comparisons (
  invoice_id      text PRIMARY KEY,
  organization_id bigint NOT NULL REFERENCES organizations (id),
  created_at      timestamptz NOT NULL,
  is_final        boolean NOT NULL DEFAULT false,
  compared_at     timestamptz,
  difference      text
);
CREATE INDEX invoice_comparisons_open_idx ON invoice_comparisons (created_at) WHERE NOT is_final;
CREATE INDEX invoice_comparisons_differing_idx ON invoice_comparisons (compared_at) WHERE difference IS NOT NULL;
COMMENT ON TABLE invoice_comparisons IS 'Invoices to compare with the ledger: drafts repeatedly, a final invoice once';
COMMENT ON COLUMN invoice_comparisons.created_at IS 'When the processor created the invoice, which is soon after the end of its period';
COMMENT ON COLUMN invoice_comparisons.is_final IS 'The final invoice was compared, so that nothing is left to do';
COMMENT ON COLUMN invoice_comparisons.compared_at IS 'Time of the last comparison; null before the first';
COMMENT ON COLUMN invoice_comparisons.difference IS 'A sentence with all prices whose quantity or amount differs; null if ledger and invoice agree';
