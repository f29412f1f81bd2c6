-- No foreign keys: a row outlives what it names, and writing one locks no other row.
CREATE TABLE audit_log (
  id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at              timestamptz NOT NULL DEFAULT clock_timestamp(),
  organization_id bigint,
  actor_user_id   bigint,
  actor_email     text,
  action          text NOT NULL,
  target_type     text,
  target_id       text,
  target_name     text,
  address         text,
  user_agent      text,
  result          text NOT NULL CHECK (result IN ('succeeded', 'refused')),
  details         jsonb NOT NULL
);
CREATE INDEX audit_log_organization_idx ON audit_log (organization_id, id);
CREATE INDEX audit_log_at_idx ON audit_log (at);
CREATE INDEX audit_log_refusals_idx ON audit_log (actor_user_id, at) WHERE result = 'refused';
COMMENT ON TABLE audit_log IS 'What people, operators and the server did, written in the transaction of each change';
COMMENT ON COLUMN audit_log.organization_id IS 'The organization whose admins may read the row; null for operators only';
COMMENT ON COLUMN audit_log.actor_user_id IS 'Null for visitors, operators and the server itself';

CREATE FUNCTION protect_audit_log() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    IF OLD.at < nullif(current_setting('berth.audit_log_expired_before', true), '')::timestamptz THEN
      RETURN OLD;
    END IF;
  END IF;
  RAISE EXCEPTION 'audit_log is append-only' USING ERRCODE = 'restrict_violation';
END
$$;
COMMENT ON FUNCTION protect_audit_log IS 'Only the retention job may delete rows. It names the end of the retention period in berth.audit_log_expired_before.';
CREATE TRIGGER audit_log_append_only BEFORE UPDATE OR DELETE ON audit_log
  FOR EACH ROW EXECUTE FUNCTION protect_audit_log();
CREATE TRIGGER audit_log_not_truncated BEFORE TRUNCATE ON audit_log
  FOR EACH STATEMENT EXECUTE FUNCTION protect_audit_log();
