import type { Database } from '../../database/tables.ts'
import type { Services } from '../../services.ts'
import { recordFindings } from './anomaly-store.ts'
import type { Finding } from './anomaly-store.ts'

/** A check for one kind of anomaly. `find` returns all current findings; other open anomalies close. */
export interface UsageCheck {
  kind: string
  find: () => Promise<Finding[]>
}

/** Opens an anomaly per new finding and closes resolved ones. A check that throws changes nothing. */
export async function runUsageChecks(
  { db, clock, log }: Pick<Services, 'db' | 'clock' | 'log'>,
  checks: readonly UsageCheck[],
): Promise<void> {
  for (const { kind, find } of checks) {
    try {
      const findings = await find()
      for (const finding of await recordFindings(db, kind, findings, clock())) {
        log.warn({ kind, ...finding }, 'a usage anomaly was opened')
      }
    } catch (error) {
      log.error({ err: error, kind }, 'a usage check failed')
    }
  }
}

/** An anomaly as its organization sees it. */
export interface OpenAnomaly {
  id: number
  kind: string
  message: string
  deploymentId: string | null
  openedAt: Date
  seenAt: Date
}

/** The open anomalies of an organization, newest first. */
export function listOpenAnomalies(db: Database, organizationId: number): Promise<OpenAnomaly[]> {
  return db
    .selectFrom('usage_anomalies')
    .select(['id', 'kind', 'message', 'deployment_id as deploymentId'])
    .select(['opened_at as openedAt', 'seen_at as seenAt'])
    .where('organization_id', '=', organizationId)
    .where('closed_at', 'is', null)
    .orderBy('opened_at', 'desc')
    .orderBy('id', 'desc')
    .execute()
}

export async function countOpenAnomalies(db: Database, organizationId: number): Promise<number> {
  const { count } = await db
    .selectFrom('usage_anomalies')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('organization_id', '=', organizationId)
    .where('closed_at', 'is', null)
    .executeTakeFirstOrThrow()
  return count
}
