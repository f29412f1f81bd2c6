-- The team that has a person's usage of a deployment: the oldest of theirs with which it is shared, or else
-- their oldest.
CREATE FUNCTION usage_team(organization bigint, person bigint, shared jsonb) RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT team_id FROM team_members WHERE organization_id = organization AND user_id = person
  ORDER BY coalesce(shared -> 'teams' @> to_jsonb(team_id), false) DESC, team_id LIMIT 1
$$;

ALTER TABLE budgets
  ADD COLUMN team_id bigint,
  ADD FOREIGN KEY (team_id, organization_id) REFERENCES teams (id, organization_id) ON DELETE CASCADE,
  ADD CHECK ((scope = 'team') = (team_id IS NOT NULL));
CREATE UNIQUE INDEX budgets_team_idx ON budgets (team_id) WHERE scope = 'team';
COMMENT ON COLUMN budgets.team_id IS 'The team whose usage counts. The budget ends with the team.';

-- What the sessions of the team's members may do depends on it.
CREATE FUNCTION notify_team_budget_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('session_revoked', user_id::text) FROM team_members WHERE team_id = OLD.team_id;
  RETURN NULL;
END
$$;
CREATE TRIGGER budgets_team_exhausted AFTER UPDATE OR DELETE ON budgets
  FOR EACH ROW WHEN (OLD.scope = 'team') EXECUTE FUNCTION notify_team_budget_changed();
