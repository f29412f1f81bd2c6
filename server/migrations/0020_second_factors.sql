CREATE TABLE totp_factors (
  user_id        bigint PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
  secret         bytea NOT NULL,
  created_at     timestamptz NOT NULL,
  confirmed_at   timestamptz,
  last_used_step integer NOT NULL DEFAULT 0
);
COMMENT ON TABLE totp_factors IS 'Authenticator apps (RFC 6238), at most one per user';
COMMENT ON COLUMN totp_factors.secret IS 'Encrypted with AES-256-GCM under a key derived from the SECRET_KEY: nonce, tag, ciphertext';
COMMENT ON COLUMN totp_factors.confirmed_at IS 'When the user entered the first code; null while the set-up is unfinished and no sign-in asks for a code';
COMMENT ON COLUMN totp_factors.last_used_step IS 'Time step of the newest accepted code, in units of 30 seconds since 1970. Codes up to this step are refused.';
CREATE TRIGGER totp_factors_changed AFTER INSERT OR UPDATE OF confirmed_at OR DELETE ON totp_factors
  FOR EACH ROW EXECUTE FUNCTION notify_session_revoked();

CREATE TABLE recovery_codes (
  user_id   bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  code_hash bytea NOT NULL,
  PRIMARY KEY (user_id, code_hash)
);
COMMENT ON TABLE recovery_codes IS 'Unused recovery codes. Each replaces a second factor once; its use deletes the row.';
COMMENT ON COLUMN recovery_codes.code_hash IS 'SHA-256 of a code of 118 random bits; the code itself is not stored';

ALTER TABLE organizations ADD COLUMN requires_second_factor boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN organizations.requires_second_factor IS 'Whether members who sign in with a password need a second factor to work in the organization';
DROP TRIGGER organizations_changed ON organizations;
CREATE TRIGGER organizations_changed AFTER UPDATE ON organizations FOR EACH ROW
  WHEN ((OLD.name, OLD.status, OLD.requires_second_factor)
    IS DISTINCT FROM (NEW.name, NEW.status, NEW.requires_second_factor))
  EXECUTE FUNCTION notify_organization_changed();
