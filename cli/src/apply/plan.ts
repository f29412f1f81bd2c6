import type { Budget, DeployableModel, Deployment, Team } from '../../../console/src/contract.ts'
import { compareSettings, toPresentSettings, toWantedSettings } from './deployment-settings.ts'
import type { Difference } from './deployment-settings.ts'
import type { WantedBudget, WantedDeployment } from './file-schema.ts'
import { compareVariants, isLive, listManageable, matchDeployments, nameInFile } from './match-deployments.ts'
import type { FilePath, ReadFile } from './read-file.ts'
import { findMember, findModel, findTeam } from './server-state.ts'
import type { ServerState } from './server-state.ts'

/** What a step does. `replace` makes a new deployment before the old ones end. */
export type Step = {
  name: string
  /** Where the file says it; empty for what the file doesn't have */
  path: FilePath
  differences: readonly Difference[]
} & (
  | {
      kind: 'model'
      action: 'add'
      repository: string
      revision: string | undefined
      base: string | undefined
    }
  | { kind: 'model'; action: 'remove'; id: string }
  | {
      kind: 'team'
      action: 'add' | 'change'
      id: number | null
      join: readonly number[]
      leave: readonly number[]
    }
  | { kind: 'team'; action: 'remove'; id: number }
  | { kind: 'deployment'; action: 'add' | 'replace'; wanted: WantedDeployment; old: readonly Deployment[] }
  | { kind: 'deployment'; action: 'change'; wanted: WantedDeployment; present: Deployment }
  | { kind: 'deployment'; action: 'remove'; present: Deployment }
  | { kind: 'budget'; action: 'add'; wanted: WantedBudget; scope: BudgetScope }
  | { kind: 'budget'; action: 'change'; wanted: WantedBudget; id: number }
  | { kind: 'budget'; action: 'remove'; id: number }
)

/** Whose budget it is. A team or deployment that is yet to be made has no id. */
export type BudgetScope =
  | { scope: 'organization'; id: null }
  | { scope: 'team'; id: number | null; name: string }
  | { scope: 'member'; id: number }
  | { scope: 'deployment'; id: string | null; name: string }

/** The steps from what the server has to what the file says. Throws an error for what can't be. */
export function planSteps(file: ReadFile, state: ServerState, { prune }: { prune: boolean }): Step[] {
  const deployments = planDeployments(file, state)
  const budgets = planBudgets(file, state, deployments.current)
  return [
    ...planModels(file, state),
    ...planTeams(file, state),
    ...deployments.steps,
    ...budgets.steps,
    ...(prune ? planRemovals(file, state, budgets.kept) : []),
  ]
}

function planModels({ content, fail }: ReadFile, state: ServerState): Step[] {
  return Object.entries(content.models).flatMap(([name, { repository, revision, base }]): Step[] => {
    const path = ['models', name]
    const present = findModel(state, name)
    if (repository === undefined) {
      if (present === undefined) {
        const message = `Your organization has no model ${name}. Upload it with \`berth upload\`, or name its repository.`
        throw fail(path, message)
      }
      if (present.source.kind === 'upload') return []
      throw fail(path, `The model ${name} comes from ${originOf(present)}. Name its repository.`)
    }
    const differences = list({ repository, revision, base })
    if (present === undefined)
      return [{ kind: 'model', action: 'add', name, path, differences, repository, revision, base }]
    const { source } = present
    if (source.repository?.toLowerCase() !== repository.toLowerCase()) {
      throw fail(
        [...path, 'repository'],
        `The model ${name} comes from ${originOf(present)}. Give this one another name.`,
      )
    }
    if (/^[\da-f]{40}$/.test(revision ?? '') && source.commit !== revision) {
      const message = `The model ${name} has the commit ${source.commit}. Give this one another name.`
      throw fail([...path, 'revision'], message)
    }
    return []
  })
}

function originOf({ source }: DeployableModel): string {
  return source.repository ?? source.file_name ?? 'the catalog of the installation'
}

function planTeams({ content, fail }: ReadFile, state: ServerState): Step[] {
  return Object.entries(content.teams).flatMap(([name, { members }]): Step[] => {
    const path = ['teams', name]
    const wanted = members?.map((email, index) => {
      const member = findMember(state, email)
      if (member !== undefined) return member
      throw fail([...path, 'members', index], `Your organization has no member ${email}.`)
    })
    const present = findTeam(state, name)
    const join = (wanted ?? []).filter(({ user_id: id }) => !isIn(present, id))
    const leave = (present?.members ?? []).filter(
      ({ user_id: id }) => wanted !== undefined && !wanted.some((each) => each.user_id === id),
    )
    const action = present === undefined ? 'add' : 'change'
    if (action === 'change' && join.length + leave.length === 0) return []
    const differences =
      wanted === undefined
        ? []
        : [{ field: 'members', before: present && emailsOf(present.members), after: emailsOf(wanted) }]
    const ids = { join: join.map(({ user_id: id }) => id), leave: leave.map(({ user_id: id }) => id) }
    return [{ kind: 'team', action, name, path, differences, id: present?.id ?? null, ...ids }]
  })
}

const isIn = (team: Team | undefined, id: number) =>
  team?.members.some((each) => each.user_id === id) ?? false
const emailsOf = (members: readonly { email: string }[]) => members.map(({ email }) => email).toSorted()

interface DeploymentPlan {
  steps: Step[]
  /** The deployments that stay, by their name in the file */
  current: Map<string, Deployment>
}

function planDeployments(file: ReadFile, state: ServerState): DeploymentPlan {
  const { content } = file
  const current = new Map<string, Deployment>()
  const steps = [...matchDeployments(file, state)].flatMap(([name, { present, old }]): Step[] => {
    const wanted = content.deployments[name]!
    const path = ['deployments', name]
    requireKnown(file, state, path, wanted)
    if (wanted.shared_with !== null && wanted.alias !== null) requireFree(file, state, name, wanted.alias)
    if (present === null) {
      const replaced = old.find(isLive)
      const [action, differences] =
        replaced === undefined
          ? (['add', list(toVariant(name, wanted))] as const)
          : (['replace', compareVariants(replaced, wanted, state)] as const)
      return [{ kind: 'deployment', action, name, path, differences, wanted, old }]
    }
    current.set(name, present)
    const settings = toPresentSettings(present, state)
    const differences = compareSettings(settings, toWantedSettings(wanted, settings, state))
    return [
      ...(differences.length === 0
        ? []
        : [{ kind: 'deployment', action: 'change', name, path, differences, wanted, present } as const]),
      ...old.map((each) => remove(each)),
    ]
  })
  return { steps, current }
}

/** Throws for teams, people and LoRAs that don't exist and that the file doesn't make. */
function requireKnown(
  { content, fail }: ReadFile,
  state: ServerState,
  path: FilePath,
  wanted: WantedDeployment,
): void {
  for (const [index, name] of wanted.loras.entries()) {
    if (!isMade(content.models, name) && findModel(state, name)?.base_model == null)
      throw fail([...path, 'loras', index], `The catalog has no LoRA ${name}.`)
  }
  if (wanted.shared_with === null || wanted.shared_with === 'organization') return
  for (const [index, team] of wanted.shared_with.teams.entries()) {
    if (typeof team === 'string' && !isMade(content.teams, team) && findTeam(state, team) === undefined)
      throw fail([...path, 'shared_with', 'teams', index], `You see no team called ${team}.`)
  }
  for (const [index, email] of wanted.shared_with.members.entries()) {
    if (findMember(state, email) === undefined)
      throw fail([...path, 'shared_with', 'members', index], `Your organization has no member ${email}.`)
  }
}

/** Throws if a shared deployment of someone else has the alias, which an admin would take over. */
function requireFree({ content, fail }: ReadFile, state: ServerState, name: string, alias: string): void {
  const manageable = listManageable(state, content.name)
  const other = state.deployments.find(
    (each) => each.alias === alias && each.shared_with !== null && !manageable.includes(each),
  )
  if (other === undefined) return
  throw fail(
    ['deployments', name],
    `${other.owner.email} shares a deployment with the alias ${alias}. Choose another one.`,
  )
}

/** What only a new deployment can have, as the file has it, and its alias if it isn't the name. */
function toVariant(
  name: string,
  { model, format, size, quantization, instance_type, alias, alias_order }: WantedDeployment,
) {
  return {
    model,
    format,
    size,
    quantization,
    instance_type: instance_type ?? undefined,
    alias: alias === name ? undefined : alias,
    alias_order: alias_order ?? undefined,
  }
}

function planBudgets(
  { content, fail }: ReadFile,
  state: ServerState,
  current: ReadonlyMap<string, Deployment>,
): { steps: Step[]; kept: Set<number> } {
  const { organization, teams, members, deployments } = content.budgets
  const wanted: [path: FilePath, budget: WantedBudget, scope: BudgetScope][] = [
    ...(organization === undefined
      ? []
      : [[['budgets', 'organization'], organization, { scope: 'organization', id: null }] as const]),
    ...Object.entries(teams).map(([name, budget]) => {
      const path = ['budgets', 'teams', name]
      const team = findTeam(state, name)
      if (team === undefined && !isMade(content.teams, name))
        throw fail(path, `You see no team called ${name}.`)
      return [path, budget, { scope: 'team', id: team?.id ?? null, name }] as const
    }),
    ...Object.entries(members).map(([email, budget]) => {
      const path = ['budgets', 'members', email]
      const member = findMember(state, email)
      if (member === undefined) throw fail(path, `Your organization has no member ${email}.`)
      return [path, budget, { scope: 'member', id: member.user_id }] as const
    }),
    ...Object.entries(deployments).map(([name, budget]) => {
      const path = ['budgets', 'deployments', name]
      if (!Object.hasOwn(content.deployments, name)) throw fail(path, `The file has no deployment ${name}.`)
      return [path, budget, { scope: 'deployment', id: current.get(name)?.id ?? null, name }] as const
    }),
  ].map(([path, budget, scope]) => [path, budget, scope])
  const kept = new Set<number>()
  const steps = wanted.flatMap(([path, budget, scope]): Step[] => {
    const name = path.slice(1).map(String).join(' ')
    const present = state.budgets.find(
      (each) =>
        each.scope === scope.scope &&
        each.scope_id === scope.id &&
        (scope.scope === 'organization' || scope.id !== null),
    )
    if (present === undefined)
      return [{ kind: 'budget', action: 'add', name, path, differences: list(budget), wanted: budget, scope }]
    kept.add(present.id)
    const differences = compareBudgets(present, budget)
    if (differences.length === 0) return []
    return [{ kind: 'budget', action: 'change', name, path, differences, wanted: budget, id: present.id }]
  })
  return { steps, kept }
}

function compareBudgets(present: Budget, wanted: WantedBudget): Difference[] {
  const amount = (text: string) =>
    text
      .replace(/^0+(?=\d)/, '')
      .replace(/(\.\d*?)0+$/, '$1')
      .replace(/\.$/, '')
  return [
    { field: 'monthly_limit', before: amount(present.monthly_limit), after: amount(wanted.monthly_limit) },
    { field: 'at_limit', before: present.at_limit, after: wanted.at_limit },
  ].filter(({ before, after }) => before !== after)
}

/** What an earlier file of the same name made, and the file no longer has. */
function planRemovals({ content }: ReadFile, state: ServerState, keptBudgets: ReadonlySet<number>): Step[] {
  const isOurs = ({ managed_by: manager }: { managed_by: string | null }) => manager === content.name
  const none = { path: [], differences: [] }
  return [
    ...state.budgets
      .filter((each) => isOurs(each) && !keptBudgets.has(each.id))
      .map(({ id, scope, scope_name: of }): Step => {
        const name = of === null ? scope : `${scope} ${of}`
        return { kind: 'budget', action: 'remove', name, ...none, id }
      }),
    ...state.deployments
      .filter(
        (each) => isOurs(each) && !Object.hasOwn(content.deployments, nameInFile(each, content.name) ?? ''),
      )
      .map(remove),
    ...state.teams
      .filter((each) => isOurs(each) && !isMade(content.teams, each.name))
      .map(({ id, name }): Step => ({ kind: 'team', action: 'remove', name, ...none, id })),
    ...state.catalog
      .filter((each) => isOurs(each) && !isMade(content.models, each.model_name))
      .map(({ id, model_name: name }): Step => ({ kind: 'model', action: 'remove', name, ...none, id })),
  ]
}

function remove(present: Deployment): Step {
  const name = present.managed_name ?? present.alias ?? present.id
  return { kind: 'deployment', action: 'remove', name, path: [], differences: [], present }
}

/** True if the file makes something with this name, in any case. */
function isMade(made: object, name: string): boolean {
  return Object.keys(made).some((each) => each.toLowerCase() === name.toLowerCase())
}

/** The differences of something new. */
function list(values: Record<string, unknown>): Difference[] {
  return Object.entries(values)
    .filter(([, after]) => after !== undefined)
    .map(([field, after]) => ({ field, before: undefined, after }))
}
