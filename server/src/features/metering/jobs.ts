import type { Job } from '../../jobs/queue.ts'
import type { Services } from '../../services.ts'
import type { UsageCheck } from './anomalies.ts'
import { checkLedger, checkUsage } from './checks.ts'
import { deleteOldTokenBatches } from './record-tokens.ts'
import { pruneRequests } from './request-log.ts'
import { settleUsage } from './settle.ts'

declare module '../../jobs/queue.ts' {
  interface JobPayloads {
    /** Writes the hourly buckets of the ledger and seals completed hours */
    'settle-usage': null
    /** Looks for anomalies in current usage */
    'check-usage': null
    /** Looks for anomalies in the ledger */
    'check-ledger': null
    /** Deletes the ids of token batches that can't arrive again */
    'delete-old-token-batches': null
    /** Deletes requests that are older than REQUEST_LOG_RETENTION */
    'delete-old-requests': null
  }
}

type Deps = Pick<Services, 'db' | 'clock' | 'config' | 'log' | 'prices'>

/** `checks` are the usage checks of other features. */
export function meteringJobs(deps: Deps, checks: readonly UsageCheck[]): Job[] {
  const { db, clock, config } = deps
  return [
    { name: 'settle-usage', cron: '* * * * *', run: () => settleUsage(deps) },
    { name: 'check-usage', cron: '*/5 * * * *', run: () => checkUsage(deps, checks) },
    // Hours are sealed 15 minutes after they end.
    { name: 'check-ledger', cron: '37 * * * *', run: () => checkLedger(deps) },
    { name: 'delete-old-token-batches', cron: '17 * * * *', run: () => deleteOldTokenBatches(db, clock()) },
    {
      name: 'delete-old-requests',
      cron: '27 * * * *',
      run: () => pruneRequests(db, clock(), config.requestLogMilliseconds),
    },
  ]
}
