-- What processes keep in memory of sessions and deployments is given up when its rows change, whoever changes them. The payload
-- is the id of the user that it is about; an empty one means everybody.

CREATE FUNCTION notify_session_revoked() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('session_revoked', coalesce(OLD.user_id, NEW.user_id)::text);
  RETURN NULL;
END
$$;
CREATE TRIGGER sessions_revoked AFTER DELETE ON sessions
  FOR EACH ROW EXECUTE FUNCTION notify_session_revoked();
CREATE TRIGGER memberships_revoked AFTER INSERT OR UPDATE OR DELETE ON memberships
  FOR EACH ROW EXECUTE FUNCTION notify_session_revoked();

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

CREATE FUNCTION notify_organization_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('session_revoked', '');
  RETURN NULL;
END
$$;
CREATE TRIGGER organizations_changed AFTER UPDATE ON organizations FOR EACH ROW
  WHEN ((OLD.name, OLD.status) IS DISTINCT FROM (NEW.name, NEW.status))
  EXECUTE FUNCTION notify_organization_changed();

CREATE FUNCTION notify_deployment_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('deployment_changed', coalesce(OLD.user_id, NEW.user_id)::text);
  RETURN NULL;
END
$$;
CREATE TRIGGER deployments_created AFTER INSERT OR DELETE ON deployments
  FOR EACH ROW EXECUTE FUNCTION notify_deployment_changed();
CREATE TRIGGER deployments_changed AFTER UPDATE ON deployments FOR EACH ROW
  WHEN ((OLD.status, OLD.engine_url, OLD.failure_reason, OLD.model_name)
    IS DISTINCT FROM (NEW.status, NEW.engine_url, NEW.failure_reason, NEW.model_name))
  EXECUTE FUNCTION notify_deployment_changed();
