import { sql } from 'kysely'

/**
 * The team that has the usage of a deployment's owner; null for none. It is the oldest of theirs with which
 * the deployment is shared, or else their oldest. The statement has `deployments`.
 */
export const ownerTeam = sql<
  number | null
>`usage_team(deployments.organization_id, deployments.user_id, deployments.shared_with)`
