ALTER TABLE invitations
  DROP CONSTRAINT invitations_status_check,
  ADD CONSTRAINT invitations_status_check CHECK (status IN ('pending', 'accepted', 'rejected', 'cancelled'));

-- A transfer changes the owner: both users' inference targets change, and their totals.
CREATE FUNCTION transfer_deployment() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('deployment_changed', OLD.user_id::text), pg_notify('deployment_changed', NEW.user_id::text);
  UPDATE deployment_counts SET total = total - 1 WHERE user_id = OLD.user_id;
  INSERT INTO deployment_counts AS counts (user_id, total) VALUES (NEW.user_id, 1)
  ON CONFLICT (user_id) DO UPDATE SET total = counts.total + 1;
  RETURN NULL;
END
$$;
CREATE TRIGGER deployments_transferred AFTER UPDATE ON deployments FOR EACH ROW
  WHEN (OLD.user_id <> NEW.user_id) EXECUTE FUNCTION transfer_deployment();

ALTER TABLE sessions
  ADD COLUMN address text,
  ADD COLUMN user_agent text,
  ADD COLUMN last_seen_at timestamptz;
COMMENT ON COLUMN sessions.address IS 'IP address at the latest use, updated at most every ten minutes';

ALTER TABLE users
  ADD COLUMN disabled_at timestamptz,
  ADD COLUMN deleted_at timestamptz;
COMMENT ON COLUMN users.disabled_at IS 'When an operator disabled the account: it has no sessions and cannot sign in';
COMMENT ON COLUMN users.deleted_at IS 'When the person deleted the account. The row stays, without personal data, because deployments and invoices refer to it.';
