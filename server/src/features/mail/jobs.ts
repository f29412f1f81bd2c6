import type { Job } from '../../jobs/queue.ts'
import type { Services } from '../../services.ts'
import { sendMail } from './send-mail.ts'
import type { MailComposers } from './send-mail.ts'
import { sweepMails } from './sweep-mails.ts'

declare module '../../jobs/queue.ts' {
  interface JobPayloads {
    /** Sends one email from the outbox */
    'send-mail': { mailId: number }
    /** Enqueues overdue emails again */
    'sweep-mails': null
  }
}

type Deps = Pick<Services, 'db' | 'clock' | 'jobs' | 'log' | 'mailer'>

export function mailJobs(deps: Deps, composers: MailComposers): Job[] {
  return [
    { name: 'send-mail', concurrency: 10, run: ({ mailId }) => sendMail(deps, mailId, composers) },
    { name: 'sweep-mails', cron: '* * * * *', run: () => sweepMails(deps) },
  ]
}
