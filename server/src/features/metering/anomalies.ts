import { sql } from 'kysely'
import type { Application } from '../../application.ts'
import type { Database } from '../../database/tables.ts'

/** Something in the ledger that should not be. */
export interface Finding {
  /** Whose usage it is about; null: nobody's */
  organizationId: number | null
  /** Left out where it is not about one deployment */
  deploymentId?: string | null | undefined
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
      for (const finding of await recordFindings(db, kind, findings, clock())) {
        log.warn({ kind, ...finding }, 'there is something wrong with the usage')
      }
    } catch (error) {
      log.error({ err: error, kind }, 'a check of the usage could not be made')
    }
  }
}

/** Returns those that were not open yet. */
async function recordFindings(
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

/** An anomaly as the organization that it is about sees it. */
export interface OpenAnomaly {
  id: number
  kind: string
  message: string
  deploymentId: string | null
  openedAt: Date
  seenAt: Date
}

/** Those of an organization that are open, the newest first. */
export function listOpenAnomalies(
  { db }: Pick<Application, 'db'>,
  organizationId: number,
): Promise<OpenAnomaly[]> {
  return db
    .selectFrom('usage_anomalies')
    .select(['id', 'kind', 'message', 'deployment_id as deploymentId'])
    .select(['opened_at as openedAt', 'seen_at as seenAt'])
    .where('organization_id', '=', organizationId)
    .where('closed_at', 'is', null)
    .orderBy('opened_at', 'desc')
    .orderBy('id', 'desc')
    .execute()
}
