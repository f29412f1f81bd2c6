import { setTimeout as delay } from 'node:timers/promises'
import Fastify from 'fastify'
import type { Config } from '../config/config.ts'
import { listWarnings } from '../config/warnings.ts'
import type { Ready } from '../base/readable-log.ts'
import type { App } from '../http/app.ts'
import { prepareClose } from '../http/graceful-close.ts'
import { differOnlyInLoopbackName } from '../base/loopback.ts'
import type { Application } from '../wiring/application.ts'
import { createApplication } from '../wiring/create-application.ts'
import { drainMilliseconds, isSupervisor, reportListening } from './processes.ts'
import { buildServer } from './server.ts'
import { startWorker } from './worker.ts'
import { buildWorkerServer } from './worker-server.ts'

/** Of a worker's health checks and metrics, unless `METRICS_PORT` is set */
const defaultWorkerPort = 8081

/** Runs the role's parts until `stopping` aborts or the database is lost, which throws. */
export async function runServer(config: Config, stopping: AbortSignal): Promise<void> {
  const application = await createApplication(toProcessConfig(config))
  await using _application = { [Symbol.asyncDispose]: () => application.close() }
  if (isSupervisor()) for (const warning of listWarnings(config)) application.log.warn(warning)
  if (config.role === 'migrate') return
  void application.modelStore.check()
  const stopped = AbortSignal.any([stopping, application.lost])
  const parts: Part[] = []
  try {
    if (config.role !== 'api') parts.push(await startWorker(application))
    if (config.role !== 'worker') parts.push(await listen(application, config))
    else parts.push(await listenForProbes(application, config))
    if (!stopped.aborted) await new Promise((resolve) => stopped.addEventListener('abort', resolve))
    application.log.info('shutting down')
  } finally {
    // In parallel: the worker must not keep running while a stream finishes.
    await Promise.all(parts.map((part) => part.stop()))
  }
  if (application.lost.aborted) throw application.lost.reason
}

/** Divides the settings for the whole server, such as the database connections, among its processes. */
function toProcessConfig(config: Config): Config {
  const share = Math.ceil(config.databasePoolSize / config.apiProcesses)
  return { ...config, databasePoolSize: Math.max(2, share) }
}

/** A part of the server: the API or the worker. */
interface Part {
  stop(): Promise<void>
}

async function listen(application: Application, config: Config): Promise<Part> {
  const { host, port, publicUrl, metricsPort } = config
  const app = await buildServer(application)
  const closeApp = prepareClose(app, drainMilliseconds, () => app.ending.abort())
  const listenAddress = await app.listen({ host, port })
  const isSameServer = differOnlyInLoopbackName(new URL(listenAddress), publicUrl)
  const address = isSameServer ? publicUrl.origin : listenAddress
  const closeMetrics = metricsPort === null ? null : await serveMetrics(app, host, metricsPort)
  if (config.apiProcesses === 1)
    application.log.info(describeReady(application, address), `listening on ${address}`)
  else reportListening(address)
  return {
    async stop() {
      // Fails `/readyz`, and serves requests until load balancers have noticed.
      app.shuttingDown.abort()
      await delay(config.drainDelayMilliseconds)
      await closeApp()
      await closeMetrics?.()
    },
  }
}

/** Serves a worker's health checks and metrics. A program on the default port doesn't stop the worker. */
async function listenForProbes(application: Application, config: Config): Promise<Part> {
  const { host, metricsPort } = config
  const { log } = application
  const app = await buildWorkerServer(application)
  const close = prepareClose(app, 5_000)
  try {
    const probes = await app.listen({ host, port: metricsPort ?? defaultWorkerPort })
    log.info({ probes }, 'working')
  } catch (error) {
    if (metricsPort !== null) throw error
    log.warn(
      { err: error },
      `port ${defaultWorkerPort} is not free, so no one can check this worker: set METRICS_PORT`,
    )
    log.info('working')
  }
  return {
    async stop() {
      app.shuttingDown.abort()
      await close()
    },
  }
}

function describeReady({ config, runtimes }: Application, address: string): { ready: Ready } {
  const engines = runtimes.engines.map(({ title, versionPrefix, version }) =>
    version === null ? title : `${title} ${versionPrefix}${version}`,
  )
  return { ready: { address, dataDirectory: config.dataDirectory, engines } }
}

/** Serves the metrics on their own port, and returns a function that stops it. */
async function serveMetrics(app: App, host: string, port: number): Promise<() => Promise<void>> {
  const metricsApp = Fastify()
  metricsApp.get('/metrics', async (_request, reply) =>
    reply.type(app.metrics.contentType).send(await app.readMetrics()),
  )
  const close = prepareClose(metricsApp, 5_000)
  await metricsApp.listen({ host, port })
  return close
}
