import { advanceObject } from './clock.ts'
import type { Engine } from './engine.ts'
import type { SandboxObject } from './store.ts'

const mostSteps = 10_000
const retryMilliseconds = 10 * 60_000

/** Does everything whose time has come, one transaction each; what fails is tried again later and holds nothing else up. */
export async function advanceClock(engine: Engine, onError: (error: unknown) => void): Promise<void> {
  for (let steps = 0; steps < mostSteps; steps++) {
    const due = await engine.db
      .selectFrom('sandbox_objects')
      .select('id')
      .where('due_at', '<=', engine.clock())
      .orderBy('due_at')
      .orderBy('sequence')
      .limit(1)
      .executeTakeFirst()
    if (due === undefined) return
    try {
      await engine.run(async (step) => {
        // Read again under the lock: another worker may have done it.
        const row = await step.db
          .selectFrom('sandbox_objects')
          .select('data')
          .where('id', '=', due.id)
          .where('due_at', '<=', step.now)
          .executeTakeFirst()
        if (row !== undefined) await advanceObject(step, row.data as SandboxObject)
      })
    } catch (error) {
      onError(error)
      await engine.db
        .updateTable('sandbox_objects')
        .set({ due_at: new Date(engine.clock().getTime() + retryMilliseconds) })
        .where('id', '=', due.id)
        .execute()
    }
  }
}

const keptMilliseconds = 30 * 24 * 3_600_000

/** Forgets events and idempotency keys after 30 days; Stripe keeps the former as long, and the latter for a day at least. */
export async function forgetOld({ db, clock }: Engine): Promise<void> {
  const before = new Date(clock().getTime() - keptMilliseconds)
  await db.deleteFrom('sandbox_events').where('created_at', '<', before).where('due_at', 'is', null).execute()
  await db.deleteFrom('sandbox_idempotency_keys').where('created_at', '<', before).execute()
}
