CREATE TABLE organizations (
  id                     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name                   text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 255),
  slug                   text NOT NULL UNIQUE,
  description            text,
  status                 text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended', 'closed')),
  suspended_at           timestamptz,
  requires_second_factor boolean NOT NULL DEFAULT false,
  created_at             timestamptz NOT NULL DEFAULT now(),
  updated_at             timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE organizations IS 'Tenants. An organization owns deployments and pays for them.';
COMMENT ON COLUMN organizations.slug IS 'Readable, unique and never changed, so links stay valid';
COMMENT ON COLUMN organizations.suspended_at IS 'When an operator suspended the organization; null while it is active. The job that ends its deployments belongs to one suspension.';
COMMENT ON COLUMN organizations.requires_second_factor IS 'Whether members who sign in with a password need a second factor to work in the organization';

-- The foreign key to users is added with the table users.
CREATE TABLE memberships (
  id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  user_id         bigint NOT NULL,
  organization_id bigint NOT NULL REFERENCES organizations (id),
  role            text NOT NULL CHECK (role IN ('viewer', 'member', 'admin', 'super_admin')),
  joined_at       timestamptz NOT NULL DEFAULT now(),
  UNIQUE (user_id, organization_id)
);
CREATE INDEX memberships_organization_idx ON memberships (organization_id, joined_at);

CREATE TABLE organization_domains (
  domain          text PRIMARY KEY CHECK (domain = lower(domain)),
  organization_id bigint NOT NULL REFERENCES organizations (id),
  role            text CHECK (role IN ('viewer', 'member', 'admin'))
);
CREATE INDEX organization_domains_organization_idx ON organization_domains (organization_id);
COMMENT ON TABLE organization_domains IS 'The organizations that people with a proven address of a domain may join';
COMMENT ON COLUMN organization_domains.role IS 'Of those who join; null for a domain of ORGANIZATION_DOMAINS, which has the role and lets nobody join without it';

CREATE TABLE domain_exclusions (
  organization_id bigint NOT NULL REFERENCES organizations (id),
  email_hash      bytea NOT NULL,
  PRIMARY KEY (organization_id, email_hash)
);
COMMENT ON TABLE domain_exclusions IS 'Whom an admin removed from an organization: their address alone doesn''t bring them back';
COMMENT ON COLUMN domain_exclusions.email_hash IS 'SHA-256 of the lowercase address';

-- Server processes cache sessions. The triggers on sessions, users, memberships and organizations invalidate
-- these caches through the channel session_revoked, or through viewer_renamed if nobody has other rights. The
-- payload is a user id; an empty payload of session_revoked invalidates every session.
CREATE FUNCTION notify_session_revoked() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('session_revoked', coalesce(OLD.user_id, NEW.user_id)::text);
  RETURN NULL;
END
$$;
CREATE TRIGGER memberships_revoked AFTER INSERT OR UPDATE OR DELETE ON memberships
  FOR EACH ROW EXECUTE FUNCTION notify_session_revoked();

CREATE FUNCTION notify_organization_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('session_revoked', user_id::text) FROM memberships WHERE organization_id = NEW.id;
  RETURN NULL;
END
$$;
CREATE TRIGGER organizations_changed AFTER UPDATE ON organizations FOR EACH ROW
  WHEN ((OLD.status, OLD.requires_second_factor) IS DISTINCT FROM (NEW.status, NEW.requires_second_factor))
  EXECUTE FUNCTION notify_organization_changed();

CREATE FUNCTION notify_organization_renamed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('viewer_renamed', user_id::text) FROM memberships WHERE organization_id = NEW.id;
  RETURN NULL;
END
$$;
CREATE TRIGGER organizations_renamed AFTER UPDATE ON organizations FOR EACH ROW
  WHEN (OLD.name IS DISTINCT FROM NEW.name)
  EXECUTE FUNCTION notify_organization_renamed();
