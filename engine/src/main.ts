// Loads the model and serves it until SIGTERM or until launch.json disappears. See engine/README.md.
import { flushCompileCache } from 'node:module'
import type { AddressInfo } from 'node:net'
import { basename } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createLog } from './base/log.ts'
import { parseSettings } from './base/settings.ts'
import { createStateWriter, isStillWanted } from './base/state.ts'
import { serveHealth } from './http/serve-health.ts'
import { buildServer } from './http/server.ts'
import { LoadError } from './base/load-error.ts'
import { loadModel } from './model/load-model.ts'

const exitFailed = 1
const exitBadSettings = 2
const exitNotWanted = 3
const watchMs = 1000
const shutdownMs = 1500
/** Berth sends its first request when the engine is ready. This pause is longer than that request takes. */
const releaseMemoryMs = 1000

const log = createLog()
const parsed = parseSettings(process.argv.slice(2), process.env['BERTH_ENGINE_KEY'])
delete process.env['BERTH_ENGINE_KEY']
if (!parsed.ok) {
  for (const mistake of parsed.mistakes) process.stderr.write(`${mistake}\n`)
  process.exit(exitBadSettings)
}
const { settings, key } = parsed

const { stateDirectory, nonce } = settings
const leaveIfNotWanted = (): void => {
  if (isStillWanted(stateDirectory, nonce)) return
  log('launch.json is missing or names another launch; exiting')
  process.exit(exitNotWanted)
}
leaveIfNotWanted()
const writeState = createStateWriter(stateDirectory, nonce)
const fail = (error: LoadError): never => {
  log(`failed: ${error.code}: ${error.message}`)
  writeState({ phase: 'failed', error: { code: error.code, message: error.message } })
  process.exit(exitFailed)
}
const crash = (error: unknown): never => {
  log(`crashed: ${error instanceof Error ? error.stack : String(error)}`)
  return fail(
    new LoadError(
      'engine_crashed',
      'The engine crashed because of an unexpected error. Its log has the details.',
    ),
  )
}
process.on('uncaughtException', crash)
process.on('unhandledRejection', crash)
// The engine must survive the end of its terminal and of its parent.
process.on('SIGHUP', () => {})

writeState({})
setInterval(leaveIfNotWanted, watchMs)

const server = buildServer({ key, log })
const stop = (): void => {
  log('received a signal; shutting down')
  setTimeout(() => process.exit(0), shutdownMs)
  void server.close().finally(() => process.exit(0))
}
process.once('SIGTERM', stop)
process.once('SIGINT', stop)

const { aliases, type, contextTokens, parallel, gpuLayers } = settings
log(
  `serving ${basename(settings.modelPath)} as ${aliases.join(' and ')} (${type}): context ${contextTokens}, parallel ${parallel}, ` +
    `GPU layers ${gpuLayers}`,
)
await server.fastify.listen({ host: '127.0.0.1', port: 0 })
const { port } = server.fastify.server.address() as AddressInfo
writeState({ port })

const started = performance.now()
const loaded = await loadModel(settings, log).catch(fail)
server.setModel(loaded)
writeState({ phase: 'ready' })
log(`ready in ${Math.round(performance.now() - started)} ms`)
setTimeout(() => {
  void serveHealth().then((health_port) => writeState({ health_port }))
  // Node itself writes its compile cache only at the exit, which an engine that is killed does not reach.
  flushCompileCache()
  releaseMemory()
}, releaseMemoryMs)

/** Frees the load's memory: V8 would keep about 80 MB of it, because an idle engine allocates little. */
function releaseMemory(): void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as NonNullable<typeof gc>
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}
