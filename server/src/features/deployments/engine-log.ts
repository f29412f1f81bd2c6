import type { Database } from '../../database/tables.ts'
import type { LogLine } from '../../ports/model-runtime.ts'
import type { Services } from '../../services.ts'
import { askRuntime } from './ask-runtime.ts'
import type { Deployment } from './store.ts'

/** Lines that are shown and kept, at most */
const mostLines = 1_000
/** Characters of a failed engine's lines that are kept, at most */
const mostKept = 256 * 1024

type Needs = Pick<Services, 'db' | 'log' | 'runtime'>

/**
 * The last lines that the engine wrote, oldest first: those that were kept when it failed, else what the runtime has. Throws
 * `runtime_unavailable`.
 */
export async function readEngineLog(needs: Needs, { id, status }: Deployment): Promise<LogLine[]> {
  const { db, runtime } = needs
  const kept = status === 'failed' ? await findKept(db, id) : undefined
  if (kept) return kept.lines.map(({ at, line }) => ({ at: new Date(at), line }))
  return askRuntime(needs, 'what the engine wrote', () => runtime.readLogs(id, mostLines))
}

/** Keeps a failed engine's last lines, which go with its instance; without effect from the second call on. */
export async function keepEngineLog({ db, log, runtime }: Needs, { id }: Deployment): Promise<void> {
  if (await findKept(db, id)) return
  const lines = await runtime.readLogs(id, mostLines).catch((error: unknown) => {
    // An instance is not held, and paid for, until its log can be read.
    log.warn({ err: error, deployment_id: id }, 'The log of a failed engine was lost')
    return []
  })
  await db
    .insertInto('failure_logs')
    .values({ deployment_id: id, lines: JSON.stringify(cutToSize(lines)) })
    .onConflict((conflict) => conflict.column('deployment_id').doNothing())
    .execute()
}

function findKept(db: Database, id: string) {
  return db.selectFrom('failure_logs').select('lines').where('deployment_id', '=', id).executeTakeFirst()
}

/** Drops the lines that were kept, if any: with the deployment goes what its engine wrote. */
export async function forgetEngineLog(db: Database, { id }: Deployment): Promise<void> {
  await db.deleteFrom('failure_logs').where('deployment_id', '=', id).execute()
}

/** The newest of the lines that fit, whole lines only. */
function cutToSize(lines: LogLine[]): LogLine[] {
  let room = mostKept
  const first = lines.findLastIndex(({ line }) => (room -= line.length) < 0)
  return lines.slice(first + 1)
}
