import { mkdir, realpath, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { request } from 'undici'
import { deriveKey } from '../../../base/derive-key.ts'
import { lockFile } from '../../../base/file-lock.ts'
import type {
  ClusterChange,
  ClusterMachine,
  ClusterState,
  JoinInstructions,
} from '../../../ports/own-cluster.ts'
import { unlessGone } from '../local/files.ts'
import { compareVersionTexts, listInstallations } from '../local/inventory/installations.ts'
import { installEngine } from '../local/inventory/install-engine.ts'
import { findDevices } from '../local/inventory/inventory.ts'
import { engineAccount } from '../local/engine/containment.ts'
import { runningAsRoot } from '../../../base/account.ts'
import type { OwnClusterHost, SupervisorAddress } from '../xinference/settings.ts'
import { chooseAddress } from './choose-address.ts'
import { ClusterPrograms, programNames } from './cluster-programs.ts'
import type { ProgramName, ProgramSettings } from './cluster-programs.ts'
import {
  clusterFolder,
  readClusterRecord,
  removeClusterRecord,
  writeClusterRecord,
} from './cluster-record.ts'
import type { ClusterRecord } from './cluster-record.ts'
import { KnownMachines } from './known-machines.ts'
import { describeJoin, originOf, portsOf } from './describe-join.ts'

export interface OwnClusterSettings extends ProgramSettings {
  /** The supervisor's key is derived from it. */
  secretKey: string
  /** Milliseconds for the programs to start; default 10 minutes, because they load PyTorch */
  startTimeoutMs?: number | undefined
}

/** The user of Berth in xinference_supervisor.py */
const username = 'berth'
const usualPort = 9997
const usualStartMs = 600_000
/** How soon other processes of this host know of a cluster's start or end */
const readMs = 2_000
const superviseMs = 1_000
const longestPauseMs = 60_000
/** A program that ran for so long gets its next start at once. */
const steadyMs = 120_000
const requestMs = 3_000

/** The cluster that this installation runs on this host. Its state is in `DATA_DIR/cluster`. */
export class OwnCluster implements OwnClusterHost {
  readonly #settings: OwnClusterSettings
  readonly #programs: ClusterPrograms
  readonly #reading: NodeJS.Timeout
  readonly #machines: KnownMachines
  readonly #starts = new Map<ProgramName, { at: number; pauseMs: number }>()
  #record: ClusterRecord | null = null
  #address: { record: ClusterRecord; address: SupervisorAddress } | null = null

  private constructor(settings: OwnClusterSettings) {
    this.#settings = settings
    this.#programs = new ClusterPrograms(settings)
    this.#machines = new KnownMachines(settings.dataDirectory)
    this.#reading = setInterval(() => void this.#read().catch(() => undefined), readMs)
    this.#reading.unref()
  }

  static async open(settings: OwnClusterSettings): Promise<OwnCluster> {
    await mkdir(settings.dataDirectory, { recursive: true, mode: 0o700 })
    // Programs are found by the folder in their command line, so spellings of DATA_DIR must not matter.
    const dataDirectory = await realpath(settings.dataDirectory)
    const host = new OwnCluster({ ...settings, dataDirectory })
    await host.#read()
    return host
  }

  /** The supervisor with Berth's sign-in; null without a cluster. */
  findAddress(): SupervisorAddress | null {
    const record = this.#record
    if (record === null) return null
    if (this.#address?.record.id !== record.id) {
      const credentials = { username, password: this.#deriveKey(record) }
      this.#address = { record, address: { origin: originOf(record), credentials } }
    }
    return this.#address.address
  }

  withAbsent(present: readonly ClusterMachine[] | null): Promise<ClusterMachine[]> {
    return this.#machines.withAbsent(present)
  }

  describeJoin(): JoinInstructions | null {
    return this.#record === null ? null : describeJoin(this.#record)
  }

  async start(
    { address, port }: { address: string | null; port: number | null },
    onProgress: (line: string) => void,
  ): Promise<ClusterChange<JoinInstructions>> {
    const existing = await this.#read()
    if (existing !== null) {
      const isOther =
        (address ?? existing.address) !== existing.address || (port ?? existing.port) !== existing.port
      return isOther
        ? {
            refusal: `This installation's cluster runs at ${originOf(existing)}. Run \`cluster stop\` first.`,
          }
        : this.#waitUntilReady(existing, onProgress)
    }
    const chosen = chooseAddress(address)
    if ('refusal' in chosen) return chosen
    const wish = { address: chosen.address, port: port ?? usualPort }
    const taken = await findTakenPort(wish)
    if (taken !== null) return { refusal: taken }
    const installation = await this.#install(onProgress)
    if ('refusal' in installation) return installation
    await mkdir(this.#folder, { recursive: true, mode: 0o700 })
    const record = await writeClusterRecord(this.#settings.dataDirectory, { ...wish, ...installation })
    const started = await this.#waitUntilReady(record, onProgress)
    if ('refusal' in started) await this.stop()
    return started
  }

  async stop(): Promise<boolean> {
    const hadOne = (await this.#read()) !== null
    if (hadOne) await removeClusterRecord(this.#settings.dataDirectory)
    await this.#read()
    if ((await unlessGone(stat(this.#folder), null)) === null) return hadOne
    await this.#exclusively(async () => {
      for (const name of ['worker', 'supervisor'] as const) {
        while (!(await this.#programs.stop(name))) await delay(200)
      }
    })
    return hadOne
  }

  async read(): Promise<ClusterState | null> {
    const record = await this.#read()
    if (record === null) return null
    const stateOf = async (name: ProgramName) =>
      (await this.#programs.isRunning(name)) ? ('running' as const) : ('restarting' as const)
    const { address, port } = record
    return { address, port, supervisor: await stateOf('supervisor'), worker: await stateOf('worker') }
  }

  /** Restarts what is lost, until it is stopped. */
  supervise(): { stop(): Promise<void> } {
    const stopping = new AbortController()
    const { signal } = stopping
    const { logger } = this.#settings
    const run = async () => {
      while (!signal.aborted) {
        try {
          const record = await this.#read()
          if (record !== null) {
            await this.#startMissing(record)
            await this.#programs.limitLogs()
          }
        } catch (error) {
          logger.warn({ err: error }, "could not look after the cluster's programs")
        }
        await delay(superviseMs, undefined, { signal }).catch(() => undefined)
      }
    }
    const running = run()
    return {
      async stop() {
        stopping.abort()
        await running
      },
    }
  }

  close(): void {
    clearInterval(this.#reading)
    this.#programs.close()
  }

  get #folder(): string {
    return clusterFolder(this.#settings.dataDirectory)
  }

  async #read(): Promise<ClusterRecord | null> {
    this.#record = await readClusterRecord(this.#settings.dataDirectory)
    return this.#record
  }

  #deriveKey({ id }: ClusterRecord): string {
    return deriveKey(this.#settings.secretKey, 'cluster', id).toString('base64url')
  }

  /** The newest installation, or a new one that the account of engines can run. */
  async #install(
    onProgress: (line: string) => void,
  ): Promise<ClusterChange<{ installation: string; version: string }>> {
    const { dataDirectory, environment } = this.#settings
    let found = await this.#findInstallation()
    if (found === null) {
      const { gpus } = await findDevices({ environment })
      const inventory = { devices: gpus.map((gpu) => ({ gpu, uses: [] })) }
      const account = runningAsRoot() && process.platform === 'linux' ? engineAccount : null
      await mkdir(join(dataDirectory, 'engines'), { recursive: true, mode: 0o700 })
      const change = await installEngine(this.#settings, inventory, 'xinference', onProgress, account)
      if ('refusal' in change) return change
      found = await this.#findInstallation()
    }
    if (found === null) throw new Error('an installation is gone')
    return { installation: found.folder, version: found.version }
  }

  async #findInstallation() {
    const installed = await listInstallations(this.#settings.dataDirectory)
    return (
      installed
        .filter(({ name }) => name === 'xinference')
        .toSorted((one, other) => compareVersionTexts(other.version, one.version))[0] ?? null
    )
  }

  /** Starts a program that doesn't run, with growing pauses. The worker needs the supervisor. */
  async #startMissing(record: ClusterRecord): Promise<void> {
    for (const name of programNames) {
      if (name === 'worker' && !(await isAnswering(record))) return
      if (await this.#programs.isRunning(name)) continue
      const last = this.#starts.get(name) ?? { at: -Infinity, pauseMs: 0 }
      const since = performance.now() - last.at
      if (since < last.pauseMs) continue
      await this.#exclusively(async () => {
        // Another process may have started it, or ended the cluster.
        const current = await readClusterRecord(this.#settings.dataDirectory)
        if (current?.id !== record.id || (await this.#programs.isRunning(name))) return
        const pauseMs =
          since > steadyMs ? superviseMs : Math.min(longestPauseMs, Math.max(superviseMs, last.pauseMs * 2))
        this.#starts.set(name, { at: performance.now(), pauseMs })
        await this.#programs.launch(name, record, this.#deriveKey(record))
      })
    }
  }

  /** Runs a function while no other process of this host starts or stops the programs. */
  async #exclusively(run: () => Promise<void>): Promise<void> {
    const lock = await lockFile(join(this.#folder, 'lock'), 30)
    if (lock === undefined) return
    try {
      await run()
    } finally {
      await lock.close()
    }
  }

  async #waitUntilReady(
    record: ClusterRecord,
    onProgress: (line: string) => void,
  ): Promise<ClusterChange<JoinInstructions>> {
    onProgress(`Starting the cluster at ${originOf(record)}.`)
    const deadline = performance.now() + (this.#settings.startTimeoutMs ?? usualStartMs)
    let isOwn = false
    for (;;) {
      await this.#startMissing(record)
      const workers = await listWorkers(record)
      if (workers !== null && !isOwn) {
        const accepts = await this.#acceptsKey(record)
        if (accepts === false) return { refusal: refuseStranger(record) }
        isOwn = accepts === true
      }
      if (isOwn && workers?.includes(`${record.address}:${portsOf(record).worker}`) === true) {
        await this.#read()
        return describeJoin(record)
      }
      if (performance.now() > deadline) return { refusal: await this.#explainDelay(record) }
      await delay(500)
    }
  }

  /** null if the supervisor doesn't tell */
  async #acceptsKey(record: ClusterRecord): Promise<boolean | null> {
    const body = JSON.stringify({ username, password: this.#deriveKey(record) })
    const answer = await ask(`${originOf(record)}/token`, body)
    return answer === null || answer.status >= 500 ? null : answer.status === 200
  }

  async #explainDelay(record: ClusterRecord): Promise<string> {
    const name = (await isAnswering(record)) ? 'worker' : 'supervisor'
    const lines = await this.#programs.readLog(name, 200)
    const last = lines.findLast((line) => /error|exception|fail/i.test(line)) ?? lines.at(-1) ?? 'nothing'
    return `The cluster's ${name} did not start in time, and was stopped. Its log ends with: ${last.slice(0, 300)}`
  }
}

function refuseStranger(wish: Pick<ClusterRecord, 'address' | 'port'>): string {
  return `Another installation runs the supervisor at ${originOf(wish)}. A supervisor serves one installation of Berth. Stop the other one, or choose another port with --port.`
}

async function isAnswering(record: ClusterRecord): Promise<boolean> {
  return (await listWorkers(record)) !== null
}

/** The workers that a supervisor lists; null if none answers */
async function listWorkers(wish: Pick<ClusterRecord, 'address' | 'port'>): Promise<string[] | null> {
  const { workers } = ((await ask(`${originOf(wish)}/status`))?.body ?? {}) as { workers?: object }
  return workers === undefined ? null : Object.keys(workers)
}

/** null without an answer */
async function ask(url: string, body?: string): Promise<{ status: number; body: unknown } | null> {
  try {
    const response = await request(url, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { 'content-type': 'application/json' },
      body: body ?? null,
      signal: AbortSignal.timeout(requestMs),
    })
    const text = await response.body.text()
    return { status: response.statusCode, body: JSON.parse(text) as unknown }
  } catch {
    return null
  }
}

/** Why a cluster's ports can't be used, and what to do; null if they are free. */
async function findTakenPort(wish: Pick<ClusterRecord, 'address' | 'port'>): Promise<string | null> {
  for (const port of Object.values(portsOf(wish))) {
    if (await isFree(wish.address, port)) continue
    return (await listWorkers(wish)) === null
      ? `Port ${port} of ${wish.address} is in use by another program. Choose another with --port.`
      : refuseStranger(wish)
  }
  return null
}

function isFree(address: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen({ host: address, port, exclusive: true }, () => server.close(() => resolve(true)))
  })
}
