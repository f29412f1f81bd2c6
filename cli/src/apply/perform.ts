import { setTimeout as delay } from 'node:timers/promises'
import type { Deployment, Team } from '../../../console/src/contract.ts'
import { ApiError } from '../api/client.ts'
import type { Client } from '../api/client.ts'
import { findLive, toInput } from '../api/find-deployment.ts'
import { findLoras } from '../api/find-loras.ts'
import { CommandError } from '../base/errors.ts'
import { compareSettings, toPresentSettings, toWantedSettings } from './deployment-settings.ts'
import type { WantedDeployment } from './file-schema.ts'
import { isLive, nameInFile } from './match-deployments.ts'
import type { BudgetScope, Step } from './plan.ts'
import { findMember, findTeam } from './server-state.ts'
import type { ServerState } from './server-state.ts'

/** What steps need besides the plan. */
export interface Work {
  client: Client
  /** The name of the file, which marks what it makes */
  manager: string
  /** What the server had; teams and deployments that steps make are added */
  state: ServerState
  /** Called before the deployments that a new one replaces end; null not to wait */
  waitUntilRunning: ((deployment: Deployment) => Promise<unknown>) | null
}

const deploymentPath = '/api/v1/model-deployments/{deployment_id}'
/** A minute */
const mostAttempts = 60
const pause = 1_000
const memberPath = '/v1/organization/teams/{team_id}/members/{user_id}'

/** Does a step. A step that was interrupted is done by the plan of the next run. */
export async function performStep(work: Work, step: Step): Promise<void> {
  switch (step.kind) {
    case 'model':
      return step.action === 'add' ? addModel(work, step) : removeModel(work, step.id)
    case 'team':
      return step.action === 'remove' ? removeTeam(work, step.id) : setTeam(work, step)
    case 'deployment':
      return performDeployment(work, step)
    case 'budget':
      return performBudget(work, step)
  }
}

async function addModel(
  { client, manager }: Work,
  { name, repository, revision, base }: Extract<Step, { kind: 'model'; action: 'add' }>,
): Promise<void> {
  const body = {
    huggingface: repository,
    revision,
    base_model: base,
    model_name: name,
    managed_by: manager,
  }
  await client.create('/api/v1/deployable-models', { body }, async ({ model_type, id }) => {
    const query = { model_type }
    const { items } = await client.call('GET', '/api/v1/deployable-models', { query })
    return items.find((each) => each.id === id)
  })
}

/** Removes a model, as soon as the deployments that use it have ended. */
async function removeModel({ client }: Work, id: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await client.call('DELETE', '/api/v1/deployable-models/{model_id}', { path: { model_id: id } })
      return
    } catch (error) {
      const mayPass = error instanceof ApiError && error.code === 'model_in_use' && attempt < mostAttempts
      if (!mayPass || !(await areEnding(client, error))) throw error
      await delay(pause)
    }
  }
}

async function areEnding(client: Client, { facts }: ApiError): Promise<boolean> {
  const ids = facts.deployment_ids ?? []
  const found = await Promise.all(ids.map((id) => client.call('GET', deploymentPath, toInput(id))))
  return found.every(({ status }) => ['terminating', 'terminated'].includes(status))
}

async function setTeam(
  { client, manager, state }: Work,
  { id, name, join, leave }: Extract<Step, { kind: 'team'; action: 'add' | 'change' }>,
): Promise<void> {
  const team_id = id ?? (await createTeam({ client, manager, state }, name)).id
  for (const user_id of join) await client.call('PUT', memberPath, { path: { team_id, user_id } })
  for (const user_id of leave) await client.call('DELETE', memberPath, { path: { team_id, user_id } })
}

async function createTeam(
  { client, manager, state }: Pick<Work, 'client' | 'manager' | 'state'>,
  name: string,
): Promise<Team> {
  const path = '/v1/organization/teams'
  const body = { name, managed_by: manager }
  const team = await client.create(path, { body }, async ({ id }) =>
    (await client.call('GET', path)).find((each) => each.id === id),
  )
  state.teams.push(team)
  return team
}

async function removeTeam({ client }: Work, id: number): Promise<void> {
  await client.call('DELETE', '/v1/organization/teams/{team_id}', { path: { team_id: id } })
}

async function performDeployment(work: Work, step: Extract<Step, { kind: 'deployment' }>): Promise<void> {
  const { client } = work
  if (step.action === 'remove') return terminate(client, step.present)
  if (step.action === 'change') return void (await setUp(work, step.present, step.wanted))
  // A run that is interrupted before the old one ends leaves it to the next.
  for (const each of step.old) {
    if (each.managed_by === work.manager || !isLive(each)) continue
    const body = { managed_by: work.manager, managed_name: step.name }
    await client.call('PATCH', deploymentPath, { ...toInput(each.id), body })
  }
  const made = await createDeployment(work, step)
  work.state.deployments.unshift(made)
  const deployment = await setUp(work, made, step.wanted)
  if (step.old.length > 0) await work.waitUntilRunning?.(deployment)
  for (const old of step.old) await terminate(client, old)
}

function createDeployment(
  { client, manager }: Work,
  { name, wanted, old }: { name: string; wanted: WantedDeployment; old: readonly Deployment[] },
): Promise<Deployment> {
  const body = {
    ...toPlanRequest(wanted),
    alias: wanted.alias,
    managed_by: manager,
    managed_name: name,
  }
  return client.create('/api/v1/model-deployments', { body }, async (made) =>
    old.some(({ id }) => id === made.id) ? undefined : findLive(client, made),
  )
}

/** What a new deployment has from the start, as the request of its plan. */
export function toPlanRequest(wanted: WantedDeployment) {
  return {
    model_name: wanted.model,
    model_format: wanted.format,
    model_size_in_billions: wanted.size,
    quantization: wanted.quantization,
    min_context_tokens: wanted.min_context_tokens,
    min_parallel_sequences: wanted.min_parallel_sequences,
    instance_type: wanted.instance_type ?? undefined,
    ...(Object.keys(wanted.engine_options).length > 0 && { engine_options: wanted.engine_options }),
  }
}

/** Changes the settings that differ. */
async function setUp(
  { client, state }: Work,
  deployment: Deployment,
  wanted: WantedDeployment,
): Promise<Deployment> {
  const present = toPresentSettings(deployment, state)
  const differences = compareSettings(present, toWantedSettings(wanted, present, state))
  if (differences.length === 0) return deployment
  const body: Record<string, unknown> = {}
  for (const { field, after } of differences) {
    if (field === 'loras') {
      const { model_name: base, model_type: type } = deployment
      body['adapters'] = await findLoras(client, { base, type }, after as string[])
    } else if (field === 'shared_with') body[field] = identifySharees(wanted.shared_with, state)
    else body[field.replace('policy.', '')] = after
  }
  return client.call('PATCH', deploymentPath, {
    ...toInput(deployment.id),
    body,
  })
}

function identifySharees(
  sharedWith: WantedDeployment['shared_with'],
  state: ServerState,
): Deployment['shared_with'] {
  if (sharedWith === null || sharedWith === 'organization') return sharedWith
  return {
    teams: sharedWith.teams.map((team) => {
      const id = typeof team === 'number' ? team : findTeam(state, team)?.id
      if (id !== undefined) return id
      throw new CommandError(`You see no team called ${team}.`)
    }),
    members: sharedWith.members.map((email) => {
      const member = findMember(state, email)
      if (member !== undefined) return member.user_id
      throw new CommandError(`Your organization has no member ${email}.`)
    }),
  }
}

async function terminate(client: Client, { id }: Deployment): Promise<void> {
  await client.call('DELETE', deploymentPath, toInput(id))
}

async function performBudget(
  { client, manager, state }: Work,
  step: Extract<Step, { kind: 'budget' }>,
): Promise<void> {
  const path = '/v1/billing/budgets/{budget_id}'
  if (step.action === 'remove') {
    await client.call('DELETE', path, { path: { budget_id: step.id } })
    return
  }
  const { monthly_limit, at_limit } = step.wanted
  if (step.action === 'change') {
    await client.call('PATCH', path, { path: { budget_id: step.id }, body: { monthly_limit, at_limit } })
    return
  }
  const { scope } = step.scope
  const scope_id = findScopeId({ manager, state }, step.scope)
  const body = { scope, scope_id, monthly_limit, at_limit, managed_by: manager }
  await client.create('/v1/billing/budgets', { body }, async ({ id }) =>
    (await client.call('GET', '/v1/billing/budgets')).find((each) => each.id === id),
  )
}

/** The id of what a budget limits; of several deployments of the file with the name, the newest. */
function findScopeId(
  { manager, state }: Pick<Work, 'manager' | 'state'>,
  scope: BudgetScope,
): number | string | null {
  if (scope.id !== null || scope.scope === 'organization') return scope.id
  const found =
    scope.scope === 'team'
      ? findTeam(state, scope.name)
      : state.deployments.find((each) => nameInFile(each, manager) === scope.name)
  if (found !== undefined) return found.id
  throw new CommandError(`There is no ${scope.scope} ${scope.name} anymore.`)
}
