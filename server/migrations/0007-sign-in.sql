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
COMMENT ON TABLE password_resets IS 'Password reset links. Only the newest link of an account works, once, until it expires.';
COMMENT ON COLUMN password_resets.nonce IS 'The link''s token is derived from this nonce and the server''s secret key';
COMMENT ON COLUMN password_resets.token_hash IS 'SHA-256 of the link''s token; the token itself is not stored';
COMMENT ON COLUMN password_resets.closed_at IS 'When the link was used, or replaced by a newer link or a new password';

CREATE TABLE email_verifications (
  user_id    bigint PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
  nonce      text NOT NULL,
  token_hash bytea NOT NULL UNIQUE,
  expires_at timestamptz NOT NULL
);
COMMENT ON TABLE email_verifications IS 'Links that verify an email address. Only the newest link of an account works.';
COMMENT ON COLUMN email_verifications.nonce IS 'The link''s token is derived from this nonce and the server''s secret key';
COMMENT ON COLUMN email_verifications.token_hash IS 'SHA-256 of the link''s token; the token itself is not stored';
