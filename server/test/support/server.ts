import { mkdtemp, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Application } from '../../src/wiring/application.ts'
import { createApplication } from '../../src/wiring/create-application.ts'
import type { Overrides } from '../../src/wiring/create-application.ts'
import { readConfig } from '../../src/config/config.ts'
import type { App } from '../../src/http/app.ts'
import { createLog } from '../../src/base/log.ts'
import { buildServer } from '../../src/process/server.ts'
import { startWorker } from '../../src/process/worker.ts'
import { administer } from './administer-database.ts'
import { changeConfig } from './change-config.ts'
import type { ConfigChanges } from './change-config.ts'
import { createTestDatabase } from './database.ts'

export interface TestServer {
  url: string
  app: App
  application: Application
  dataDirectory: string
  databaseUrl: string
  /** All log lines so far */
  logs: string[]
  /** Starts the server again at the same address with other settings. Engines go on. */
  restart(settings: Record<string, string>): Promise<void>
  /** Stops the server and its engines, and removes its database and files. */
  close(): Promise<void>
}

export interface TestServerOptions extends Omit<Overrides, 'log'> {
  /** Settings in addition to the defaults of test servers */
  settings?: Record<string, string> | undefined
  /** Values that no setting has */
  config?: ConfigChanges | undefined
  /** false to start no worker, so that deployments stay `requested` */
  worker?: boolean | undefined
}

/** Starts a complete server on a free loopback port, with its own database and DATA_DIR. */
export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const { settings, config: changes = {}, worker: withWorker = true, ...overrides } = options
  const database = await createTestDatabase('migrated')
  const dataDirectory = await mkdtemp(join(tmpdir(), 'berth-server-'))
  const logs: string[] = []
  const log = createLog({ level: 'debug' }, (line) => void logs.push(line))
  const configure = (more: Record<string, string>) => {
    const read = readConfig({
      PORT: '0',
      DATABASE_URL: database.url,
      DATA_DIR: dataDirectory,
      BILLING_TRIAL_MAX_ACTIVE: '10000',
      ...settings,
      ...more,
    })
    read.passwordHashing = { memoryCost: 1024, timeCost: 1 }
    read.pace = { ...read.pace, drainNotice: 600, loadReport: 200 }
    // Nobody sends emails then.
    if (!withWorker) read.mail.patienceMilliseconds = 0
    return changeConfig(read, changes)
  }
  const config = configure({})
  // The copied database has the shipped catalog.
  if (config.hasOwnCatalog) await administer(database.url, 'DELETE FROM deployable_models')
  const keepsCatalog = !config.hasOwnCatalog && config.databaseUrl === database.url
  const open = async (more: Record<string, string>, atPort: number) => {
    const application = await createApplication(configure(more), { log, keepsCatalog, ...overrides })
    const worker = withWorker ? await startWorker(application) : null
    const app = await buildServer(application)
    await app.listen({ host: '127.0.0.1', port: atPort })
    const stop = async () => {
      app.server.closeAllConnections()
      await app.close()
      await worker?.stop()
    }
    return { application, app, stop }
  }
  let running = await open({}, 0)
  const { port } = running.app.server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    get app() {
      return running.app
    },
    get application() {
      return running.application
    },
    dataDirectory,
    databaseUrl: database.url,
    logs,
    async restart(more) {
      await running.stop()
      await running.application.close()
      running = await open(more, port)
    },
    async close() {
      await running.stop()
      const { application } = running
      for (const runtime of application.runtimes.all) {
        for (const id of await runtime.listEngineIds()) {
          while (!(await runtime.release(id))) await new Promise(setImmediate)
        }
      }
      await application.close()
      await database.drop()
      await rm(dataDirectory, { recursive: true, force: true })
    },
  }
}
