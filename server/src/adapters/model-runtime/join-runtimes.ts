import { ApplicationError } from '../../base/errors.ts'
import type { ModelRuntime, ModelRuntimes, RuntimeOffer } from '../../ports/model-runtime.ts'

/** Joins the runtimes of an installation, in the order of preference. */
export function joinRuntimes(all: readonly ModelRuntime[]): ModelRuntimes {
  const find = (name: string | null) => all.find((runtime) => runtime.name === name)
  const findWith = (member: keyof ModelRuntime) => all.find((runtime) => runtime[member] !== undefined)
  return {
    all,
    // They change with an installation.
    get engines() {
      return all.flatMap(({ engines }) => engines)
    },
    loadsUploads: all.some(({ loadsUploads }) => loadsUploads === true),
    weightCache: findWith('weightCache')?.weightCache,
    hostEngines: findWith('hostEngines')?.hostEngines,
    checkChatTemplate: async (templates) =>
      (await findWith('checkChatTemplate')?.checkChatTemplate?.(templates)) ?? null,
    find,
    get(name) {
      const runtime = find(name)
      if (name === null) throw new Error('no hardware is chosen, and so no runtime')
      if (runtime === undefined)
        throw new ApplicationError('runtime_unavailable', `The runtime ${name} is not configured.`)
      return runtime
    },
    listOffers: async () => (await Promise.all(all.map(listOffers))).flat(),
    async close() {
      await Promise.all(all.map((runtime) => runtime.close()))
    },
  }
}

async function listOffers(runtime: ModelRuntime): Promise<RuntimeOffer[]> {
  const [offers, availability] = await Promise.all([runtime.listOffers(), runtime.readAvailability?.()])
  const { name, engines, sharedCapacity } = runtime
  const offering = { name, engines, sharedCapacity, availability }
  return offers.map((offer) => ({ ...offer, runtime: offering }))
}
