import type { ModelAvailability, ModelVariant } from '../../../ports/model-runtime.ts'
import { SupervisorError } from './errors.ts'
import { isSameVariant, nameInXinference } from './launch.ts'
import type { Registrations } from './response-schemas.ts'
import type { Supervisor } from './supervisor.ts'

/** How long a list counts as current, in milliseconds: workers take a moment to write it. */
const lifetime = 60_000

interface KnownList {
  readAt: number
  registrations: Registrations
}

/** What the clusters can launch: the models of their versions, and those that an operator registered. */
export class ModelList {
  readonly #supervisors: readonly Supervisor[]
  /** By cluster and type of model */
  readonly #lists = new Map<string, KnownList>()

  constructor(supervisors: readonly Supervisor[]) {
    this.#supervisors = supervisors
  }

  /** Resolves to a function that says why no cluster can launch a variant. Clusters whose lists are unknown count as able to. */
  async read(): Promise<ModelAvailability> {
    const [llms, embeddings] = await Promise.all([this.#readAll('LLM'), this.#readAll('embedding')])
    return (variant) => {
      const lists = variant.modelType === 'embedding' ? embeddings : llms
      const isPossible = lists.some((list) => list === null || hasVariant(list, variant))
      if (isPossible || lists.length === 0) return null
      const { format, sizeInBillions, quantization } = variant
      return `Xinference's list of models has no ${nameInXinference(variant)} with ${sizeInBillions}B as ${format} ${quantization}`
    }
  }

  #readAll(type: ModelVariant['modelType']): Promise<(Registrations | null)[]> {
    return Promise.all(this.#supervisors.map((supervisor) => this.#readOne(supervisor, type)))
  }

  /** The list of a cluster; null if the cluster doesn't tell. */
  async #readOne(supervisor: Supervisor, type: ModelVariant['modelType']): Promise<Registrations | null> {
    const key = `${supervisor.origin} ${type}`
    const known = this.#lists.get(key)
    if (known !== undefined && performance.now() - known.readAt < lifetime) return known.registrations
    try {
      const registrations = await supervisor.listRegistrations(type)
      // A cluster without workers lists no models.
      if (registrations.length === 0) return null
      this.#lists.set(key, { readAt: performance.now(), registrations })
      return registrations
    } catch (error) {
      if (error instanceof SupervisorError) return null
      throw error
    }
  }
}

function hasVariant(registrations: Registrations, variant: ModelVariant): boolean {
  const found = registrations.filter(({ model_name }) => model_name === nameInXinference(variant))
  return found.some(({ model_specs: specs }) => specs?.some((spec) => isSameVariant(spec, variant)) ?? true)
}
