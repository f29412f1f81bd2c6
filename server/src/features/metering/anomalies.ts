import type { Services } from '../../services.ts'
import { recordFindings } from './anomaly-store.ts'
import type { Finding } from './anomaly-store.ts'

/** A check for one kind of anomaly. `find` returns every current finding; open anomalies that are missing from it are closed. */
export interface UsageCheck {
  kind: string
  find: () => Promise<Finding[]>
}

/** Runs the checks, opens an anomaly for each new finding and closes resolved ones. A check that throws changes nothing. */
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
