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
