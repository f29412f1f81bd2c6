import { ApplicationError } from '../../base/errors.ts'
import type { Database } from '../../database/tables.ts'
import type { LogLine } from '../../ports/model-runtime.ts'
import type { Services } from '../../services.ts'
import { listShownInstances } from './instances/store.ts'
import type { Instance } from './instances/store.ts'
import { queryRuntime } from '../placement/query-runtime.ts'
import type { Deployment } from './store.ts'

/** The largest number of lines that a caller can ask for */
export const maxLogLines = 1_000
/** Size limit of a saved log, in characters */
const maxSavedCharacters = 256 * 1024

/** How long the saved log of a terminated deployment is kept */
const retentionDays = 30
type Deps = Pick<Services, 'db' | 'log' | 'runtime'>

/** The instance whose log callers see: the oldest live one, else the last. */
export async function findLoggedInstance(db: Database, { id }: Deployment): Promise<Instance | undefined> {
  return (await listShownInstances(db, [id])).get(id)?.[0]
}

/** Throws `runtime_unavailable` if the engine runs and its log is out of this process's reach. */
export async function requireReadableLog(
  { log, runtime }: Pick<Deps, 'log' | 'runtime'>,
  { id, deployment_id: deploymentId, status }: Instance,
): Promise<void> {
  const mayHaveLog = status === 'deploying' || status === 'running'
  if (!mayHaveLog || (await runtime.logs.isReadable?.(id)) !== false) return
  log.warn(
    { deployment: deploymentId },
    'the log of an engine is in another DATA_DIR: give the API the DATA_DIR of the worker',
  )
  const message =
    'This server can’t read the engine’s log: its operator must give the API the DATA_DIR of the worker.'
  throw new ApplicationError('runtime_unavailable', message, 60)
}

/**
 * The last lines of an engine's log, oldest first: the saved lines of one that has ended, otherwise the runtime's. Throws
 * `runtime_unavailable`.
 */
export async function readEngineLog(deps: Deps, instance: Instance, tail: number): Promise<LogLine[]> {
  return (
    (await readSavedLog(deps, instance, tail)) ??
    queryRuntime(deps, 'engine log', () => deps.runtime.logs.read(instance.id, tail))
  )
}

/** The lines of `readEngineLog`, then each new line until the signal aborts. */
export async function* followEngineLog(
  deps: Deps,
  instance: Instance,
  tail: number,
  signal: AbortSignal,
): AsyncIterable<LogLine> {
  const saved = await readSavedLog(deps, instance, tail)
  if (saved !== null) yield* saved
  yield* deps.runtime.logs.follow(instance.id, saved === null ? tail : 0, signal)
}

async function readSavedLog({ db }: Deps, { id, status }: Instance, tail: number): Promise<LogLine[] | null> {
  const mayBeSaved = status === 'releasing' || status === 'released'
  const saved = mayBeSaved ? await findSavedLog(db, id) : undefined
  if (saved === undefined) return null
  const lines = saved.lines.slice(Math.max(0, saved.lines.length - tail))
  return lines.map(({ at, line }) => ({ at: new Date(at), line }))
}

/** Saves the last log lines of an engine before its instance is released. Does nothing if they are already saved. */
export async function saveEngineLog({ db, log, runtime }: Deps, instanceId: string): Promise<void> {
  if (await findSavedLog(db, instanceId)) return
  const lines = await runtime.logs.read(instanceId, maxLogLines).catch((error: unknown) => {
    // Losing the log is better than paying for the instance until the log is readable.
    log.warn({ err: error, instance: instanceId }, 'could not save the last lines of an engine’s log')
    return []
  })
  await db
    .insertInto('failure_logs')
    .values({ instance_id: instanceId, lines: JSON.stringify(cutToSize(lines)) })
    .onConflict((conflict) => conflict.column('instance_id').doNothing())
    .execute()
}

function findSavedLog(db: Database, id: string) {
  return db.selectFrom('failure_logs').select('lines').where('instance_id', '=', id).executeTakeFirst()
}

/** Deletes the saved logs of deployments that were terminated over 30 days ago. */
export async function deleteOldEngineLogs({ db, clock }: Pick<Services, 'db' | 'clock'>): Promise<void> {
  const before = new Date(clock().getTime() - retentionDays * 86_400_000)
  await db
    .deleteFrom('failure_logs')
    .using(['instances', 'deployments'])
    .whereRef('instances.id', '=', 'failure_logs.instance_id')
    .whereRef('deployments.id', '=', 'instances.deployment_id')
    .where('deployments.terminated_at', '<', before)
    .execute()
}

/** The newest whole lines within the size limit. */
function cutToSize(lines: LogLine[]): LogLine[] {
  let room = maxSavedCharacters
  const first = lines.findLastIndex(({ line }) => (room -= line.length) < 0)
  return lines.slice(first + 1)
}
