import type { Agent } from 'undici'
import { ListedModels } from './listed-models.ts'
import type { XinferenceSettings } from './settings.ts'
import { openSupervisor } from './supervisor.ts'
import type { Supervisor } from './supervisor.ts'

/** The clusters of a runtime: those of its settings, and the own one while this installation has it. */
export class Clusters {
  readonly #agent: Agent
  readonly #settings: XinferenceSettings
  readonly #configured: readonly Supervisor[]
  readonly #listed = new Map<Supervisor, ListedModels>()
  readonly #listeners = new Set<(uid: string) => void>()
  #own: Supervisor | null = null

  constructor(agent: Agent, settings: XinferenceSettings) {
    this.#agent = agent
    this.#settings = settings
    this.#configured = settings.supervisors.map((address) => openSupervisor(address, agent, settings))
  }

  get supervisors(): readonly Supervisor[] {
    const own = this.#findOwn()
    return own === null ? this.#configured : [...this.#configured, own]
  }

  /** The supervisor that this installation runs; null while it has none */
  get own(): Supervisor | null {
    return this.#findOwn()
  }

  /** The models that serve on a cluster. */
  listedOn(supervisor: Supervisor): ListedModels {
    const known = this.#listed.get(supervisor)
    if (known !== undefined) return known
    const listed = new ListedModels(supervisor)
    listed.onLost((uid) => {
      for (const listener of this.#listeners) listener(uid)
    })
    this.#listed.set(supervisor, listed)
    return listed
  }

  /** Calls `listener` with the uid of each model that served and doesn't anymore. */
  onLost(listener: (uid: string) => void): void {
    this.#listeners.add(listener)
  }

  close(): void {
    for (const listed of this.#listed.values()) listed.close()
  }

  #findOwn(): Supervisor | null {
    const address = this.#settings.ownCluster?.findAddress() ?? null
    if (this.#own !== null && (address === null || !this.#own.isAt(address))) {
      this.#listed.get(this.#own)?.close()
      this.#listed.delete(this.#own)
      this.#own = null
    }
    if (address !== null) this.#own ??= openSupervisor(address, this.#agent, this.#settings)
    return this.#own
  }
}
