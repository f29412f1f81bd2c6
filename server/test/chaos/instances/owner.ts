import type { Answer, Client } from '../../support/client.ts'
import type { Usage } from './hardware.ts'
import type { Member, World } from './world.ts'

/** A request whose answer the history knows. Times are in fast time. */
export interface Asked {
  deploymentId: string
  /** The code of an error, empty for an answer, or `lost` if the process was killed meanwhile */
  outcome: string
  /** Of an answer */
  usage: Usage
}

/** A deployment as its owner knows it. */
export interface Owned {
  /** When its owner began to delete it, and when that was answered; infinite before */
  deletedFrom: number
  deletedUntil: number
  /** The policy that was acknowledged last; null for the one that it began with */
  policy: Policy | null
  /** Changes that were sent, by the action that Berth records for each */
  readonly sent: Map<string, number>
}

export interface Policy {
  min_instances: number
  max_instances: number
  idle_minutes: number | null
  yields: boolean
  target_concurrency: number
}

/** What one history's owner has done and was answered. */
export interface History {
  readonly seed: number
  readonly organizationId: number
  readonly deployments: Map<string, Owned>
  readonly asked: Asked[]
  /** Answers that nothing explains */
  readonly failures: string[]
  /** Times at which a budget that refuses wakes was in force */
  readonly blocked: { from: number; until: number }[]
}

export type Actor = History & {
  world: World
  random: () => number
  client(api: Member): Client
  open: Promise<void>[]
}

export const deploymentsPath = '/api/v1/model-deployments'

/** The requests that change a deployment, by the action that Berth records for each. */
const changes: Record<string, readonly [method: string, suffix: string]> = {
  'deployment.put_to_sleep': ['POST', '/sleep'],
  'deployment.woken': ['POST', '/wake'],
  'deployment.updated': ['PATCH', ''],
  'deployment.terminated': ['DELETE', ''],
}

/** Sends a change of a deployment, and counts how often. */
export async function change(actor: Actor, id: string, action: string, body?: object): Promise<Answer> {
  const [method, suffix] = changes[action]!
  const url = `${deploymentsPath}/${id}${suffix}`
  const { sent } = actor.deployments.get(id)!
  const answer = await send(actor, method, url, body, () => sent.set(action, (sent.get(action) ?? 0) + 1))
  explain(actor, method, url, answer)
  return answer
}

/** Sends a change of something else. */
export async function call(actor: Actor, method: string, url: string): Promise<void> {
  explain(actor, method, url, await send(actor, method, url))
}

const expected: Record<string, readonly string[]> = {
  POST: [
    'deployment_not_ready',
    'deployment_ended',
    'budget_exhausted',
    'resource_limit_reached',
    'not_found',
    'budget_exists',
  ],
  PATCH: ['deployment_ended', 'resource_limit_reached', 'not_found'],
  DELETE: ['not_found'],
}

/** Notes an answer that nothing explains. */
export function explain(
  { failures }: Actor,
  method: string,
  url: string,
  { status, body }: Pick<Answer, 'status' | 'body'>,
): void {
  if (status < 300 || expected[method]!.includes(body.code)) return
  failures.push(`${method} ${url} got ${status} ${JSON.stringify(body)}`)
}

/** Sends a change, again if the process is killed meanwhile. */
export function send(
  actor: Actor,
  method: string,
  url: string,
  body?: object,
  onSend: () => void = () => {},
): Promise<Answer> {
  return onAnyApi(actor.world, async (api) => {
    onSend()
    const answer = await actor.client(api).request(method, url, body)
    if (answer.body?.code === 'database_unavailable') throw new Error('The database is too slow.')
    return answer
  })
}

export async function onAnyApi<Result>(world: World, run: (api: Member) => Promise<Result>): Promise<Result> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await run(world.apis[tries % world.apis.length]!)
    } catch (error) {
      if (tries > 100) throw error
      await world.pass(500)
    }
  }
}
