CREATE TABLE teams (
  id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  organization_id bigint NOT NULL REFERENCES organizations (id),
  name            text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 100),
  created_at      timestamptz NOT NULL DEFAULT now(),
  UNIQUE (id, organization_id)
);
CREATE UNIQUE INDEX teams_name_key ON teams (organization_id, lower(name));
COMMENT ON TABLE teams IS 'Members of an organization with whom a deployment can be shared together';

CREATE TABLE team_members (
  team_id         bigint NOT NULL,
  user_id         bigint NOT NULL,
  organization_id bigint NOT NULL,
  by_group        boolean NOT NULL DEFAULT false,
  PRIMARY KEY (team_id, user_id),
  FOREIGN KEY (team_id, organization_id) REFERENCES teams (id, organization_id) ON DELETE CASCADE,
  FOREIGN KEY (user_id, organization_id) REFERENCES memberships (user_id, organization_id) ON DELETE CASCADE
);
CREATE INDEX team_members_user_idx ON team_members (user_id, organization_id);
COMMENT ON COLUMN team_members.by_group IS 'Whether a group of the identity provider with the name of the team made the person a member; it ends with the group';
-- What a session may call depends on the teams of its user.
CREATE TRIGGER team_members_changed AFTER INSERT OR UPDATE OR DELETE ON team_members
  FOR EACH ROW EXECUTE FUNCTION notify_session_revoked();

-- Takes a deleted team, or a former member, out of what deployments are shared with.
CREATE FUNCTION forget_sharee(organization bigint, list text, sharee bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  deployment record;
  rest jsonb;
BEGIN
  FOR deployment IN
    SELECT id, shared_with FROM deployments
    WHERE organization_id = organization AND shared_with -> list @> to_jsonb(ARRAY[sharee])
    ORDER BY id FOR NO KEY UPDATE
  LOOP
    rest := jsonb_set(deployment.shared_with, ARRAY[list], (
      SELECT coalesce(jsonb_agg(each), '[]') FROM jsonb_array_elements(deployment.shared_with -> list) AS each
      WHERE each <> to_jsonb(sharee)));
    UPDATE deployments SET shared_with = nullif(rest, '{"teams": [], "members": []}') WHERE id = deployment.id;
  END LOOP;
END
$$;
CREATE FUNCTION forget_team() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM forget_sharee(OLD.organization_id, 'teams', OLD.id);
  RETURN NULL;
END
$$;
CREATE TRIGGER teams_deleted AFTER DELETE ON teams FOR EACH ROW EXECUTE FUNCTION forget_team();
CREATE FUNCTION forget_member() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM forget_sharee(OLD.organization_id, 'members', OLD.user_id);
  RETURN NULL;
END
$$;
CREATE TRIGGER memberships_forgotten AFTER DELETE ON memberships FOR EACH ROW EXECUTE FUNCTION forget_member();
