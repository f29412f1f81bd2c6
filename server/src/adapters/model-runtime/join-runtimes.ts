import { setTimeout as sleep } from 'node:timers/promises'
import { ApplicationError } from '../../base/errors.ts'
import type {
  ModelAvailability,
  ModelRuntime,
  ModelRuntimes,
  RuntimeOffer,
  RuntimeOffers,
} from '../../ports/model-runtime.ts'
import type { RuntimeLogger } from './runtime-logger.ts'

/** After so long, a runtime counts as away for the others. */
const usualPatienceMs = 5_000

/** Joins the runtimes of an installation, in the order of preference. Those that are not configured rest. */
export function joinRuntimes(
  known: readonly ModelRuntime[],
  logger: RuntimeLogger,
  patienceMs: number = usualPatienceMs,
): ModelRuntimes {
  const listAll = () => known.filter(({ isConfigured }) => isConfigured !== false)
  const find = (name: string | null) => listAll().find((runtime) => runtime.name === name)
  const findWith = (member: keyof ModelRuntime) => known.find((runtime) => runtime[member] !== undefined)
  return {
    get all() {
      return listAll()
    },
    // They change with an installation.
    get engines() {
      return listAll().flatMap(({ engines }) => engines)
    },
    get loadsUploads() {
      return listAll().some(({ loadsUploads }) => loadsUploads === true)
    },
    weightCache: findWith('weightCache')?.weightCache,
    hostEngines: findWith('hostEngines')?.hostEngines,
    ownCluster: findWith('ownCluster')?.ownCluster,
    checkChatTemplate: async (templates) =>
      (await findWith('checkChatTemplate')?.checkChatTemplate?.(templates)) ?? null,
    find,
    get(name) {
      const runtime = find(name)
      if (runtime !== undefined) return runtime
      if (name === null) throw new Error('no hardware is chosen, and so no runtime')
      throw new ApplicationError('runtime_unavailable', `The runtime ${name} is not configured.`)
    },
    listOffers() {
      const all = listAll()
      return all.length === 1 ? listOnly(all[0]!) : listOfSeveral(all, logger, patienceMs)
    },
    onEngineLost(listener) {
      for (const runtime of known) runtime.onEngineLost?.(listener)
    },
    onEngineStarted(listener) {
      for (const runtime of known) runtime.onEngineStarted?.(listener)
    },
    async close() {
      await Promise.all(known.map((runtime) => runtime.close()))
    },
  }
}

async function listOnly(runtime: ModelRuntime): Promise<RuntimeOffers> {
  return { offers: await listOffers(runtime), away: [] }
}

/** The offers of the runtimes that respond in time. */
async function listOfSeveral(
  all: readonly ModelRuntime[],
  logger: RuntimeLogger,
  patienceMs: number,
): Promise<RuntimeOffers> {
  const waiting = new AbortController()
  const results = await Promise.allSettled(
    all.map((runtime) => Promise.race([listOffers(runtime, true), refuseAfter(patienceMs, waiting.signal)])),
  ).finally(() => waiting.abort())
  const away = results.flatMap((result, index) => {
    if (result.status === 'fulfilled') return []
    const { name } = all[index]!
    logger.warn({ err: result.reason, runtime: name }, 'a runtime is away, so its instance types are hidden')
    return { name, reason: result.reason as unknown }
  })
  if (away.length === all.length) throw away[0]!.reason
  const offers = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []))
  return { offers: nameApart(offers), away: away.map(({ name }) => name) }
}

async function refuseAfter(milliseconds: number, signal: AbortSignal): Promise<never> {
  await sleep(milliseconds, undefined, { signal })
  throw new Error(`no offers within ${milliseconds / 1000} seconds`)
}

/** Gives a title to each offer whose instance type another runtime offers too. */
function nameApart(offers: readonly RuntimeOffer[]): RuntimeOffer[] {
  const namesakes = Map.groupBy(offers, ({ instanceType }) => instanceType)
  return offers.map((offer) => {
    const { instanceType, runtime } = offer
    const isShared = namesakes.get(instanceType)!.some((other) => other.runtime.name !== runtime.name)
    return isShared ? { ...offer, title: `${instanceType} (${runtime.name})` } : offer
  })
}

async function listOffers(runtime: ModelRuntime, isOneOfSeveral = false): Promise<RuntimeOffer[]> {
  const [offers, ownList] = await Promise.all([runtime.listOffers(), runtime.readAvailability?.()])
  const { name, engines, sharedCapacity, clusterId } = runtime
  const availability = isOneOfSeveral ? withoutUploads(runtime, ownList) : ownList
  const offering = { name, engines, sharedCapacity, clusterId, availability, isOneOfSeveral }
  return offers.map((offer) => ({ ...offer, runtime: offering }))
}

/** Beside runtimes that load uploaded files, one that doesn't rules them out. */
function withoutUploads(
  { loadsUploads }: ModelRuntime,
  ownList: ModelAvailability | undefined,
): ModelAvailability | undefined {
  if (loadsUploads === true) return ownList
  return (variant) =>
    variant.weights.kind === 'upload' ? 'loads no uploaded files' : (ownList?.(variant) ?? null)
}
