CREATE TABLE mails (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind        text NOT NULL,
  subject_id  bigint NOT NULL,
  recipient   text NOT NULL,
  message_id  text NOT NULL UNIQUE,
  status      text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'sent', 'failed', 'superseded')),
  attempts    integer NOT NULL DEFAULT 0,
  last_error  text,
  created_at  timestamptz NOT NULL,
  sent_at     timestamptz,
  attempt_at  timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX mails_subject_idx ON mails (kind, subject_id);
CREATE INDEX mails_due_idx ON mails (attempt_at) WHERE status = 'pending';
COMMENT ON TABLE mails IS 'Outbox. The transaction that causes an email inserts its row; a job sends the email.';
COMMENT ON COLUMN mails.kind IS 'The type MailKind lists the kinds';
COMMENT ON COLUMN mails.subject_id IS 'Id of an invitation, a password reset or a user, by kind. The text is composed when the email is sent, so no link is stored.';
COMMENT ON COLUMN mails.message_id IS 'The same for every attempt, so that mail clients recognize a duplicate';
COMMENT ON COLUMN mails.attempts IS 'Attempts started. Also identifies an attempt: a write by an older attempt is refused.';
COMMENT ON COLUMN mails.attempt_at IS 'A pending email is not tried before this time: it waits for a retry, or an attempt is in progress';
COMMENT ON COLUMN mails.last_error IS 'Why the last attempt failed, worded for administrators, without links';

CREATE TABLE webhooks (
  organization_id bigint PRIMARY KEY REFERENCES organizations (id),
  url             text NOT NULL,
  secret_nonce    text NOT NULL,
  created_at      timestamptz NOT NULL,
  updated_at      timestamptz NOT NULL
);
COMMENT ON TABLE webhooks IS 'Where an organization gets its alerts';
COMMENT ON COLUMN webhooks.secret_nonce IS 'The signing secret is derived from it and the SECRET_KEY, so the database alone does not reveal it. A new nonce is a new secret.';

CREATE TABLE webhook_messages (
  id              text PRIMARY KEY,
  organization_id bigint NOT NULL REFERENCES organizations (id),
  destination     text NOT NULL CHECK (destination IN ('operator', 'organization')),
  type            text NOT NULL,
  body            text NOT NULL,
  status          text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'delivered', 'failed')),
  attempts        integer NOT NULL DEFAULT 0,
  last_error      text,
  created_at      timestamptz NOT NULL,
  finished_at     timestamptz,
  CHECK ((status = 'pending') = (finished_at IS NULL))
);
CREATE INDEX webhook_messages_latest_idx ON webhook_messages (organization_id, created_at) WHERE destination = 'organization';
CREATE INDEX webhook_messages_pending_idx ON webhook_messages (organization_id, destination, created_at, id) WHERE status = 'pending';
CREATE INDEX webhook_messages_created_idx ON webhook_messages (created_at);
COMMENT ON TABLE webhook_messages IS 'Outbox of alerts. The transaction that causes an alert inserts its rows; a job delivers them. Deleted after 30 days, pending ones also if there are too many.';
COMMENT ON COLUMN webhook_messages.id IS 'The header webhook-id: the same in each attempt, so that receivers recognize a duplicate';
COMMENT ON COLUMN webhook_messages.body IS 'The exact text that is signed';
