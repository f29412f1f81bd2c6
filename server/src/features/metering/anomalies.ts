import type { Services } from '../../services.ts'
import { recordFindings } from './anomaly-store.ts'
import type { Finding } from './anomaly-store.ts'

/** A look at one kind of anomaly: all that is wrong now. What it no longer finds is closed. */
export interface UsageCheck {
  kind: string
  find: () => Promise<Finding[]>
}

/** Runs checks, opens an anomaly for what is newly found and closes those that are gone; a check that throws changes nothing. */
export async function runUsageChecks(
  { db, clock, log }: Pick<Services, 'db' | 'clock' | 'log'>,
  checks: readonly UsageCheck[],
): Promise<void> {
  for (const { kind, find } of checks) {
    try {
      const findings = await find()
      for (const finding of await recordFindings(db, kind, findings, clock())) {
        log.warn({ kind, ...finding }, 'there is something wrong with the usage')
      }
    } catch (error) {
      log.error({ err: error, kind }, 'a check of the usage could not be made')
    }
  }
}
