import { chown, copyFile, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runningAsRoot } from '../../../base/account.ts'
import type { ProxySettings } from '../../../config/proxy.ts'
import { engineAccount, openContainment } from '../local/engine/containment.ts'
import type { EngineRights } from '../local/engine/containment.ts'
import { createEngineControl } from '../local/engine/engine-control.ts'
import type { EngineControl } from '../local/engine/engine-control.ts'
import { limitLog, readLog } from '../local/engine/engine-log.ts'
import { engineFiles } from '../local/engine/engine-record.ts'
import { shareFile } from '../local/files.ts'
import { supervise, supervisorProgram } from '../local/engine/local-engine.ts'
import { readPipSettings, toUvEnvironment } from '../local/inventory/pip-settings.ts'
import type { LocalRuntimeSettings } from '../local/settings.ts'
import { clusterFolder } from './cluster-record.ts'
import type { ClusterRecord } from './cluster-record.ts'
import { originOf, portsOf } from './describe-join.ts'

/** The programs of a cluster on its own host. */
export const programNames = ['supervisor', 'worker'] as const
export type ProgramName = (typeof programNames)[number]

export interface ProgramSettings extends Pick<
  LocalRuntimeSettings,
  'dataDirectory' | 'environment' | 'huggingFace' | 'logger' | 'observedTime'
> {
  proxy: ProxySettings
}

const launcher = fileURLToPath(new URL('xinference_supervisor.py', import.meta.url))
/** Xinference's own logs: Berth keeps its output, too. */
const logLimits = {
  XINFERENCE_LOG_MAX_BYTES: String(8 * 2 ** 20),
  XINFERENCE_LOG_BACKUP_COUNT: '2',
  XINFERENCE_LOG_RETENTION_DAYS: '3',
}

/** Starts and stops a cluster's programs on this host. They survive this process, as engines do. */
export class ClusterPrograms {
  readonly #settings: ProgramSettings
  readonly #control: EngineControl

  constructor(settings: ProgramSettings) {
    this.#settings = settings
    this.#control = createEngineControl(settings, supervisorProgram)
  }

  isRunning(name: ProgramName): Promise<boolean> {
    return this.#control.isRunning(this.#folderOf(name))
  }

  /** Ends what is left of the last launch and starts a program. `key` is the password of its user. */
  async launch(name: ProgramName, record: ClusterRecord, key: string): Promise<void> {
    const folder = this.#folderOf(name)
    await mkdir(folder, { recursive: true, mode: 0o700 })
    if (!(await this.#control.stop(folder))) return
    const { installation } = record
    const containment = await openContainment(this.#settings, [
      process.execPath,
      supervisorProgram,
      join(installation, 'bin/python'),
    ])
    const rights = await containment.prepare(folder, [])
    const home = await this.#openHome(rights)
    const command = name === 'supervisor' ? await this.#prepareSupervisor(record) : listWorker(record)
    const start = supervise({
      title: `The cluster's ${name}`,
      port: null,
      command,
      variables: { ...(await this.#listVariables(name)), XINFERENCE_HOME: home },
      noGpu: null,
    })
    await this.#control.launch(folder, { ...start, apiKey: key, rights })
    this.#settings.logger.info({ program: name, cluster: originOf(record) }, "started a cluster's program")
  }

  /** True once no process is left. */
  async stop(name: ProgramName): Promise<boolean> {
    const folder = this.#folderOf(name)
    await mkdir(folder, { recursive: true, mode: 0o700 })
    return this.#control.stop(folder)
  }

  /** The last lines that a program printed */
  async readLog(name: ProgramName, limit: number): Promise<string[]> {
    const lines = await readLog(engineFiles(this.#folderOf(name)).log, limit)
    return lines.map(({ line }) => line)
  }

  async limitLogs(): Promise<void> {
    for (const name of programNames) await limitLog(engineFiles(this.#folderOf(name)).log)
  }

  close(): void {
    this.#control.close()
  }

  #folderOf(name: ProgramName): string {
    return join(clusterFolder(this.#settings.dataDirectory), name)
  }

  /** The folder for models, which only the account of engines reads */
  async #openHome({ account }: EngineRights): Promise<string> {
    const home = join(clusterFolder(this.#settings.dataDirectory), 'home')
    await mkdir(home, { recursive: true, mode: 0o700 })
    const { uid, gid } = account ?? { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 }
    if (runningAsRoot()) await chown(home, uid, gid)
    return home
  }

  async #prepareSupervisor(record: ClusterRecord): Promise<string[]> {
    // Where its account can read but not write.
    const script = join(clusterFolder(this.#settings.dataDirectory), 'xinference_supervisor.py')
    await copyFile(launcher, script)
    if (runningAsRoot()) await shareFile(script, engineAccount)
    const { address, installation } = record
    const { api, supervisor } = portsOf(record)
    const ports = ['--port', String(api), '--supervisor-port', String(supervisor)]
    return [join(installation, 'bin/python'), script, '-H', address, ...ports]
  }

  async #listVariables(name: ProgramName): Promise<Record<string, string>> {
    const { environment, huggingFace, proxy } = this.#settings
    const common = {
      ...logLimits,
      XINFERENCE_DISABLE_METRICS: '1',
      XINFERENCE_AUTH_ADVANCED: '1',
      // How often the supervisor looks at its workers; theirs keep the usual pace.
      ...(name === 'supervisor' ? { XINFERENCE_HEALTH_CHECK_INTERVAL: '1' } : {}),
    }
    const network = {
      // It installs what a model needs beside its engine.
      ...toUvEnvironment(await readPipSettings(environment), {}),
      HF_ENDPOINT: huggingFace.endpoint,
      ...(huggingFace.token === null ? {} : { HF_TOKEN: huggingFace.token }),
      ...(proxy.http === null ? {} : { HTTP_PROXY: proxy.http }),
      ...(proxy.https === null ? {} : { HTTPS_PROXY: proxy.https, NO_PROXY: proxy.exceptions ?? '' }),
    }
    return { ...common, ...(name === 'worker' ? withoutUndefined(network) : {}) }
  }
}

function listWorker(record: ClusterRecord): string[] {
  const { address, installation } = record
  const { worker } = portsOf(record)
  const program = join(installation, 'bin/xinference-worker')
  return [program, '-e', originOf(record), '-H', address, '--worker-port', String(worker)]
}

function withoutUndefined(values: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
}
