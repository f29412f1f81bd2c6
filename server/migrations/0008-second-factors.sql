CREATE TABLE totp_factors (
  user_id        bigint PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
  secret         bytea NOT NULL,
  created_at     timestamptz NOT NULL,
  verified_at   timestamptz,
  last_used_step integer NOT NULL DEFAULT 0
);
COMMENT ON TABLE totp_factors IS 'Authenticator apps (RFC 6238), at most one per user';
COMMENT ON COLUMN totp_factors.secret IS 'Encrypted with AES-256-GCM under a key derived from the SECRET_KEY: nonce, tag, ciphertext';
COMMENT ON COLUMN totp_factors.verified_at IS 'When the user entered the first code; null while the setup is unfinished and no sign-in asks for a code';
COMMENT ON COLUMN totp_factors.last_used_step IS 'Time step of the newest accepted code, in units of 30 seconds since 1970. Codes up to this step are refused.';
CREATE TRIGGER totp_factors_changed AFTER INSERT OR UPDATE OF verified_at OR DELETE ON totp_factors
  FOR EACH ROW EXECUTE FUNCTION notify_session_revoked();

CREATE TABLE recovery_codes (
  user_id   bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  code_hash bytea NOT NULL,
  PRIMARY KEY (user_id, code_hash)
);
COMMENT ON TABLE recovery_codes IS 'Unused recovery codes. Each replaces a second factor once; its use deletes the row.';
COMMENT ON COLUMN recovery_codes.code_hash IS 'SHA-256 of a code of 118 random bits; the code itself is not stored';

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
  purpose        text NOT NULL CHECK (purpose IN ('registration', 'sign_in', 'reauthentication')),
  session_id     bigint REFERENCES sessions (id) ON DELETE CASCADE,
  expires_at     timestamptz NOT NULL,
  CHECK ((purpose = 'reauthentication') = (session_id IS NOT NULL))
);
CREATE INDEX passkey_challenges_session_idx ON passkey_challenges (session_id);
CREATE INDEX passkey_challenges_expiry_idx ON passkey_challenges (expires_at);
COMMENT ON TABLE passkey_challenges IS 'Challenges that wait for an authenticator''s signature. Each works once, for one user; its use deletes the row.';
COMMENT ON COLUMN passkey_challenges.session_id IS 'The only session whose actions the signature confirms';
COMMENT ON COLUMN passkey_challenges.challenge_hash IS 'SHA-256 of the challenge in base64url';
