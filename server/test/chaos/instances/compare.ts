import { isDeepStrictEqual } from 'node:util'
import {
  compareBills,
  findDoubleWakes,
  findNeedlessWork,
  findSharedSeconds,
  findSleepers,
  findTooMany,
} from './compare-instances.ts'
import type { Disturbances } from './compare-instances.ts'
import { nothingUsed } from './hardware.ts'
import type { Holding, Usage } from './hardware.ts'
import type { History, Owned, Policy } from './owner.ts'
import { readRecords } from './records.ts'
import type { Event, Records } from './records.ts'
import type { World } from './world.ts'

/**
 * Compares what Berth recorded about ended histories with what the hardware and the callers saw. Returns a
 * sentence for each difference.
 */
export async function compareHistories(
  world: Pick<World, 'db' | 'hardware' | 'toFastTime'>,
  histories: readonly History[],
  disturbances: Disturbances,
): Promise<string[]> {
  const ids = new Set(histories.flatMap(({ deployments }) => [...deployments.keys()]))
  if (ids.size === 0) return []
  const held = world.hardware.record.filter(({ deploymentId }) => ids.has(deploymentId))
  return compareRecords(histories, held, await readRecords(world, [...ids]), disturbances)
}

export function compareRecords(
  histories: readonly Omit<History, 'failures'>[],
  held: readonly Holding[],
  records: Records,
  disturbances: Disturbances,
): string[] {
  return [
    ...compareBills(records.spans, held, disturbances),
    ...findSharedSeconds(records.spans, held, disturbances),
    ...histories.flatMap((history) =>
      [...history.deployments].flatMap(([id, owned]) =>
        compareDeployment(id, owned, history, selectOwn(records, id), {
          held: held.filter(({ deploymentId }) => deploymentId === id),
          disturbances,
        }),
      ),
    ),
  ]
}

function selectOwn({ spans, events, actions, ...others }: Records, id: string): Records {
  const isOwn = ({ deploymentId }: { deploymentId: string }) => deploymentId === id
  return {
    ...others,
    spans: spans.filter(isOwn),
    events: events.filter(isOwn),
    actions: actions.filter(isOwn),
  }
}

function compareDeployment(
  id: string,
  owned: Owned,
  history: Omit<History, 'failures'>,
  records: Records,
  { held, disturbances }: { held: readonly Holding[]; disturbances: Disturbances },
): string[] {
  return [
    ...findTooMany(held, records.actions, disturbances),
    ...findSleepers(records, held, disturbances),
    ...findDoubleWakes(records.events, history, disturbances),
    ...compareActions(owned, records),
    ...comparePolicies(owned, records.policies.get(id)),
    ...compareUsage(id, history, held, records.metered.get(id) ?? nothingUsed),
    ...held.flatMap(findNeedlessWork),
  ].map((difference) => `${id}: ${difference}`)
}

/** Each change is recorded once: no more than the owner sent, and as many as have begun a wake or a sleep. */
function compareActions({ sent }: Owned, { actions, events }: Records): string[] {
  const count = (wanted: string) => actions.filter(({ action }) => action === wanted).length
  const countBegun = (type: Event['begunByPerson']) =>
    events.filter(({ begunByPerson }) => begunByPerson === type).length
  const wrong = [
    ...['deployment.created', 'deployment.terminated'].filter((action) => count(action) !== 1),
    ...[...sent].flatMap(([action, times]) => (count(action) > times ? [action] : [])),
    ...(count('deployment.put_to_sleep') === countBegun('sleep') ? [] : ['deployment.put_to_sleep']),
    ...(count('deployment.woken') === countBegun('wake') ? [] : ['deployment.woken']),
  ]
  return wrong.map(
    (action) => `${action} is recorded ${count(action)} times, and was sent ${sent.get(action) ?? 1} times`,
  )
}

/** No acknowledged change of the policy is lost. */
function comparePolicies({ policy }: Owned, recorded: Policy | undefined): string[] {
  if (policy === null || isDeepStrictEqual({ ...policy }, { ...recorded })) return []
  return [`the policy is ${JSON.stringify(recorded)}, and ${JSON.stringify(policy)} was acknowledged`]
}

/**
 * No acknowledged request is lost: each answer was served once and metered once, with its own tokens. Of a
 * request whose process was killed nobody knows.
 */
function compareUsage(
  id: string,
  { asked }: Pick<History, 'asked'>,
  holdings: readonly Holding[],
  metered: Usage,
): string[] {
  const own = asked.filter(({ deploymentId }) => deploymentId === id)
  const answered = sum(own.map(({ usage }) => usage))
  const served = sum(holdings.map((holding) => holding.served))
  const lost = own.filter(({ outcome }) => outcome === 'lost').length
  const isWithin = usageNames.every(
    (name) => answered[name] <= metered[name] && metered[name] <= served[name],
  )
  if (isWithin && served.requests <= answered.requests + lost) return []
  const show = (usage: Usage) => usageNames.map((name) => usage[name]).join('/')
  return [
    `answered ${show(answered)}, metered ${show(metered)}, served ${show(served)}, and lost ${lost} requests`,
  ]
}

const usageNames = ['requests', 'inputTokens', 'outputTokens'] as const

function sum(usages: readonly Usage[]): Usage {
  const total = { ...nothingUsed }
  for (const usage of usages) for (const name of usageNames) total[name] += usage[name]
  return total
}
