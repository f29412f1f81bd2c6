import { statfs } from 'node:fs/promises'
import { sql } from 'kysely'
import { describeClockDifference } from '../../database/database-clock.ts'
import { formatFileSize } from '../../base/format-bytes.ts'
import type { Services } from '../../services.ts'
import { isCopy } from '../installation/identity.ts'
import { listUnpinnedRepositories } from '../catalog/pins.ts'
import { examineTargets } from './ask-targets.ts'
import type { Finding } from './finding.ts'

type Deps = Pick<Services, 'config' | 'clock' | 'db' | 'mailer' | 'runtimes' | 'payments'>

const lowDiskBytes = 5 * 1024 ** 3
const overdueMinutes = 10

/** Checks what Berth depends on. A check that fails is a finding; it never throws. */
export async function examine(deps: Deps): Promise<Finding[]> {
  const asked = examineTargets(deps.config)
  const checks: Record<string, (deps: Deps) => Promise<Omit<Finding, 'subject'>>> = {
    database: checkDatabase,
    clock: checkClock,
    mail: checkMail,
    runtime: checkRuntimes,
    engines: checkEngines,
    disk: checkDisk,
    keys: checkKeys,
    webhooks: checkWebhooks,
    jobs: checkJobs,
    catalog: checkCatalog,
  }
  const found = await Promise.all(
    Object.entries(checks).map(async ([subject, check]) => {
      try {
        return { subject, ...(await check(deps)) }
      } catch (error) {
        const state = error instanceof Error ? error.message : String(error)
        return { subject, state, remedy: 'Fix this error, then run doctor again.' }
      }
    }),
  )
  return [...found, ...(await asked)]
}

async function checkDatabase({ db }: Deps) {
  const { rows } = await sql<{ version: string; used: number; most: number }>`
    SELECT current_setting('server_version') AS version, (SELECT count(*) FROM pg_stat_activity) AS used,
      current_setting('max_connections')::int AS most`.execute(db)
  const { version, used, most } = rows[0]!
  if (await isCopy(db)) {
    return {
      state: `PostgreSQL ${version}, a copy of another database`,
      remedy:
        'If the original is gone, run `npm run admin -- installation take-over`. If it goes on, run `… installation fork`.',
    }
  }
  const isFull = used > most * 0.8
  return {
    state: `PostgreSQL ${version}, ${used} of ${most} connections`,
    remedy: isFull ? 'Raise max_connections, or lower DATABASE_POOL_SIZE.' : null,
  }
}

async function checkClock({ clock }: Deps) {
  const difference = describeClockDifference(clock)
  const remedy = difference === null ? null : 'Synchronize this host and the database’s with NTP.'
  return { state: difference ?? 'in step with the database', remedy }
}

async function checkMail({ db, config }: Deps) {
  const { rows } = await sql<{ failed: number; waiting: number }>`
    SELECT count(*) FILTER (WHERE status = 'failed' AND created_at > now() - interval '1 day') AS failed,
      count(*) FILTER (WHERE status = 'pending' AND created_at < now() - interval '10 minutes') AS waiting
    FROM mails`.execute(db)
  const { failed, waiting } = rows[0]!
  if (config.mail.url === null) {
    return { state: 'written to files in DATA_DIR', remedy: 'Set MAIL_URL to send emails.' }
  }
  return {
    state: `${failed} failed today, ${waiting} waiting for over 10 minutes`,
    remedy: failed + waiting > 0 ? 'Run `npm run admin -- mail test <address>` and read its error.' : null,
  }
}

async function checkRuntimes({ runtimes }: Deps) {
  const states = runtimes.all.map(async (runtime) => {
    const { length } = await runtime.listEngineIds()
    return `${runtime.name}: holds ${length} instances`
  })
  return { state: (await Promise.all(states)).join(', '), remedy: null }
}

/** GPUs that no engine can use, or the engines that serve */
async function checkEngines({ runtimes }: Deps) {
  const report = await runtimes.hostEngines?.report()
  if (report === undefined) {
    return { state: runtimes.engines.map(({ title }) => title).join(', '), remedy: null }
  }
  const { gpus, engines } = report
  const obstacles = [
    ...new Map(gpus.flatMap(({ obstacle }) => (obstacle === null ? [] : [[obstacle.reason, obstacle]]))),
  ]
  if (obstacles.length > 0) {
    return {
      state: obstacles.map(([reason]) => reason).join(' '),
      remedy: [...new Set(obstacles.map(([, { remedy }]) => remedy))].join(' '),
    }
  }
  const used = engines.filter(({ isUsed }) => isUsed)
  const names = used.map(({ title, version }) => (version === null ? title : `${title} ${version}`))
  const cards = gpus.length === 0 ? '' : ` on ${[...new Set(gpus.map(({ name }) => name))].join(', ')}`
  return { state: `${names.join(', ')}${cards}`, remedy: null }
}

async function checkDisk({ config }: Deps) {
  const { bavail, bsize } = await statfs(config.dataDirectory)
  const free = bavail * bsize
  return {
    state: `${formatFileSize(free)} free in DATA_DIR`,
    remedy: free < lowDiskBytes ? 'Free space, or move DATA_DIR: models need several GiB.' : null,
  }
}

async function checkKeys({ config, db }: Deps) {
  const { rows } = await sql<{ known: boolean }>`
    SELECT EXISTS (SELECT FROM secret_key_fingerprints) AS known`.execute(db)
  if (!rows[0]!.known) return { state: 'never used', remedy: 'Start the server once.' }
  // DATA_DIR also contains the embedded database. With another database, only the key is in DATA_DIR.
  return config.secretKey === null && config.databaseUrl !== null
    ? { state: 'SECRET_KEY is in DATA_DIR', remedy: 'Set SECRET_KEY to the content of DATA_DIR/secret-key.' }
    : { state: 'the key fits the database', remedy: null }
}

async function checkWebhooks({ db, payments }: Deps) {
  const { rows } = await sql<{ waiting: number; newest: Date | null }>`
    SELECT count(*) FILTER (WHERE handled_at IS NULL AND received_at < now() - interval '10 minutes') AS waiting,
      max(received_at) AS newest FROM billing_events`.execute(db)
  const { waiting, newest } = rows[0]!
  return {
    state: `${payments.name}: newest event ${newest?.toISOString() ?? 'never'}, ${waiting} overdue`,
    remedy: waiting > 0 ? 'Look for errors of the job process-billing-event in the log of the worker.' : null,
  }
}

async function checkJobs({ db }: Deps) {
  const { rows } = await sql<{ overdue: number }>`
    SELECT count(*) AS overdue FROM pgboss.job
    WHERE state = 'created' AND start_after < now() - make_interval(mins => ${overdueMinutes})`.execute(db)
  const { overdue } = rows[0]!
  return {
    state: `${overdue} overdue`,
    remedy: overdue > 0 ? 'No worker runs, or it is too slow. Start ROLE=worker or ROLE=all.' : null,
  }
}

async function checkCatalog(deps: Deps) {
  const { unpinned, total } = deps.runtimes.all.some(({ usesCatalogWeights }) => usesCatalogWeights)
    ? await listUnpinnedRepositories(deps)
    : { unpinned: [], total: 0 }
  const names = [...unpinned.slice(0, 3), ...(unpinned.length > 3 ? [`${unpinned.length - 3} more`] : [])]
  return unpinned.length === 0
    ? { state: 'all repositories are pinned to commits', remedy: null }
    : {
        state: `${unpinned.length} of ${total} repositories without a commit: ${names.join(', ')}`,
        remedy:
          'Run `npm run catalog:pin`, then restart. Until then their owners can change what engines download.',
      }
}
