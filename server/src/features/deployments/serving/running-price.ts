import { Exact } from '../../../base/decimal.ts'
import type { Services } from '../../../services.ts'
import { findHourlyPrice } from '../../metering/instance-prices.ts'
import { listLiveInstances } from '../state/instance-store.ts'

/** What the running instances of a deployment cost in an hour now; null if one has no price. */
export async function findRunningPrice(
  { db, clock, prices }: Pick<Services, 'db' | 'clock' | 'prices'>,
  deploymentId: string,
): Promise<string | null> {
  const instances = (await listLiveInstances(db, [deploymentId])).get(deploymentId) ?? []
  const each = instances
    .filter(({ status }) => status === 'running')
    .map(({ instance_type: instanceType, region }) =>
      findHourlyPrice(prices, { instanceType: instanceType!, region: region! }, clock()),
    )
  return each.includes(null) ? null : Exact.sum(0, ...each.map(String)).toFixed()
}
