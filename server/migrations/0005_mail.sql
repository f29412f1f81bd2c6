CREATE TABLE mails (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind        text NOT NULL CHECK (kind IN ('invitation', 'password_reset', 'password_changed')),
  subject_id  bigint NOT NULL,
  recipient   text NOT NULL,
  message_id  text NOT NULL UNIQUE,
  status      text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'sent', 'failed', 'superseded')),
  attempts    integer NOT NULL DEFAULT 0,
  last_error  text,
  created_at  timestamptz NOT NULL,
  sent_at     timestamptz
);
CREATE INDEX mails_subject_idx ON mails (kind, subject_id);
CREATE INDEX mails_pending_idx ON mails (created_at) WHERE status = 'pending';
COMMENT ON TABLE mails IS 'Outbox: a row is written in the transaction that causes the mail, a job sends it';
COMMENT ON COLUMN mails.subject_id IS 'What it is about: an invitation, a password reset or a user, by kind; its text is composed when it is sent, so no link is stored';
COMMENT ON COLUMN mails.message_id IS 'The same at every attempt, so that a mail delivered twice can be told to be one';
