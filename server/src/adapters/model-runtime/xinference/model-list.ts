import { setTimeout as sleep } from 'node:timers/promises'
import { modelTypes } from '../../../ports/model-variant.ts'
import type { ModelAvailability } from '../../../ports/model-runtime.ts'
import type { ModelVariant } from '../../../ports/model-variant.ts'
import { SupervisorError } from './errors.ts'
import { isSameVariant, nameInXinference } from './launch.ts'
import type { Registrations } from './response-schemas.ts'
import type { Supervisor } from './supervisor.ts'

/** How long a list counts as current, and how long a slow cluster is not asked again, in milliseconds. */
const lifetime = 60_000
/** How long a cluster that failed is not asked again, in milliseconds. */
const pauseAfterFailure = 10_000
/** How long callers wait for a list, in milliseconds. Later callers see a later response. */
const defaultPatience = 3_000

/** The list of one cluster for one type of model. */
interface KnownList {
  /** The last response, valid until the next one; null before the first */
  registrations: Registrations | null
  /** When to ask again, on the clock of `performance.now()` */
  askAt: number
  /** The request in flight, which all callers share */
  asking: Promise<void> | null
}

/** What the clusters can launch: the models of their versions, and those that an operator registered. */
export class ModelList {
  readonly #clusters: { supervisors: readonly Supervisor[] }
  readonly #patience: number
  /** By cluster and type of model */
  readonly #lists = new Map<string, KnownList>()

  constructor(clusters: { supervisors: readonly Supervisor[] }, patience: number = defaultPatience) {
    this.#clusters = clusters
    this.#patience = patience
  }

  /** Resolves to a function that says why no cluster can launch a variant. Unknown lists count as able. */
  async read(loadsUploads: boolean): Promise<ModelAvailability> {
    const byType = new Map(
      await Promise.all(modelTypes.map(async (type) => [type, await this.#readAll(type)] as const)),
    )
    return (variant) => {
      if (variant.weights.kind === 'upload') {
        return loadsUploads ? null : 'its workers do not know where to download uploaded files'
      }
      const lists = byType.get(variant.modelType) ?? []
      const isPossible = lists.some((list) => list === null || hasVariant(list, variant))
      if (isPossible || lists.length === 0) return null
      const { format, sizeInBillions, quantization } = variant
      return `Xinference's list of models has no ${nameInXinference(variant)} with ${sizeInBillions}B as ${format} ${quantization}`
    }
  }

  #readAll(type: ModelVariant['modelType']): Promise<(Registrations | null)[]> {
    return Promise.all(this.#clusters.supervisors.map((supervisor) => this.#readOne(supervisor, type)))
  }

  /** The list of a cluster; null while unknown. */
  async #readOne(supervisor: Supervisor, type: ModelVariant['modelType']): Promise<Registrations | null> {
    const key = `${supervisor.origin} ${type}`
    const list = this.#lists.get(key) ?? { registrations: null, askAt: -Infinity, asking: null }
    this.#lists.set(key, list)
    if (performance.now() < list.askAt) return list.registrations
    list.asking ??= ask(supervisor, type, list).finally(() => {
      list.asking = null
    })
    await this.#waitFor(list, list.asking)
    return list.registrations
  }

  /** Waits for a request, but not for long. The next callers don't wait for a slow cluster. */
  async #waitFor(list: KnownList, asking: Promise<void>): Promise<void> {
    const waiting = new AbortController()
    const timeout = sleep(this.#patience, 'late', { signal: waiting.signal }).catch(() => {})
    const first = await Promise.race([asking, timeout])
    waiting.abort()
    if (first === 'late') list.askAt = performance.now() + lifetime
  }
}

/** Asks for the list, and notes when to ask again: a request without a response may still occupy workers. */
async function ask(supervisor: Supervisor, type: ModelVariant['modelType'], list: KnownList): Promise<void> {
  let wait = pauseAfterFailure
  try {
    const registrations = await supervisor.listRegistrations(type)
    // A cluster without workers lists no models.
    if (registrations.length > 0) {
      list.registrations = registrations
      wait = lifetime
    }
  } catch (error) {
    if (!(error instanceof SupervisorError)) throw error
  }
  list.askAt = Math.max(list.askAt, performance.now() + wait)
}

function hasVariant(registrations: Registrations, variant: ModelVariant): boolean {
  const found = registrations.filter(({ model_name }) => model_name === nameInXinference(variant))
  return found.some(({ model_specs: specs }) => specs?.some((spec) => isSameVariant(spec, variant)) ?? true)
}
