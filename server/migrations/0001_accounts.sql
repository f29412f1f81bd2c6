CREATE TABLE organizations (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name        text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 255),
  slug        text NOT NULL UNIQUE,
  description text,
  status      text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended', 'closed')),
  created_at  timestamptz NOT NULL DEFAULT now(),
  updated_at  timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE organizations IS 'Tenants: they own deployments and pay for them';
COMMENT ON COLUMN organizations.slug IS 'Readable and unique; never changes, so that links stay good';

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
COMMENT ON COLUMN users.email IS 'As its owner wrote it; compared without case';
COMMENT ON COLUMN users.email_verified_at IS 'When its owner proved to receive mail there; null for an address that was only claimed';
COMMENT ON COLUMN users.profile_incomplete IS 'An account from SSO that has yet to choose its name and organization';
COMMENT ON COLUMN users.password_hash IS 'argon2id in PHC form; null for who signs in through a provider only';
COMMENT ON COLUMN users.current_organization_id IS 'The membership that counts now, for all of the user''s sessions';

CREATE TABLE memberships (
  id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  user_id         bigint NOT NULL REFERENCES users (id),
  organization_id bigint NOT NULL REFERENCES organizations (id),
  role            text NOT NULL CHECK (role IN ('viewer', 'member', 'admin', 'super_admin')),
  joined_at       timestamptz NOT NULL DEFAULT now(),
  UNIQUE (user_id, organization_id)
);
CREATE INDEX memberships_organization_idx ON memberships (organization_id, joined_at);

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
COMMENT ON TABLE sessions IS 'Live sessions; revoking one deletes its row';
COMMENT ON COLUMN sessions.token_hash IS 'SHA-256 of the cookie''s 256-bit token, which is stored nowhere';

CREATE TABLE rate_limits (
  key    varchar(255) PRIMARY KEY,
  points integer NOT NULL DEFAULT 0,
  expire bigint
);
COMMENT ON TABLE rate_limits IS 'Counters of rate-limiter-flexible; expire is milliseconds since 1970';
