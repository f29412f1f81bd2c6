import { sql } from 'kysely'
import type { Database } from '../../database/tables.ts'

/** An inconsistency in the usage ledger. */
export interface Finding {
  /** null when no organization is affected */
  organizationId: number | null
  /** Absent when no single deployment is affected */
  deploymentId?: string | null | undefined
  /** Identifies the finding, e.g. a deployment's id: each kind has at most one open anomaly per subject */
  subject: string
  /** One sentence for a person, with the observed values */
  message: string
}

/** Opens an anomaly for each new finding, closes those without one, and returns the new findings. */
export async function recordFindings(
  db: Database,
  kind: string,
  findings: Finding[],
  now: Date,
): Promise<Finding[]> {
  return db.transaction().execute(async (transaction) => {
    await sql`SELECT pg_advisory_xact_lock(hashtext(${`usage anomalies ${kind}`}))`.execute(transaction)
    const open = await transaction
      .selectFrom('usage_anomalies')
      .select(['id', 'subject'])
      .where('kind', '=', kind)
      .where('closed_at', 'is', null)
      .execute()
    const found = new Map(findings.map((finding) => [finding.subject, finding]))
    for (const { id, subject } of open) {
      const finding = found.get(subject)
      await transaction
        .updateTable('usage_anomalies')
        .set(
          finding === undefined
            ? { closed_at: now }
            : { message: finding.message, deployment_id: finding.deploymentId ?? null, seen_at: now },
        )
        .where('id', '=', id)
        .execute()
    }
    const known = new Set(open.map(({ subject }) => subject))
    const opened = [...found.values()].filter(({ subject }) => !known.has(subject))
    for (const { organizationId, deploymentId, subject, message } of opened) {
      await transaction
        .insertInto('usage_anomalies')
        .values({
          organization_id: organizationId,
          deployment_id: deploymentId ?? null,
          kind,
          subject,
          message,
          opened_at: now,
          seen_at: now,
        })
        .execute()
    }
    return opened
  })
}
