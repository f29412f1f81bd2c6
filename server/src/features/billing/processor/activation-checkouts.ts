import { ApplicationError } from '../../../base/errors.ts'
import { serverActor } from '../../../base/viewer.ts'
import type { Database } from '../../../database/tables.ts'
import type { Services } from '../../../services.ts'
import { activatePostpaid } from './activate.ts'
import type { BillingAccount } from '../account/store.ts'

type Deps = Pick<Services, 'db' | 'config' | 'clock' | 'log' | 'payments' | 'jobs'>

/** Stores a checkout that is to activate billing with the card that it saves. */
export async function insertActivationCheckout(
  db: Database,
  checkout: { sessionId: string; accountId: number; userId: number; at: Date },
): Promise<void> {
  await db
    .insertInto('billing_checkouts')
    .values({
      session_id: checkout.sessionId,
      billing_account_id: checkout.accountId,
      user_id: checkout.userId,
      created_at: checkout.at,
    })
    .execute()
}

/** Activates billing with the card of a completed checkout. A failure such as a declined card finishes it. */
export async function finishActivationCheckouts(
  deps: Deps,
  { id, organization_id: organizationId }: BillingAccount,
): Promise<void> {
  const { db, payments } = deps
  const open = await db
    .selectFrom('billing_checkouts')
    .select(['session_id', 'user_id'])
    .where('billing_account_id', '=', id)
    .where('finished_at', 'is', null)
    .orderBy('created_at')
    .execute()
  for (const { session_id: sessionId, user_id: userId } of open) {
    const result = await payments.findSetupResult(sessionId)
    if (result?.status === 'open') continue
    if (result?.status === 'complete') {
      await activate(deps, { userId, organizationId }, result.cardId)
    }
    await db
      .updateTable('billing_checkouts')
      .set({ finished_at: deps.clock() })
      .where('session_id', '=', sessionId)
      .execute()
  }
}

async function activate(
  deps: Deps,
  person: { userId: number; organizationId: number },
  cardId: string,
): Promise<void> {
  try {
    await activatePostpaid(deps, { ...serverActor, ...person }, cardId)
  } catch (error) {
    const isTemporary = !(error instanceof ApplicationError) || error.retryAfterSeconds !== null
    if (isTemporary) throw error
    const { organizationId: organization } = person
    deps.log.warn({ err: error, organization }, 'a completed checkout did not activate billing')
  }
}
