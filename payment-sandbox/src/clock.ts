import { chargeDefaultCard, markOverdue } from './collection.ts'
import { finalizeInvoice } from './invoices.ts'
import type { Invoice, SandboxObject } from './object-types.ts'
import { expireSession } from './sessions.ts'
import type { Change, Store } from './store.ts'
import { beginNextPeriod } from './subscriptions.ts'

const maxSteps = 10_000
const retryMilliseconds = 10 * 60_000
const retentionMilliseconds = 30 * 24 * 3_600_000

/** Runs every due step in a separate transaction. A step that fails is retried after ten minutes. */
export async function runDueSteps(store: Store, onError: (error: unknown) => void): Promise<void> {
  const { db, clock } = store
  for (let steps = 0; steps < maxSteps; steps++) {
    const due = await db
      .selectFrom('objects')
      .select('id')
      .where('due_at', '<=', clock())
      .orderBy('due_at')
      .orderBy('sequence')
      .limit(1)
      .executeTakeFirst()
    if (due === undefined) return
    try {
      await store.change(async (change) => {
        // Checked again under the lock: another worker may have run the step.
        const row = await change.db
          .selectFrom('objects')
          .select('data')
          .where('id', '=', due.id)
          .where('due_at', '<=', change.now)
          .executeTakeFirst()
        if (row !== undefined) await runStep(change, row.data as SandboxObject)
      })
    } catch (error) {
      onError(error)
      await db
        .updateTable('objects')
        .set({ due_at: new Date(clock().getTime() + retryMilliseconds) })
        .where('id', '=', due.id)
        .execute()
    }
  }
}

async function runStep(change: Change, object: SandboxObject): Promise<void> {
  if (object.object === 'checkout.session') await expireSession(change, object)
  else if (object.object === 'subscription') await beginNextPeriod(change, object)
  else if (object.object === 'invoice') await advanceInvoice(change, object)
  else throw new Error(`${object.id} has no scheduled steps`)
}

async function advanceInvoice(change: Change, invoice: Invoice): Promise<void> {
  const isDraft = invoice.status === 'draft'
  const open = isDraft ? await finalizeInvoice(change, invoice) : invoice
  if (open.status !== 'open') return
  if (open.collection_method === 'charge_automatically') await chargeDefaultCard(change, open)
  else if (!isDraft) await markOverdue(change, open)
}

/** Deletes delivered events and idempotency keys after 30 days. */
export async function deleteOld({ db, clock }: Store): Promise<void> {
  const before = new Date(clock().getTime() - retentionMilliseconds)
  await db.deleteFrom('events').where('created_at', '<', before).where('due_at', 'is', null).execute()
  await db.deleteFrom('idempotency_keys').where('created_at', '<', before).execute()
}
