import Fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import { createApplication } from './application.ts'
import type { Application } from './application.ts'
import { readConfig } from './config.ts'
import type { Config } from './config.ts'
import { buildServer } from './server.ts'
import { startWorker } from './worker.ts'

const drainMilliseconds = 30_000

async function main(): Promise<void> {
  const config = readConfig(process.env)
  const stopping = stopSignal()
  const application = await createApplication(config)
  await using _application = { [Symbol.asyncDispose]: () => application.close() }
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

/** The half of the server that a role asks for. */
interface Part {
  stop(): Promise<void>
}

async function listen(application: Application, { host, port, metricsPort }: Config): Promise<Part> {
  const app = await buildServer(application)
  const address = await app.listen({ host, port })
  const metricsApp = metricsPort === null ? null : await serveMetrics(app, host, metricsPort)
  application.log.info(`listening on ${address}`)
  return {
    async stop() {
      await drain(app)
      await metricsApp?.close()
    },
  }
}

async function serveMetrics(app: FastifyInstance, host: string, port: number): Promise<FastifyInstance> {
  const metricsApp = Fastify()
  metricsApp.get('/metrics', async (_request, reply) =>
    reply.type(app.metrics.contentType).send(await app.metrics.metrics()),
  )
  await metricsApp.listen({ host, port })
  return metricsApp
}

/** Takes no new requests and lets those under way finish, for 30 s at most. */
async function drain(app: FastifyInstance): Promise<void> {
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

try {
  await main()
  process.exit(0)
} catch (error) {
  process.stderr.write(`Berth can't run: ${describe(error)}\n`)
  process.exit(1)
}

function describe(error: unknown): string {
  if (error instanceof SuppressedError)
    return `${describe(error.suppressed)}\n  and then: ${describe(error.error)}`
  if (!(error instanceof Error)) return String(error)
  return error.cause === undefined ? error.message : `${error.message}\n  because: ${describe(error.cause)}`
}
