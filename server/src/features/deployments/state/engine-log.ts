import { setTimeout as sleep } from 'node:timers/promises'
import { validate as isUuid } from 'uuid'
import { ApplicationError, NotFoundError } from '../../../base/errors.ts'
import { sql } from 'kysely'
import type { Database } from '../../../database/tables.ts'
import type { EngineLogs, LogLine } from '../../../ports/model-runtime.ts'
import type { Services } from '../../../services.ts'
import { findInstance, listShownInstances } from './instance-store.ts'
import type { Instance } from './instance-store.ts'
import { queryRuntime } from '../../placement/query-runtime.ts'
import type { Deployment } from './store.ts'

/** The largest number of lines that a caller can ask for */
export const maxLogLines = 1_000
/** Size limit of a saved log, in characters */
const maxSavedCharacters = 256 * 1024

/** How often a follower looks whether an instance has its hardware */
const placementCheckMs = 500

/** How long the saved log of a terminated deployment is kept */
const retentionDays = 30

type Deps = Pick<Services, 'db' | 'log' | 'runtimes'>

/** A line of the log of one of a deployment's instances. */
export type InstanceLogLine = LogLine & { instanceId: string }

/** The instance `only`, or the live ones, or the last one, for their logs. Throws `NotFoundError`. */
export async function findLoggedInstances(
  db: Database,
  { id }: Deployment,
  only: string | undefined,
): Promise<Instance[]> {
  if (only === undefined) return (await listShownInstances(db, [id])).get(id) ?? []
  const instance = isUuid(only) ? await findInstance(db, only) : undefined
  if (instance?.deployment_id !== id) throw new NotFoundError('Instance not found.')
  return [instance]
}

/** Throws `runtime_unavailable` if the engine runs and its log is out of this process's reach. */
export async function requireReadableLog(
  { log, runtimes }: Pick<Deps, 'log' | 'runtimes'>,
  { id, deployment_id: deploymentId, status, runtime }: Instance,
): Promise<void> {
  const mayHaveLog = status === 'deploying' || status === 'running'
  if (!mayHaveLog || (await runtimes.get(runtime).logs.isReadable?.(id)) !== false) return
  log.warn(
    { deployment: deploymentId },
    'the log of an engine is in another DATA_DIR: give the API the DATA_DIR of the worker',
  )
  const message =
    'This server can’t read the engine’s log: its operator must give the API the DATA_DIR of the worker.'
  throw new ApplicationError('runtime_unavailable', message, 60)
}

/** An ended engine's saved last lines, or the runtime's, oldest first. Throws `runtime_unavailable`. */
export async function readEngineLogs(
  deps: Deps,
  instances: readonly Instance[],
  tail: number,
): Promise<InstanceLogLine[]> {
  const logs = await Promise.all(
    instances.map(async (instance) => {
      const saved = await readSavedLog(deps, instance, tail)
      const logs = deps.runtimes.find(instance.runtime)?.logs
      const read = async () => (await logs?.read(instance.id, tail)) ?? []
      return toLines(instance, saved ?? (await queryRuntime(deps, 'engine log', read)))
    }),
  )
  const [first = [], ...others] = logs
  const lines =
    others.length === 0 ? first : logs.flat().toSorted((one, other) => Number(one.at) - Number(other.at))
  return lines.slice(Math.max(0, lines.length - tail))
}

/** The lines of `readEngineLogs`, then each new line until the signal aborts. */
export async function* followEngineLogs(
  deps: Deps,
  instances: readonly Instance[],
  tail: number,
  signal: AbortSignal,
): AsyncIterable<InstanceLogLine> {
  if (instances.length === 1) return yield* followEngineLog(deps, instances[0]!, tail, signal)
  yield* await readEngineLogs(deps, instances, tail)
  yield* merge(instances.map((instance) => followEngineLog(deps, instance, 0, signal)))
}

async function* followEngineLog(
  deps: Deps,
  instance: Instance,
  tail: number,
  signal: AbortSignal,
): AsyncGenerator<InstanceLogLine> {
  const saved = await readSavedLog(deps, instance, tail)
  if (saved !== null) yield* toLines(instance, saved)
  const logs = await waitForLogs(deps, instance, signal)
  if (logs === null) return
  for await (const line of logs.follow(instance.id, saved === null ? tail : 0, signal)) {
    yield { ...line, instanceId: instance.id }
  }
}

/** The logs of the runtime that gets the instance; null if none does before the signal aborts. */
async function waitForLogs(
  { db, runtimes }: Deps,
  { id, ...first }: Instance,
  signal: AbortSignal,
): Promise<EngineLogs | null> {
  let { status, runtime } = first
  while (status === 'requested' || status === 'provisioning') {
    await sleep(placementCheckMs, undefined, { signal }).catch(() => {})
    const instance = signal.aborted ? undefined : await findInstance(db, id)
    if (instance === undefined) return null
    status = instance.status
    runtime = instance.runtime
  }
  return runtime === null ? null : runtimes.get(runtime).logs
}

function toLines({ id: instanceId }: Instance, lines: readonly LogLine[]): InstanceLogLine[] {
  return lines.map((line) => ({ ...line, instanceId }))
}

/** Yields the values of all sources as they come. */
async function* merge<Value>(sources: readonly AsyncGenerator<Value>[]): AsyncIterable<Value> {
  const take = (source: AsyncGenerator<Value>) => source.next().then((result) => ({ source, result }))
  const next = new Map(sources.map((source) => [source, take(source)]))
  while (next.size > 0) {
    const { source, result } = await Promise.race(next.values())
    if (result.done === true) next.delete(source)
    else {
      next.set(source, take(source))
      yield result.value
    }
  }
}

async function readSavedLog({ db }: Deps, { id, status }: Instance, tail: number): Promise<LogLine[] | null> {
  const mayBeSaved = status === 'releasing' || status === 'released'
  const saved = mayBeSaved ? await findSavedLog(db, id) : undefined
  if (saved === undefined) return null
  const lines = saved.lines.slice(Math.max(0, saved.lines.length - tail))
  return lines.map(({ at, line }) => ({ at: new Date(at), line }))
}

/** Saves an engine's last log lines before its instance is released, unless they are saved already. */
export async function saveEngineLog(
  { db, log, runtimes }: Deps,
  { id: instanceId, runtime }: Instance,
): Promise<void> {
  if (await findSavedLog(db, instanceId)) return
  const { logs } = runtimes.get(runtime)
  const lines = await logs.read(instanceId, maxLogLines).catch((error: unknown) => {
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

/** Deletes saved logs 30 days after the deployment's termination or the instance's replacement. */
export async function deleteOldEngineLogs({ db, clock }: Pick<Services, 'db' | 'clock'>): Promise<void> {
  const before = new Date(clock().getTime() - retentionDays * 86_400_000)
  await sql`
    DELETE FROM failure_logs USING instances AS instance JOIN deployments AS deployment ON deployment.id = deployment_id
    WHERE instance.id = failure_logs.instance_id AND (
      deployment.terminated_at < ${before} OR (instance.status_changed_at < ${before}
        AND EXISTS (SELECT FROM instances AS later WHERE later.deployment_id = deployment.id AND later.id > instance.id)))`.execute(
    db,
  )
}

/** The newest whole lines within the size limit. */
function cutToSize(lines: LogLine[]): LogLine[] {
  let room = maxSavedCharacters
  const first = lines.findLastIndex(({ line }) => {
    room -= line.length
    return room < 0
  })
  return lines.slice(first + 1)
}
