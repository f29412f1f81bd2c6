-- A change of an organization invalidates the cached sessions of its members only.
CREATE OR REPLACE FUNCTION notify_organization_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('session_revoked', user_id::text) FROM memberships WHERE organization_id = NEW.id;
  RETURN NULL;
END
$$;
