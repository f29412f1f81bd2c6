import { sql } from 'kysely'
import type { Application } from '../../application.ts'
import type { Database } from '../../database/tables.ts'

/** Something in the ledger that should not be. */
export interface Finding {
  /** Whose usage it is about; null: nobody's */
  organizationId: number | null
  /** What it is about, e.g. a deployment's id: a kind has one open anomaly for each subject */
  subject: string
  /** One sentence for a person, with what was seen */
  message: string
}

/** A look at one kind of anomaly: all that is wrong now. What it no longer finds is closed. */
export interface UsageCheck {
  kind: string
  find: () => Promise<Finding[]>
}

/** Runs checks, opens an anomaly for what is newly found and closes those that are gone; a check that throws changes nothing. */
export async function runUsageChecks(
  { db, clock, log }: Pick<Application, 'db' | 'clock' | 'log'>,
  checks: readonly UsageCheck[],
): Promise<void> {
  for (const { kind, find } of checks) {
    try {
      const findings = await find()
      await recordFindings(db, kind, findings, clock())
      for (const finding of findings) log.warn({ kind, ...finding }, 'usage anomaly')
    } catch (error) {
      log.error({ err: error, kind }, 'a check of the usage could not be made')
    }
  }
}

async function recordFindings(db: Database, kind: string, findings: Finding[], now: Date): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    await sql`SELECT pg_advisory_xact_lock(hashtext(${`usage anomalies ${kind}`}))`.execute(transaction)
    let gone = transaction
      .updateTable('usage_anomalies')
      .set({ closed_at: now })
      .where('kind', '=', kind)
      .where('closed_at', 'is', null)
    if (findings.length > 0) {
      const subjects = findings.map(({ subject }) => subject)
      gone = gone.where(sql<boolean>`subject <> ALL (${subjects})`)
    }
    await gone.execute()
    for (const { organizationId, subject, message } of findings) {
      await transaction
        .insertInto('usage_anomalies')
        .values({ organization_id: organizationId, kind, subject, message, opened_at: now, seen_at: now })
        .onConflict((conflict) =>
          conflict
            .columns(['kind', 'subject'])
            .where('closed_at', 'is', null)
            .doUpdateSet({ message, seen_at: now }),
        )
        .execute()
    }
  })
}
