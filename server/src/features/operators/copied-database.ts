import type { Services } from '../../services.ts'
import type { Actor } from '../../base/viewer.ts'
import { discardMessages } from '../alerts/discard-messages.ts'
import { recordAction } from '../audit/record-action.ts'
import { forgetProcessor } from '../billing/account/forget-processor.ts'
import { forgetInstances } from '../deployments/changes/forget-instances.ts'
import { isCopy, recordIdentity } from '../installation/identity.ts'
import { discardMails } from '../mail/discard-mails.ts'

const noCopy = 'This database is no copy: the installation runs in it.'

/** Continues the installation in a copied database without its original. Returns a refusal. */
export async function takeOver({ db }: Pick<Services, 'db'>, operator: Actor): Promise<string | null> {
  if (!(await isCopy(db))) return noCopy
  await db.transaction().execute(async (transaction) => {
    await recordIdentity(transaction)
    await recordAction(transaction, operator, 'installation.taken_over')
  })
  return null
}

/**
 * Makes a copied database a separate installation, with the same people, models and deployments. Forgets
 * what belongs to the original: instances, queued mails and webhooks, and customers at the payment processor.
 * Returns a refusal, as while the compute backend has engines, which are the original's.
 */
export async function forkInstallation(
  { db, clock, runtimes, jobs }: Pick<Services, 'db' | 'clock' | 'runtimes' | 'jobs'>,
  operator: Actor,
): Promise<string | null> {
  if (!(await isCopy(db))) return noCopy
  const held = await Promise.all(runtimes.all.map((runtime) => runtime.listEngineIds()))
  const { length: engines } = held.flat()
  if (engines > 0) {
    return `The compute backend has ${engines} engines, and this installation would release those that it doesn't know. Give it a backend of its own, such as another DATA_DIR or namespace.`
  }
  await db.transaction().execute(async (transaction) => {
    const at = clock()
    await forgetInstances(transaction, at)
    await discardMails(transaction)
    await discardMessages(transaction, at)
    await forgetProcessor(transaction, at)
    await jobs.discard(transaction)
    await recordIdentity(transaction)
    await recordAction(transaction, operator, 'installation.forked')
  })
  return null
}
