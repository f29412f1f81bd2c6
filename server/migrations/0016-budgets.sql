CREATE TABLE budgets (
  id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  organization_id bigint NOT NULL REFERENCES organizations (id),
  scope           text NOT NULL CHECK (scope IN ('organization', 'team', 'member', 'deployment')),
  user_id         bigint,
  deployment_id   uuid REFERENCES deployments (id) ON DELETE CASCADE,
  monthly_limit   numeric(18, 6) NOT NULL CHECK (monthly_limit > 0),
  at_limit        text NOT NULL CHECK (at_limit IN ('notify', 'block', 'sleep')),
  exhausted_until timestamptz,
  created_at      timestamptz NOT NULL,
  updated_at      timestamptz NOT NULL,
  FOREIGN KEY (user_id, organization_id) REFERENCES memberships (user_id, organization_id) ON DELETE CASCADE,
  CHECK ((scope = 'member') = (user_id IS NOT NULL)),
  CHECK (exhausted_until IS NULL OR (scope IN ('team', 'member') AND at_limit <> 'notify')),
  CHECK ((scope = 'deployment') = (deployment_id IS NOT NULL))
);
CREATE UNIQUE INDEX budgets_organization_idx ON budgets (organization_id) WHERE scope = 'organization';
CREATE UNIQUE INDEX budgets_member_idx ON budgets (organization_id, user_id) WHERE scope = 'member';
CREATE UNIQUE INDEX budgets_deployment_idx ON budgets (deployment_id) WHERE scope = 'deployment';
COMMENT ON TABLE budgets IS 'Limits of what an organization, a team, a member or a deployment may cost in a billing period';
COMMENT ON COLUMN budgets.user_id IS 'The member whose deployments and requests count. The budget ends with the membership.';
COMMENT ON COLUMN budgets.exhausted_until IS 'The end of the period in which the member, or those whose usage the team has, may call no deployments of others; null if they may';
COMMENT ON COLUMN budgets.monthly_limit IS 'In the main unit of the account''s currency, for one billing period';
COMMENT ON COLUMN budgets.at_limit IS 'notify: emails only; block: deployments don''t start either; sleep: those that run are put to sleep as well';

-- What a session may do depends on it.
CREATE TRIGGER budgets_exhausted AFTER UPDATE OR DELETE ON budgets
  FOR EACH ROW WHEN (OLD.scope = 'member') EXECUTE FUNCTION notify_session_revoked();

CREATE TABLE budget_alerts (
  id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  budget_id     bigint NOT NULL REFERENCES budgets (id) ON DELETE CASCADE,
  period_start  timestamptz NOT NULL,
  period_end    timestamptz NOT NULL,
  percent       integer NOT NULL,
  spent         numeric NOT NULL,
  monthly_limit numeric(18, 6) NOT NULL,
  at            timestamptz NOT NULL,
  UNIQUE (budget_id, period_start, percent)
);
COMMENT ON TABLE budget_alerts IS 'The percentages of a budget that were reached. The transaction that inserts a row queues its emails.';
COMMENT ON COLUMN budget_alerts.spent IS 'What was spent when the alert was found';
COMMENT ON COLUMN budget_alerts.monthly_limit IS 'The limit at that time';
