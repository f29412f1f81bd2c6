CREATE TABLE users (
  id                      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  email                   text NOT NULL,
  email_verified_at       timestamptz,
  password_hash           text,
  allowed_networks        text[] CHECK (allowed_networks <> '{}'),
  may_name_members        boolean NOT NULL DEFAULT false,
  member_header           text,
  name                    text NOT NULL CHECK (name <> ''),
  first_name              text,
  last_name               text,
  country                 text,
  contact_number          text,
  current_organization_id bigint NOT NULL REFERENCES organizations (id),
  profile_incomplete      boolean NOT NULL DEFAULT false,
  last_active_at          timestamptz,
  operator_since          timestamptz,
  disabled_at             timestamptz,
  deleted_at              timestamptz,
  created_at              timestamptz NOT NULL DEFAULT now(),
  updated_at              timestamptz NOT NULL DEFAULT now(),
  CHECK (NOT may_name_members OR allowed_networks IS NOT NULL),
  CHECK (member_header IS NULL OR may_name_members),
  CHECK (operator_since IS NULL OR (disabled_at IS NULL AND deleted_at IS NULL AND allowed_networks IS NULL))
);
CREATE INDEX users_operators_idx ON users (id) WHERE operator_since IS NOT NULL;
CREATE UNIQUE INDEX users_email_key ON users (lower(email));
COMMENT ON COLUMN users.email IS 'Stored as entered; compared case-insensitively';
COMMENT ON COLUMN users.email_verified_at IS 'When the user proved to receive email at this address; null while unverified';
COMMENT ON COLUMN users.password_hash IS 'argon2id in PHC string format; null for users who sign in only through SSO';
COMMENT ON COLUMN users.allowed_networks IS 'Networks in CIDR notation from which a service member may sign in and work; null for a person';
COMMENT ON COLUMN users.may_name_members IS 'Whether inference requests of a service member may name the member they are for';
COMMENT ON COLUMN users.member_header IS 'The header, in lower case, that names the member besides X-Berth-Member; null for none';
COMMENT ON COLUMN users.current_organization_id IS 'The organization that all of the user''s sessions act in';
COMMENT ON COLUMN users.profile_incomplete IS 'True for an account created through SSO until its owner has chosen a name and an organization';
COMMENT ON COLUMN users.last_active_at IS 'The hour of the latest request; null before the first one';
COMMENT ON COLUMN users.operator_since IS 'When the person was allowed to see the whole installation; null for everybody else';
COMMENT ON COLUMN users.disabled_at IS 'When an operator disabled the account: it has no sessions and cannot sign in';
COMMENT ON COLUMN users.deleted_at IS 'When the person deleted the account. The row stays, without personal data, because deployments and invoices refer to it.';

ALTER TABLE memberships ADD FOREIGN KEY (user_id) REFERENCES users (id);

CREATE FUNCTION notify_viewer_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('session_revoked', OLD.id::text);
  RETURN NULL;
END
$$;
CREATE TRIGGER users_changed AFTER UPDATE ON users FOR EACH ROW
  WHEN ((OLD.email, OLD.current_organization_id, OLD.profile_incomplete, OLD.allowed_networks, OLD.disabled_at,
      OLD.may_name_members, OLD.member_header)
    IS DISTINCT FROM (NEW.email, NEW.current_organization_id, NEW.profile_incomplete, NEW.allowed_networks,
      NEW.disabled_at, NEW.may_name_members, NEW.member_header))
  EXECUTE FUNCTION notify_viewer_changed();

CREATE FUNCTION notify_viewer_renamed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('viewer_renamed', OLD.id::text);
  RETURN NULL;
END
$$;
CREATE TRIGGER users_renamed AFTER UPDATE ON users FOR EACH ROW
  WHEN (OLD.name IS DISTINCT FROM NEW.name)
  EXECUTE FUNCTION notify_viewer_renamed();
CREATE TRIGGER users_email_verified AFTER UPDATE OF email_verified_at ON users FOR EACH ROW
  WHEN (OLD.email_verified_at IS DISTINCT FROM NEW.email_verified_at)
  EXECUTE FUNCTION notify_viewer_changed();

CREATE TABLE known_networks (
  user_id      bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  network      text NOT NULL,
  last_seen_at timestamptz NOT NULL,
  PRIMARY KEY (user_id, network)
);
CREATE INDEX known_networks_expiry_idx ON known_networks (last_seen_at);
COMMENT ON TABLE known_networks IS 'Networks from which a user signed in. Failed sign-ins from elsewhere do not lock them out.';
COMMENT ON COLUMN known_networks.network IS 'An IPv4 address, or the first 64 bits of an IPv6 address';

CREATE TABLE rate_limits (
  key    varchar(255) PRIMARY KEY,
  points integer NOT NULL DEFAULT 0,
  expire bigint
);
COMMENT ON TABLE rate_limits IS 'Counters of attempts in fixed windows';
COMMENT ON COLUMN rate_limits.expire IS 'End of the window, in milliseconds since 1970';
