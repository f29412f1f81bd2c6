CREATE TABLE service_passwords (
  user_id    bigint NOT NULL REFERENCES users (id),
  digest     bytea NOT NULL,
  created_at timestamptz NOT NULL,
  ends_at    timestamptz,
  PRIMARY KEY (user_id, digest)
);
CREATE UNIQUE INDEX service_passwords_current_idx ON service_passwords (user_id) WHERE ends_at IS NULL;
COMMENT ON TABLE service_passwords IS 'Passwords of service members. The server generates them, with 256 random bits.';
COMMENT ON COLUMN service_passwords.digest IS 'SHA-256 of the password, which is too random to guess';
COMMENT ON COLUMN service_passwords.ends_at IS 'When a replaced password stops working; null for the current one';
-- Sessions that a replaced password started end with it.
CREATE TRIGGER service_passwords_changed AFTER INSERT OR UPDATE OR DELETE ON service_passwords
  FOR EACH ROW EXECUTE FUNCTION notify_session_revoked();
