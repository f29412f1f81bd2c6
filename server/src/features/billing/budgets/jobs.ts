import type { Job } from '../../../jobs/queue.ts'
import type { Services } from '../../../services.ts'
import { checkBudgets } from './check-budgets.ts'
import type { OnExhausted } from './check-budgets.ts'

declare module '../../../jobs/queue.ts' {
  interface JobPayloads {
    /** Looks for budgets that have reached a percentage of their limit, every ten seconds for a minute */
    'check-budgets': null
    /** One of these checks */
    'check-budgets-again': null
  }
}

/** A schedule has whole minutes, so the check of each minute enqueues the others. */
const laterSeconds = [10, 20, 30, 40, 50]

export function budgetJobs(
  deps: Pick<Services, 'db' | 'clock' | 'config' | 'jobs' | 'log' | 'prices'>,
  onExhausted: OnExhausted,
): Job[] {
  return [
    {
      name: 'check-budgets',
      cron: '* * * * *',
      async run() {
        if (!(await checkBudgets(deps, onExhausted))) return
        for (const afterSeconds of laterSeconds) {
          await deps.jobs.enqueue(deps.db, 'check-budgets-again', null, { afterSeconds })
        }
      },
    },
    {
      name: 'check-budgets-again',
      async run() {
        await checkBudgets(deps, onExhausted)
      },
    },
  ]
}
