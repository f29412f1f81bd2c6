ALTER TABLE mails ADD COLUMN attempt_at timestamptz NOT NULL DEFAULT now();
DROP INDEX mails_pending_idx;
CREATE INDEX mails_due_idx ON mails (attempt_at) WHERE status = 'pending';
COMMENT ON COLUMN mails.attempt_at IS 'A pending mail is not tried before then: it waits after a failed attempt, or one is under way';
COMMENT ON COLUMN mails.attempts IS 'Attempts begun; also tells an attempt under way from a later one that took over';
COMMENT ON COLUMN mails.last_error IS 'Why the latest attempt failed, in words that an administrator may see; no links';

CREATE TABLE password_resets (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  user_id    bigint NOT NULL REFERENCES users (id),
  nonce      text NOT NULL,
  token_hash bytea NOT NULL UNIQUE,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  closed_at  timestamptz
);
CREATE UNIQUE INDEX password_resets_open_key ON password_resets (user_id) WHERE closed_at IS NULL;
CREATE INDEX password_resets_user_idx ON password_resets (user_id, created_at);
COMMENT ON TABLE password_resets IS 'Links to set a new password; the newest of an account alone works, once, until it expires';
COMMENT ON COLUMN password_resets.nonce IS 'What the link''s token is derived from, with the server''s key';
COMMENT ON COLUMN password_resets.token_hash IS 'SHA-256 of the link''s token, which is stored nowhere';
COMMENT ON COLUMN password_resets.closed_at IS 'When it was used, or a newer one or a new password took its place';
