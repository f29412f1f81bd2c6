import './tick-shape.ts'
import { openLog } from '../base/log.ts'
import { readConfig } from '../config/config.ts'
import type { Config } from '../config/config.ts'
import { listWarnings } from '../config/warnings.ts'
import { isSupervisor, stopMilliseconds, superviseProcesses, supervisedStop } from './processes.ts'
import { checkEnvironment } from './startup-checks.ts'

/** npm passes Ctrl-C on, and process managers signal every process: that is one request to stop. */
const sameRequestMilliseconds = 1_000

async function main(): Promise<void> {
  const config = readConfig(process.env)
  const stopping = supervisedStop() ?? stopSignal()
  if (isSupervisor()) await checkEnvironment(config)
  if (config.apiProcesses > 1 && isSupervisor()) return supervise(config, stopping)
  // Loaded only here: a supervisor, and a process whose settings are invalid, need none of it.
  const { runServer } = await import('./run-server.ts')
  await runServer(config, stopping)
}

function supervise(config: Config, stopping: AbortSignal): Promise<void> {
  const log = openLog(config)
  for (const warning of listWarnings(config)) log.warn(warning)
  return superviseProcesses({
    count: config.apiProcesses,
    shutdownTimeout: config.drainDelayMilliseconds + stopMilliseconds,
    stopping,
    log,
  })
}

/** Aborts on the first SIGTERM or SIGINT. A later one exits at once. */
function stopSignal(): AbortSignal {
  const stopping = new AbortController()
  let at = Infinity
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      at = Math.min(at, performance.now())
      if (performance.now() - at > sameRequestMilliseconds) process.exit(1)
      stopping.abort()
    })
  }
  return stopping.signal
}

// For example, a library throws when a connection is lost while it is being closed.
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
