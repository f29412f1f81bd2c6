CREATE TABLE email_verifications (
  user_id    bigint PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
  nonce      text NOT NULL,
  token_hash bytea NOT NULL UNIQUE,
  expires_at timestamptz NOT NULL
);
COMMENT ON TABLE email_verifications IS 'Links that prove an email address. Only the newest link of an account works.';
COMMENT ON COLUMN email_verifications.nonce IS 'The link''s token is derived from this nonce and the server''s secret key';
COMMENT ON COLUMN email_verifications.token_hash IS 'SHA-256 of the link''s token; the token itself is not stored';

CREATE TRIGGER users_email_verified AFTER UPDATE OF email_verified_at ON users FOR EACH ROW
  WHEN (OLD.email_verified_at IS DISTINCT FROM NEW.email_verified_at)
  EXECUTE FUNCTION notify_viewer_changed();

-- The type MailKind lists the kinds.
ALTER TABLE mails DROP CONSTRAINT IF EXISTS mails_kind_check;

CREATE TABLE known_networks (
  user_id      bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  network      text NOT NULL,
  last_seen_at timestamptz NOT NULL,
  PRIMARY KEY (user_id, network)
);
CREATE INDEX known_networks_expiry_idx ON known_networks (last_seen_at);
COMMENT ON TABLE known_networks IS 'Networks from which a user signed in. Failed sign-ins from elsewhere do not lock them out.';
COMMENT ON COLUMN known_networks.network IS 'An IPv4 address, or the first 64 bits of an IPv6 address';

ALTER TABLE sessions ADD COLUMN ends_at timestamptz;
COMMENT ON COLUMN sessions.ends_at IS 'The identity provider''s limit: the session is not extended beyond it. null for 30 days after created_at';

ALTER TABLE billing_accounts ADD COLUMN trial_exhausted_at timestamptz;
COMMENT ON COLUMN billing_accounts.trial_exhausted_at IS 'When the trial''s credit was found used up while deployments were active; they end after a grace period';

COMMENT ON TABLE rate_limits IS 'Counters of attempts in fixed windows';
