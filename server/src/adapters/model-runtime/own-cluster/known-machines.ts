import { join } from 'node:path'
import type { ClusterMachine } from '../../../ports/own-cluster.ts'
import { readJson, writeJson } from '../local/files.ts'
import { clusterFolder } from './cluster-record.ts'

/** How old the file's last sign of life may be */
const writeMs = 30_000
/** A machine leaves the list after being away for so long. */
const forgetMs = 7 * 24 * 3_600_000

interface KnownMachine {
  version: string | null
  lastSeenAt: Date
  isAway: boolean
}

/** The machines that were in the cluster, in a file that all processes of this host share. */
export class KnownMachines {
  readonly #path: string
  readonly #seen = new Map<string, Date>()

  constructor(dataDirectory: string) {
    this.#path = join(clusterFolder(dataDirectory), 'machines.json')
  }

  /** Records who is there, and adds who is not. `listed` is null if the cluster doesn't respond. */
  async withAbsent(listed: readonly ClusterMachine[] | null): Promise<ClusterMachine[]> {
    const known = await this.#read()
    if (listed === null) return [...known].map(([address, each]) => toAbsent(address, each, 'unknown'))
    const present = listed.filter(({ state }) => state === 'present')
    for (const { address, lastSeenAt } of present) this.#seen.set(address, lastSeenAt ?? new Date())
    const changed = new Map(known)
    for (const { address, version } of present) {
      changed.set(address, { version, lastSeenAt: this.#seen.get(address)!, isAway: false })
    }
    for (const [address, each] of known) {
      if (present.some((machine) => machine.address === address)) continue
      const lastSeenAt = this.#latest(address, each)
      if (Date.now() - lastSeenAt.getTime() > forgetMs) changed.delete(address)
      else changed.set(address, { ...each, lastSeenAt, isAway: true })
    }
    if (isWorthWriting(known, changed)) await this.#write(changed)
    const absent = [...changed].filter(([, { isAway }]) => isAway)
    return [...present, ...absent.map(([address, each]) => toAbsent(address, each, 'left'))]
  }

  /** Another process may have seen it later. */
  #latest(address: string, { lastSeenAt }: KnownMachine): Date {
    const own = this.#seen.get(address)
    return own !== undefined && own > lastSeenAt ? own : lastSeenAt
  }

  async #read(): Promise<Map<string, KnownMachine>> {
    const entries = Object.entries((await readJson(this.#path)) ?? {})
    return new Map(
      entries.flatMap(([address, value]) => {
        const { version, last_seen_at: at, is_away: isAway } = (value ?? {}) as Record<string, unknown>
        const lastSeenAt = new Date(typeof at === 'string' ? at : Number.NaN)
        if (Number.isNaN(lastSeenAt.getTime())) return []
        const known = {
          version: typeof version === 'string' ? version : null,
          lastSeenAt,
          isAway: isAway === true,
        }
        return [[address, known]]
      }),
    )
  }

  async #write(machines: ReadonlyMap<string, KnownMachine>): Promise<void> {
    const entries = [...machines].map(([address, { version, lastSeenAt, isAway }]) => [
      address,
      { version, last_seen_at: lastSeenAt.toISOString(), is_away: isAway },
    ])
    await writeJson(this.#path, Object.fromEntries(entries))
  }
}

function isWorthWriting(
  before: ReadonlyMap<string, KnownMachine>,
  after: ReadonlyMap<string, KnownMachine>,
): boolean {
  return (
    before.size !== after.size ||
    [...after].some(([address, { version, lastSeenAt, isAway }]) => {
      const old = before.get(address)
      return (
        old?.isAway !== isAway ||
        old.version !== version ||
        lastSeenAt.getTime() - old.lastSeenAt.getTime() > writeMs
      )
    })
  )
}

function toAbsent(
  address: string,
  { version, lastSeenAt, isAway }: KnownMachine,
  state: 'left' | 'unknown',
): ClusterMachine {
  return {
    address,
    state: isAway ? 'left' : state,
    lastSeenAt,
    version,
    cpuCount: null,
    memoryBytes: null,
    freeBytes: null,
    gpus: [],
    engineIds: [],
  }
}
