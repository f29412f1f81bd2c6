CREATE TABLE passkeys (
  id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  user_id       bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  credential_id text NOT NULL UNIQUE,
  public_key    bytea NOT NULL,
  sign_count    bigint NOT NULL,
  transports    text[] NOT NULL,
  name          text NOT NULL,
  created_at    timestamptz NOT NULL,
  last_used_at  timestamptz
);
CREATE INDEX passkeys_user_idx ON passkeys (user_id, id);
COMMENT ON TABLE passkeys IS 'WebAuthn credentials that serve as a second factor';
COMMENT ON COLUMN passkeys.credential_id IS 'In base64url';
COMMENT ON COLUMN passkeys.sign_count IS 'The authenticator''s counter at its latest use; 0 for authenticators without one';
CREATE TRIGGER passkeys_changed AFTER INSERT OR DELETE ON passkeys
  FOR EACH ROW EXECUTE FUNCTION notify_session_revoked();

CREATE TABLE passkey_challenges (
  challenge_hash bytea PRIMARY KEY,
  user_id        bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  purpose        text NOT NULL CHECK (purpose IN ('registration', 'sign_in')),
  expires_at     timestamptz NOT NULL
);
CREATE INDEX passkey_challenges_expiry_idx ON passkey_challenges (expires_at);
COMMENT ON TABLE passkey_challenges IS 'Challenges that wait for an authenticator''s signature. Each works once, for one user; its use deletes the row.';
COMMENT ON COLUMN passkey_challenges.challenge_hash IS 'SHA-256 of the challenge in base64url';
