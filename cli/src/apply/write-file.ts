import { Document, isMap } from 'yaml'
import type { Budget, Deployment } from '../../../console/src/contract.ts'
import { nameSharing } from './deployment-settings.ts'
import type { FileInput } from './file-schema.ts'
import { isLive, listManageable, nameInFile } from './match-deployments.ts'
import type { ServerState } from './server-state.ts'

/** A file of what the server has, and what it leaves out. */
export interface WrittenFile {
  content: FileInput
  omitted: string[]
}

/** What the person may manage, as a file with which `apply` changes nothing. */
export function toFile(state: ServerState, name: string): WrittenFile {
  const { permissions } = state.organization
  const omitted: string[] = []
  const deployments = nameDeployments(state, name, omitted)
  const content: FileInput = {
    name,
    ...(permissions.includes('manageModels') && section('models', listModels(state))),
    ...(permissions.includes('manageMembers') && section('teams', listTeams(state))),
    ...section(
      'deployments',
      deployments.map((named) => [named[0], toDeployment(named, state)]),
    ),
    ...(permissions.includes('manageBilling') && writeBudgets(state, deployments, omitted)),
  }
  return { content, omitted }
}

/** The text of a file, with the schema for editors. */
export function writeYaml(content: FileInput, schema: string): string {
  const document = new Document(content)
  document.commentBefore = ` yaml-language-server: $schema=${schema}`
  if (isMap(document.contents)) {
    for (const { key } of document.contents.items.slice(1))
      (key as { spaceBefore?: boolean }).spaceBefore = true
  }
  return document.toString({ lineWidth: 100 })
}

function section(name: string, entries: readonly (readonly [string, unknown])[]): object {
  return entries.length === 0 ? {} : { [name]: Object.fromEntries(entries) }
}

type Named = [name: string, deployment: Deployment]

/**
 * Gives each deployment a name: that of this file, its alias, or that of its model, with a number if another
 * one has it.
 */
function nameDeployments(state: ServerState, fileName: string, omitted: string[]): Named[] {
  const live = listManageable(state, fileName).filter(isLive).toReversed()
  const named = new Map<string, Deployment>()
  const others: Deployment[] = []
  for (const each of live) {
    const name = nameInFile(each, fileName)
    if (name === null && each.alias === null && each.managed_by !== null)
      omitted.push(`the deployment ${each.id} of ${each.model_name}, which ${each.managed_by} manages`)
    else if (name === null) others.push(each)
    else if (named.has(name)) omitted.push(`the deployment ${each.id}: another one is ${name} too`)
    else named.set(name, each)
  }
  for (const each of others) {
    if (each.alias !== null && !named.has(each.alias)) named.set(each.alias, each)
  }
  const taken = new Set(named.values())
  for (const each of others.filter((other) => !taken.has(other))) {
    const name = each.alias ?? each.model_name
    let number = each.alias === null ? 1 : 2
    const numbered = () => (number === 1 ? name : `${name.slice(0, 120)}-${number}`)
    while (named.has(numbered())) number += 1
    named.set(numbered(), each)
  }
  return [...named].toSorted(([, one], [, other]) => live.indexOf(one) - live.indexOf(other))
}

function toDeployment(
  [name, each]: Named,
  state: ServerState,
): FileInput['deployments'] extends infer All ? NonNullable<All>[keyof NonNullable<All>] : never {
  const { policy } = each
  const sharing = nameSharing(each.shared_with, state)
  return {
    ...(each.alias !== name && { alias: each.alias }),
    ...set('alias_order', each.alias_order),
    model: each.model_name,
    format: each.model_format,
    size: each.model_size_in_billions,
    quantization: each.quantization,
    ...set('instance_type', each.requested_instance_type),
    ...set('min_context_tokens', each.min_context_tokens),
    ...set('min_parallel_sequences', each.min_parallel_sequences),
    ...(each.adapters.length > 0 && { loras: each.adapters.map(({ model_name: lora }) => lora) }),
    ...(Object.keys(each.engine_options).length > 0 && { engine_options: each.engine_options }),
    ...set('engine_version', each.engine_version),
    ...set('shared_with', withoutEmpty(sharing)),
    policy: {
      ...(policy.min_instances > 1 && { min_instances: policy.min_instances }),
      ...(policy.max_instances > policy.min_instances && { max_instances: policy.max_instances }),
      idle_minutes: policy.idle_minutes,
      ...(policy.yields && { yields: true }),
      ...(policy.cache_scope === 'member' && { cache_scope: policy.cache_scope }),
      ...set('target_concurrency', policy.target_concurrency),
      ...(policy.schedules.length > 0 && { schedules: policy.schedules }),
    },
  }
}

function withoutEmpty(sharing: ReturnType<typeof nameSharing>) {
  if (sharing === null || sharing === 'organization') return sharing
  return Object.fromEntries(Object.entries(sharing).filter(([, each]) => each.length > 0))
}

function set<Name extends string, Value>(name: Name, value: Value | null): { [Key in Name]?: Value } {
  return (value === null ? {} : { [name]: value }) as { [Key in Name]?: Value }
}

function listTeams({ teams }: ServerState): [string, object][] {
  return teams.map(({ name, members }) => [name, { members: members.map(({ email }) => email) }])
}

function listModels({ catalog }: ServerState): [string, object][] {
  const own = catalog.filter(({ owner }) => owner === 'organization')
  return own.map(({ model_name: name, source: { repository, commit }, base_model: base }) => [
    name,
    repository === null ? {} : { repository, ...set('revision', commit), ...set('base', base) },
  ])
}

function writeBudgets(
  { budgets, members, teams }: ServerState,
  deployments: readonly Named[],
  omitted: string[],
): Pick<FileInput, 'budgets'> {
  const terms = ({ monthly_limit, at_limit }: Budget) => ({ monthly_limit, at_limit })
  const ofOrganization = budgets.find(({ scope }) => scope === 'organization')
  const entries: Record<'team' | 'member' | 'deployment', [string, object][]> = {
    team: [],
    member: [],
    deployment: [],
  }
  const nameOf = ({ scope, scope_id: id }: Budget) =>
    scope === 'team'
      ? teams.find((team) => team.id === id)?.name
      : scope === 'member'
        ? members.find((member) => member.user_id === id)?.email
        : deployments.find(([, deployment]) => deployment.id === id)?.[0]
  for (const budget of budgets) {
    if (budget.scope === 'organization') continue
    const name = nameOf(budget)
    if (name === undefined) omitted.push(`the budget of ${budget.scope_name ?? budget.scope}`)
    else entries[budget.scope].push([name, terms(budget)])
  }
  const content = {
    ...(ofOrganization !== undefined && { organization: terms(ofOrganization) }),
    ...section('teams', entries.team),
    ...section('members', entries.member),
    ...section('deployments', entries.deployment),
  }
  return Object.keys(content).length === 0 ? {} : { budgets: content }
}
