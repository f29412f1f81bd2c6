import { Document, isMap } from 'yaml'
import type { Budget, Deployment } from '../../../console/src/contract.ts'
import { nameSharing } from './deployment-settings.ts'
import type { FileInput } from './file-schema.ts'
import { listManageable } from './plan.ts'
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
  const deployments = chooseDeployments(state, name, omitted)
  const content: FileInput = {
    name,
    ...(permissions.includes('manageModels') && section('models', listModels(state, omitted))),
    ...(permissions.includes('manageMembers') && section('teams', listTeams(state))),
    ...section(
      'deployments',
      deployments.map((each) => [each.alias!, toDeployment(each, state)]),
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

/** Those with a name of their own. */
function chooseDeployments(state: ServerState, name: string, omitted: string[]): Deployment[] {
  const live = listManageable(state, name).filter(({ status }) => status !== 'failed')
  return live
    .filter((each) => {
      const twins = live.filter(({ alias }) => alias === each.alias)
      if (each.alias === null)
        omitted.push(`the deployment ${each.id} of ${each.model_name}, which has no alias`)
      else if (twins.length > 1)
        omitted.push(`the deployment ${each.id}: several have the alias ${each.alias}`)
      return each.alias !== null && twins.length === 1
    })
    .toReversed()
}

function toDeployment(
  each: Deployment,
  state: ServerState,
): FileInput['deployments'] extends infer All ? NonNullable<All>[keyof NonNullable<All>] : never {
  const { policy } = each
  const sharing = nameSharing(each.shared_with, state)
  return {
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

function listModels({ catalog }: ServerState, omitted: string[]): [string, object][] {
  const own = catalog.filter(({ owner }) => owner === 'organization')
  return own.flatMap(({ model_name: name, source, base_model: base }): [string, object][] => {
    if (source.repository === null) omitted.push(`the model ${name}, which was uploaded`)
    const { repository, commit } = source
    return repository === null
      ? []
      : [[name, { repository, ...set('revision', commit), ...set('base', base) }]]
  })
}

function writeBudgets(
  { budgets, members }: ServerState,
  deployments: readonly Deployment[],
  omitted: string[],
): Pick<FileInput, 'budgets'> {
  const terms = ({ monthly_limit, at_limit }: Budget) => ({ monthly_limit, at_limit })
  const ofOrganization = budgets.find(({ scope }) => scope === 'organization')
  const byMember: [string, object][] = []
  const byDeployment: [string, object][] = []
  for (const budget of budgets) {
    const email = members.find(
      ({ user_id: id }) => budget.scope === 'member' && id === budget.scope_id,
    )?.email
    const alias = deployments.find(({ id }) => budget.scope === 'deployment' && id === budget.scope_id)?.alias
    if (email !== undefined) byMember.push([email, terms(budget)])
    else if (alias != null) byDeployment.push([alias, terms(budget)])
    else if (budget.scope !== 'organization')
      omitted.push(`the budget of ${budget.scope_name ?? budget.scope}`)
  }
  const content = {
    ...(ofOrganization !== undefined && { organization: terms(ofOrganization) }),
    ...section('members', byMember),
    ...section('deployments', byDeployment),
  }
  return Object.keys(content).length === 0 ? {} : { budgets: content }
}
