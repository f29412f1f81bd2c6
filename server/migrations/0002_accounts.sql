CREATE TABLE users (
  id                      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  email                   text NOT NULL,
  email_verified_at       timestamptz,
  password_hash           text,
  name                    text NOT NULL CHECK (name <> ''),
  first_name              text,
  last_name               text,
  country                 text,
  contact_number          text,
  current_organization_id bigint NOT NULL REFERENCES organizations (id),
  profile_incomplete      boolean NOT NULL DEFAULT false,
  created_at              timestamptz NOT NULL DEFAULT now(),
  updated_at              timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX users_email_key ON users (lower(email));
COMMENT ON COLUMN users.email IS 'Stored as entered; compared case-insensitively';
COMMENT ON COLUMN users.email_verified_at IS 'When the user proved to receive email at this address; null while unverified';
COMMENT ON COLUMN users.password_hash IS 'argon2id in PHC string format; null for users who sign in only through SSO';
COMMENT ON COLUMN users.current_organization_id IS 'The organization that all of the user''s sessions act in';
COMMENT ON COLUMN users.profile_incomplete IS 'True for an account created through SSO until its owner has chosen a name and an organization';

ALTER TABLE memberships ADD FOREIGN KEY (user_id) REFERENCES users (id);

CREATE FUNCTION notify_viewer_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('session_revoked', OLD.id::text);
  RETURN NULL;
END
$$;
CREATE TRIGGER users_changed AFTER UPDATE ON users FOR EACH ROW
  WHEN ((OLD.email, OLD.name, OLD.current_organization_id, OLD.profile_incomplete)
    IS DISTINCT FROM (NEW.email, NEW.name, NEW.current_organization_id, NEW.profile_incomplete))
  EXECUTE FUNCTION notify_viewer_changed();

CREATE TABLE sessions (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  token_hash  bytea NOT NULL UNIQUE,
  user_id     bigint NOT NULL REFERENCES users (id),
  auth_method text NOT NULL,
  created_at  timestamptz NOT NULL,
  renewed_at  timestamptz NOT NULL,
  expires_at  timestamptz NOT NULL
);
CREATE INDEX sessions_user_idx ON sessions (user_id);
CREATE INDEX sessions_expiry_idx ON sessions (expires_at);
COMMENT ON TABLE sessions IS 'Active sessions. Revoking a session deletes its row.';
COMMENT ON COLUMN sessions.token_hash IS 'SHA-256 of the cookie''s 256-bit token; the token itself is not stored';
CREATE TRIGGER sessions_revoked AFTER DELETE ON sessions
  FOR EACH ROW EXECUTE FUNCTION notify_session_revoked();

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

CREATE TABLE rate_limits (
  key    varchar(255) PRIMARY KEY,
  points integer NOT NULL DEFAULT 0,
  expire bigint
);
COMMENT ON TABLE rate_limits IS 'Counters of failed sign-ins in fixed windows';
COMMENT ON COLUMN rate_limits.expire IS 'End of the window, in milliseconds since 1970';
