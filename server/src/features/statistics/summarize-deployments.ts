import type { Viewer } from '../../base/viewer.ts'
import type { Services } from '../../services.ts'
import { findReadable } from '../deployments/state/access-deployment.ts'
import { readDeploymentTotals } from '../metering/deployment-totals.ts'
import { addHours, floorHour, floorMonth } from '../metering/hours.ts'
import { listDeploymentDays } from './deployment-days.ts'
import type { DeploymentDay } from './deployment-days.ts'
import { addBuckets, createHistogram, findQuantile } from './histogram.ts'

/** What a list tells about the use of a deployment. */
export interface DeploymentUse {
  deploymentId: string
  /** Of the last 24 hours, by whole hours */
  requests: number
  errors: number
  firstTokenP95: number | null
  /** Output tokens per second in each hour; the last one is not over */
  tokensPerSecond: number[]
  /** In this UTC month; null for those who may not see costs */
  costThisMonth: string | null
  /** To the minute within the last 24 hours, else to the hour; null if never */
  lastUsedAt: Date | null
}

const hours = 24

/** The use of the deployments that the viewer may read, in the order of `ids`. Omits all others. */
export async function summarizeDeployments(
  { db, clock, config }: Pick<Services, 'db' | 'clock' | 'config'>,
  viewer: Viewer,
  ids: readonly string[],
): Promise<DeploymentUse[]> {
  const now = clock()
  const from = addHours(floorHour(now), 1 - hours)
  const found = await findReadable({ db }, viewer, ids)
  const readable = new Map(found.map((one) => [one.id, one]))
  if (readable.size === 0) return []
  const [days, totals] = await Promise.all([
    listDeploymentDays(db, [...readable.keys()], from),
    readDeploymentTotals(db, [...readable.values()], floorMonth(now), config.billing.currency),
  ])
  const dayOf = new Map(days.map((day) => [day.deploymentId, day]))
  return [...new Set(ids)].flatMap((id) => {
    const deployment = readable.get(id)
    if (deployment === undefined) return []
    const { cost, lastUsedAt } = totals.get(id)!
    const day = dayOf.get(id)
    return {
      deploymentId: id,
      requests: day?.requests ?? 0,
      errors: day?.errors ?? 0,
      ...toRates(day, now),
      costThisMonth: deployment.inspect ? cost : null,
      lastUsedAt: day?.lastMinute ?? lastUsedAt,
    }
  })
}

function toRates(day: DeploymentDay | undefined, now: Date) {
  const firstByte = createHistogram()
  addBuckets(firstByte, day?.firstByteBuckets ?? {})
  const secondsOfLast = Math.max(1, (now.getTime() - floorHour(now).getTime()) / 1_000)
  const tokensPerSecond = Array.from({ length: hours }, (_, hour) => {
    const rate = (day?.tokensByHour[hour] ?? 0) / (hour === hours - 1 ? secondsOfLast : 3_600)
    return Number(rate.toPrecision(3))
  })
  return { firstTokenP95: findQuantile(firstByte, 0.95), tokensPerSecond }
}
