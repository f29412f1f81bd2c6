import type { Deployment } from '../../../console/src/contract.ts'
import { CommandError } from '../base/errors.ts'
import { ApiError } from './client.ts'
import type { Client } from './client.ts'

type Scope = 'own' | 'organization' | 'callable'

const pageSize = 500

/** The parameters of a request below a deployment's id, which may be a colleague's. */
export const toInput = (id: string) =>
  ({ path: { deployment_id: id }, query: { scope: 'organization' } }) as const

/** The deployment's current state; undefined if it has ended. */
export async function findLive(client: Client, { id }: Deployment): Promise<Deployment | undefined> {
  try {
    const path = '/api/v1/model-deployments/{deployment_id}'
    const found = await client.call('GET', path, toInput(id))
    return ['failed', 'terminating', 'terminated'].includes(found.status) ? undefined : found
  } catch (error) {
    if (error instanceof ApiError && error.code === 'not_found') return undefined
    throw error
  }
}

const wholeId = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/

interface ListFilter {
  scope: Scope
  active: boolean
  /** Part of a name, or the start of an id */
  q?: string | undefined
}

/** Lists all deployments of a scope, newest first. */
export async function listDeployments(
  client: Client,
  filter: ListFilter,
  signal?: AbortSignal,
): Promise<Deployment[]> {
  const deployments: Deployment[] = []
  for (;;) {
    const query = { ...filter, limit: pageSize, offset: deployments.length }
    const { items } = await client.call('GET', '/api/v1/model-deployments', { query, signal })
    deployments.push(...items)
    if (items.length < pageSize) return deployments
  }
}

/** Finds a deployment by its id, an alias, the name of its model alone, or the unique beginning of its id. */
export async function findDeployment(client: Client, wanted: string): Promise<Deployment> {
  if (wholeId.test(wanted)) {
    return client.call('GET', '/api/v1/model-deployments/{deployment_id}', toInput(wanted))
  }
  // In this order: active ones before ended ones, then callable ones before those of colleagues.
  const scopes = [
    ['callable', true],
    ['organization', true],
    ['callable', false],
    ['organization', false],
  ] as const
  for (const [scope, active] of scopes) {
    const found = matchDeployments(await listDeployments(client, { scope, active, q: wanted }), wanted)
    if (found.length > 1) throw ambiguous(found, wanted)
    if (found.length === 1) return found[0]!
  }
  throw new CommandError(`There is no deployment ${wanted}. \`berth ls\` lists yours.`)
}

function matchDeployments(deployments: readonly Deployment[], wanted: string): Deployment[] {
  const named = deployments.filter(({ alias }) => alias === wanted)
  if (named.length > 0) return named
  const ofModel = deployments.filter(({ model_name: model }) => model === wanted)
  if (ofModel.length > 0) return ofModel
  return /^[\da-f-]+$/.test(wanted) ? deployments.filter(({ id }) => id.startsWith(wanted)) : []
}

function ambiguous(found: readonly Deployment[], wanted: string): CommandError {
  const ids = found.slice(0, 5).map(({ id }) => id)
  const more = found.length > ids.length ? `, and ${found.length - ids.length} more` : ''
  return new CommandError(`${found.length} deployments match ${wanted}: ${ids.join(', ')}${more}. Use an id.`)
}
