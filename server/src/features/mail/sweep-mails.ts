import type { Services } from '../../services.ts'
import { claimOverdueMails } from './store.ts'

const overdueSeconds = 30
const batchSize = 500

/** Enqueues overdue emails again. Their worker died or their job was lost. */
export async function sweepMails({ db, jobs, log }: Pick<Services, 'db' | 'jobs' | 'log'>): Promise<void> {
  const mailIds = await db.transaction().execute(async (transaction) => {
    const overdue = await claimOverdueMails(transaction, overdueSeconds, batchSize)
    for (const mailId of overdue) await jobs.enqueue(transaction, 'send-mail', { mailId })
    return overdue
  })
  if (mailIds.length > 0) log.info({ mails: mailIds.length }, 'requeued overdue emails')
}
