CREATE TABLE sessions (
  id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  token_hash   bytea NOT NULL UNIQUE,
  user_id      bigint NOT NULL REFERENCES users (id),
  auth_method  text NOT NULL,
  address      text,
  user_agent   text,
  last_seen_at timestamptz NOT NULL,
  created_at   timestamptz NOT NULL,
  renewed_at   timestamptz NOT NULL,
  expires_at   timestamptz NOT NULL,
  ends_at      timestamptz,
  script_name  text
);
CREATE INDEX sessions_user_idx ON sessions (user_id);
CREATE INDEX sessions_expiry_idx ON sessions (expires_at);
COMMENT ON TABLE sessions IS 'Active sessions. Revoking a session deletes its row.';
COMMENT ON COLUMN sessions.token_hash IS 'SHA-256 of the cookie''s 256-bit token; the token itself is not stored';
COMMENT ON COLUMN sessions.address IS 'IP address at the latest use, updated at most every ten minutes';
COMMENT ON COLUMN sessions.script_name IS 'The name of a session that a signed-in person created for a script; null for one that a sign-in started';
COMMENT ON COLUMN sessions.ends_at IS 'The identity provider''s limit: the session is not extended beyond it. null for 30 days after created_at';
CREATE TRIGGER sessions_revoked AFTER DELETE ON sessions
  FOR EACH ROW EXECUTE FUNCTION notify_session_revoked();
