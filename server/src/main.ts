import { setTimeout as delay } from 'node:timers/promises'
import Fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import type { Application } from './application.ts'
import { readConfig } from './config.ts'
import type { Config } from './config.ts'
import { listWarnings } from './config/warnings.ts'
import { createApplication } from './create-application.ts'
import type { App } from './http/app.ts'
import { openLog } from './log.ts'
import { isSupervisor, reportListening, superviseProcesses, supervisedStop } from './processes.ts'
import { buildServer } from './server.ts'
import { startWorker } from './worker.ts'

const drainMilliseconds = 30_000
const endMilliseconds = 15_000

async function main(): Promise<void> {
  const config = readConfig(process.env)
  const stopping = supervisedStop() ?? stopSignal()
  if (config.apiProcesses > 1 && isSupervisor()) return supervise(config, stopping)
  const application = await createApplication(forOneProcess(config))
  await using _application = { [Symbol.asyncDispose]: () => application.close() }
  if (isSupervisor()) logWarnings(config, application.log)
  if (config.role === 'migrate') return
  const stopped = AbortSignal.any([stopping, application.lost])
  const parts: Part[] = []
  try {
    if (config.role !== 'api') parts.push(await startWorker(application))
    if (config.role !== 'worker') parts.push(await listen(application, config))
    else application.log.info('working')
    if (!stopped.aborted) await new Promise((resolve) => stopped.addEventListener('abort', resolve))
    application.log.info('shutting down')
  } finally {
    // Together: the worker must not go on for as long as a stream takes to finish.
    await Promise.all(parts.map((part) => part.stop()))
  }
  if (application.lost.aborted) throw application.lost.reason
}

function supervise(config: Config, stopping: AbortSignal): Promise<void> {
  const endWithin = config.drainDelaySeconds * 1000 + drainMilliseconds + endMilliseconds
  const log = openLog(config)
  logWarnings(config, log)
  return superviseProcesses({ count: config.apiProcesses, endWithin, stopping, log })
}

function logWarnings(config: Config, log: Application['log']): void {
  for (const warning of listWarnings(config)) log.warn(warning)
}

/** The settings of each process where several share what the settings speak of. */
function forOneProcess(config: Config): Config {
  const share = Math.ceil(config.databasePoolSize / config.apiProcesses)
  return { ...config, databasePoolSize: Math.max(2, share) }
}

/** The half of the server that a role asks for. */
interface Part {
  stop(): Promise<void>
}

async function listen(application: Application, config: Config): Promise<Part> {
  const { host, port, metricsPort } = config
  const app = await buildServer(application)
  const address = await app.listen({ host, port })
  const metricsApp = metricsPort === null ? null : await serveMetrics(app, host, metricsPort)
  if (config.apiProcesses === 1) application.log.info(`listening on ${address}`)
  else reportListening(address)
  return {
    async stop() {
      await drain(app, config.drainDelaySeconds)
      await metricsApp?.close()
    },
  }
}

async function serveMetrics(app: App, host: string, port: number): Promise<FastifyInstance> {
  const metricsApp = Fastify()
  metricsApp.get('/metrics', async (_request, reply) =>
    reply.type(app.metrics.contentType).send(await app.readMetrics()),
  )
  await metricsApp.listen({ host, port })
  return metricsApp
}

/**
 * Says at `/readyz` that it leaves, takes requests for the seconds in which a load balancer learns of it, and then lets those
 * under way finish, for 30 s at most.
 */
async function drain(app: App, delaySeconds: number): Promise<void> {
  app.leaving.abort()
  await delay(delaySeconds * 1000)
  // A connection whose last request has ended would be kept alive, and with it the server.
  const sweep = setInterval(() => app.server.closeIdleConnections(), 100)
  const cut = setTimeout(() => app.server.closeAllConnections(), drainMilliseconds)
  await app.close()
  clearInterval(sweep)
  clearTimeout(cut)
}

/** Fires at the first SIGTERM or SIGINT; the second ends the process at once. */
function stopSignal(): AbortSignal {
  const stopping = new AbortController()
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (stopping.signal.aborted) process.exit(1)
      stopping.abort()
    })
  }
  return stopping.signal
}

// What a library throws where nobody waits for it, such as a connection that is lost while it is being closed.
process.on('uncaughtException', (error) => {
  process.stderr.write(`${error.stack}\n`)
  fail(error)
})
try {
  await main()
  process.exit(0)
} catch (error) {
  fail(error)
}

function fail(error: unknown): never {
  process.stderr.write(`Berth can't run: ${describe(error)}\n`)
  process.exit(1)
}

function describe(error: unknown): string {
  if (error instanceof SuppressedError)
    return `${describe(error.suppressed)}\n  and then: ${describe(error.error)}`
  if (!(error instanceof Error)) return String(error)
  return error.cause === undefined ? error.message : `${error.message}\n  because: ${describe(error.cause)}`
}
