import type {
  Budget,
  DeployableModel,
  Deployment,
  Member,
  Organization,
  Team,
} from '../../../console/src/contract.ts'
import { ApiError } from '../api/client.ts'
import type { Client } from '../api/client.ts'
import { listDeployments } from '../api/find-deployment.ts'
import { listCatalog } from '../api/list-catalog.ts'

/** What the server has. */
export interface ServerState {
  organization: Organization
  /** Those of the organization that the person sees and that have not ended, newest first */
  deployments: Deployment[]
  /** Ids of the person's own ones */
  own: ReadonlySet<string>
  catalog: DeployableModel[]
  teams: Team[]
  members: Member[]
  budgets: Budget[]
}

/** Reads what the person may see of the organization. */
export async function readServerState(client: Client): Promise<ServerState> {
  const [organization, own, others, catalog, teams, members, budgets] = await Promise.all([
    client.call('GET', '/v1/organization'),
    listDeployments(client, { scope: 'own', active: true }),
    listDeployments(client, { scope: 'organization', active: true }),
    listCatalog(client, { disabled: true }),
    client.call('GET', '/v1/organization/teams'),
    client.call('GET', '/v1/organization/members'),
    listBudgets(client),
  ])
  const visible = new Map([...others, ...own].map((deployment) => [deployment.id, deployment]))
  const deployments = [...visible.values()].filter(
    ({ organization_id: id, status }) => id === String(organization.id) && status !== 'terminating',
  )
  return {
    organization,
    deployments: deployments.toSorted((one, other) => other.created_at.localeCompare(one.created_at)),
    own: new Set(own.map(({ id }) => id)),
    catalog,
    teams,
    members,
    budgets,
  }
}

/** All budgets, or for members those that limit them. */
function listBudgets(client: Client): Promise<Budget[]> {
  return client.call('GET', '/v1/billing/budgets').catch((error: unknown) => {
    if (error instanceof ApiError && error.code === 'forbidden')
      return client.call('GET', '/v1/billing/own-budgets')
    throw error
  })
}

/** The model of the catalog with this name or id, in any case. */
export function findModel({ catalog }: ServerState, wanted: string): DeployableModel | undefined {
  const lower = wanted.toLowerCase()
  return (
    catalog.find(({ model_name: name }) => name.toLowerCase() === lower) ??
    catalog.find(({ id }) => id.toLowerCase() === lower)
  )
}

/** The team with this name, in any case. */
export function findTeam({ teams }: Pick<ServerState, 'teams'>, wanted: string): Team | undefined {
  return teams.find(({ name }) => name.toLowerCase() === wanted.toLowerCase())
}

/** The member with this email, in any case. */
export function findMember({ members }: Pick<ServerState, 'members'>, wanted: string): Member | undefined {
  return members.find(({ email }) => email.toLowerCase() === wanted.toLowerCase())
}
