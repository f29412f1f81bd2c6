import type { Deployment } from '../../../console/src/contract.ts'
import { connectClient } from '../api/connect.ts'
import { findDeployment, listDeployments, toInput } from '../api/find-deployment.ts'
import type { Context } from '../base/context.ts'
import { usageError } from '../base/errors.ts'
import { formatAge, formatSize, formatVariant } from '../base/format.ts'
import { cleanLine, cleanText } from '../base/text.ts'
import { describePolicy, describeSchedules } from './policy.ts'
import { findMembers, findTeam } from './teams.ts'

interface ListOptions {
  all?: boolean
  organization?: boolean
}

interface ShareOptions {
  off?: boolean
  /** Names */
  team?: string[]
  /** Emails */
  member?: string[]
}

/** Lists deployments, newest first. */
export async function list(
  { env, output }: Context,
  search: string | undefined,
  { all, organization }: ListOptions,
): Promise<void> {
  const client = await connectClient(env)
  const scope = organization ? 'organization' : 'own'
  const deployments = await listDeployments(client, { scope, active: !all, q: search })
  output.result(deployments, () => {
    const header = ['ID', 'MODEL', 'SIZE', 'STATUS', 'ALIAS', 'INSTANCE', 'AGE']
    const none =
      search === undefined
        ? 'No deployments. `berth deploy berth-tiny` starts one.'
        : `No deployment matches ${search}.`
    output.table(header, deployments.map(describe), none)
  })
}

function describe(deployment: Deployment): string[] {
  const {
    id,
    model_name: name,
    model_size_in_billions: size,
    status,
    alias,
    created_at: created,
  } = deployment
  const instance = deployment.selected_instance_type ?? ''
  return [id, name, formatSize(size), status, alias ?? '', instance, formatAge(created)]
}

/** Shows one deployment. */
export async function show({ env, output }: Context, wanted: string): Promise<void> {
  const deployment = await findDeployment(await connectClient(env), wanted)
  const { context_tokens: context, parallel_sequences: parallel, engine } = deployment
  output.result(deployment, () =>
    output.facts([
      ['Id', deployment.id],
      ['Model', deployment.model_name],
      ['Variant', formatVariant(deployment)],
      ['Alias', deployment.alias],
      ['Order', deployment.alias_order === null ? null : `${deployment.alias_order} of its alias`],
      ['LoRAs', deployment.adapters.map(({ model_name: name }) => name).join(', ') || null],
      ['Status', describeStatus(deployment)],
      ['Waiting for', deployment.status_message],
      ['Failure', clean(deployment.failure_reason)],
      ['Policy', describePolicy(deployment)],
      ['Schedules', describeSchedules(deployment).join('; ') || null],
      ['Managed by', clean(deployment.managed_by)],
      ['Name in its file', clean(deployment.managed_name)],
      ['Owner', cleanLine(deployment.owner.email)],
      ['Shared with', describeSharing(deployment.shared_with)],
      ['Instance', deployment.selected_instance_type],
      ['Why', clean(deployment.selection_reason)],
      ['Engine', engine && `${engine.name} ${engine.version ?? ''}`],
      ['Context', context === null ? null : `${context} tokens`],
      ['At the same time', parallel === null ? null : `${parallel} requests`],
      ['Created', deployment.created_at],
      ['Terminated', deployment.terminated_at],
    ]),
  )
}

function describeStatus({ status }: Deployment): string {
  return status === 'sleeping' ? 'sleeping: it costs nothing, and the next request wakes it' : status
}

function describeSharing(sharedWith: Deployment['shared_with']): string | null {
  if (sharedWith === null || sharedWith === 'organization') return sharedWith
  const { teams, members } = sharedWith
  return `${teams.length} teams and ${members.length} members`
}

function clean(text: string | null): string | null {
  return text === null ? null : cleanText(text)
}

/** Shares a deployment with the organization, or with teams and members of it, or ends that. */
export async function share({ env, output }: Context, wanted: string, options: ShareOptions): Promise<void> {
  const { off, team = [], member = [] } = options
  if (off && team.length + member.length > 0)
    throw usageError('--off ends all sharing. Without it, --team and --member say who may call.')
  const client = await connectClient(env)
  const { id } = await findDeployment(client, wanted)
  const teams = await Promise.all(team.map((name) => findTeam(client, name)))
  const members = await findMembers(client, member)
  const some = { teams: teams.map((each) => each.id), members: members.map(({ user_id }) => user_id) }
  const isSome = teams.length + members.length > 0
  const deployment = await client.call('PATCH', '/api/v1/model-deployments/{deployment_id}', {
    ...toInput(id),
    body: { shared_with: off ? null : isSome ? some : 'organization' },
  })
  output.result(deployment, () => {
    const { model_name: model } = deployment
    const who = isSome ? [...team, ...member].join(', ') : 'All members of the organization'
    output.note(off ? `${model} is no longer shared.` : `${who} can call ${model}.`)
  })
}

/** Terminates deployments. All are found before the first ends, so that a wrong name ends none. */
export async function remove({ env, output }: Context, wanted: readonly string[]): Promise<void> {
  const client = await connectClient(env)
  const found = new Map<string, Deployment>()
  for (const each of wanted) {
    const deployment = await findDeployment(client, each)
    found.set(deployment.id, deployment)
  }
  const terminated: Deployment[] = []
  for (const id of found.keys()) {
    terminated.push(await client.call('DELETE', '/api/v1/model-deployments/{deployment_id}', toInput(id)))
    output.note(`Terminating ${id} (${found.get(id)!.model_name}).`)
  }
  output.result(terminated, () => {})
}
