import { sql } from 'kysely'
import { Gauge } from 'prom-client'
import type { Registry } from 'prom-client'
import { measureClockDifference } from '../../database/database-clock.ts'
import type { Database } from '../../database/tables.ts'
import type { Services } from '../../services.ts'
import { addGauge, shareReading } from './gauges.ts'

/** What an operator must know, as the database has it. Times are seconds since 1970. */
export interface OperationsRow {
  deployments_overdue: number
  jobs_overdue: number
  jobs_failed: number
  /** null before the first settlement */
  settled_at: number | null
  /** null if no usage waits */
  unsent_since: number | null
  anomalies_open: number
}

type Name = keyof OperationsRow

const gauges: Record<Name, { name: string; help: string }> = {
  deployments_overdue: {
    name: 'berth_deployments_overdue',
    help: 'Deployments that a worker should have looked at over a minute ago',
  },
  jobs_overdue: {
    name: 'berth_jobs_overdue',
    help: 'Background jobs that should have started over ten minutes ago',
  },
  jobs_failed: {
    name: 'berth_jobs_failed',
    help: 'Background jobs that failed in the last day, after all retries',
  },
  settled_at: {
    name: 'berth_usage_settled_timestamp_seconds',
    help: 'When a worker last settled usage; 0 before the first time',
  },
  unsent_since: {
    name: 'berth_usage_unsent_since_timestamp_seconds',
    help: 'Hour of the oldest sealed usage that the payment processor has not confirmed; 0 if there is none',
  },
  anomalies_open: { name: 'berth_usage_anomalies_open', help: 'Open anomalies of all organizations' },
}

/** Adds gauges of the clock and of the work in the database, which are empty if that doesn't respond. */
export function measureOperations(register: Registry, { db, clock }: Pick<Services, 'db' | 'clock'>): void {
  const difference = new Gauge({
    name: 'berth_clock_difference_seconds',
    help: "Seconds by which this host's clock is ahead of the database's",
    registers: [],
    collect() {
      this.set(measureClockDifference(clock) / 1000)
    },
  })
  register.registerMetric(difference)
  const read = shareReading(() => readOperations(db))
  for (const [column, { name, help }] of Object.entries(gauges) as [Name, (typeof gauges)[Name]][]) {
    addGauge(register, read, { name, help, labelNames: [] }, (gauge, row) => gauge.set(row[column] ?? 0))
  }
}

/** Reads what an operator must know. */
export async function readOperations(db: Database): Promise<OperationsRow> {
  const { rows } = await sql<OperationsRow>`
    SELECT
      (SELECT count(*) FROM deployments WHERE reconcile_at < now() - interval '1 minute') AS deployments_overdue,
      (SELECT count(*) FROM pgboss.job WHERE state = 'created' AND start_after < now() - interval '10 minutes') AS jobs_overdue,
      (SELECT count(*) FROM pgboss.job WHERE state = 'failed' AND completed_on > now() - interval '1 day') AS jobs_failed,
      (SELECT extract(epoch FROM max(completed_on))::float8 FROM pgboss.job
        WHERE name = 'settle-usage' AND state = 'completed') AS settled_at,
      (SELECT extract(epoch FROM min(hour))::float8 FROM usage_reports WHERE status <> 'sent') AS unsent_since,
      (SELECT count(*) FROM usage_anomalies WHERE closed_at IS NULL) AS anomalies_open`.execute(db)
  return rows[0]!
}
