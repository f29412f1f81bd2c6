// Runs another inference server, such as vLLM or llama-server, like Berth's engine. See engine/README.md.
import { spawn, spawnSync } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { parseArgs } from 'node:util'
import { createLog } from '../base/log.ts'
import { createStateWriter, isStillWanted } from '../base/state.ts'

const exitBadSettings = 2
const exitNotWanted = 3
const watchMs = 1000
const probeMs = 250
const probeTimeoutMs = 3000
const shutdownMs = 3000

const options = {
  'state-dir': { type: 'string' },
  nonce: { type: 'string' },
  port: { type: 'string' },
  /** A regular expression: a line of the server's log that means that it doesn't use its GPU */
  'no-gpu': { type: 'string' },
} as const
const { values, positionals } = parseArgs({ options, allowPositionals: true })
const key = process.env['BERTH_ENGINE_KEY'] ?? ''
delete process.env['BERTH_ENGINE_KEY']
const { 'state-dir': stateDirectory = '', nonce = '' } = values
const noGpu = values['no-gpu'] === undefined ? null : new RegExp(values['no-gpu'], 'i')
/** null for a program that serves no model, and is ready once it runs */
const port = values.port === undefined ? null : Number(values.port)
const [command, ...args] = positionals
const isPort = port === null || port > 0
if (command === undefined || stateDirectory === '' || nonce === '' || key === '' || !isPort) {
  process.stderr.write(
    'usage: supervisor/main.ts --state-dir folder --nonce NONCE [--port PORT] -- COMMAND...\n',
  )
  process.exit(exitBadSettings)
}

const log = createLog()
const isWanted = (): boolean => isStillWanted(stateDirectory, nonce)
if (!isWanted()) process.exit(exitNotWanted)
const writeState = createStateWriter(stateDirectory, nonce)
// The server must survive the end of the terminal and of Berth.
process.on('SIGHUP', () => {})
writeState({})

// If the supervisor is killed, the kernel ends the server, too.
const guard = ['setpriv', '--pdeathsig', 'KILL', '--']
const isGuarded =
  process.platform === 'linux' && spawnSync('setpriv', [...guard.slice(1), 'true']).status === 0
const [program = command, ...rest] = [...(isGuarded ? guard : []), command, ...args]
log(`pid ${process.pid} starting ${[command, ...args].join(' ')}`)
const child = spawn(program, rest, {
  // The process group stays that of the supervisor, so that one signal can end all of its processes.
  env: { ...process.env, LLAMA_API_KEY: key, VLLM_API_KEY: key, BERTH_SERVER_KEY: key },
  stdio: ['ignore', 'pipe', 'pipe'],
})

function logLines(output: Readable): void {
  createInterface({ input: output }).on('line', (line) => {
    const shown = line.replaceAll(key, '[key]')
    log(shown)
    if (noGpu?.test(line) === true) refuseCpu(shown)
  })
}
logLines(child.stdout)
logLines(child.stderr)
/** Ends a server that would use the CPU at the price of a GPU. */
function refuseCpu(line: string): void {
  const message = `The GPU can't be used. Log: ${line.trim().slice(0, 300)}`
  writeState({ phase: 'failed', error: { code: 'provider_error', message } })
  stop('the server does not use its GPU')
}
function failToStart(reason: string): never {
  log(`failed: could not start ${command}: ${reason}`)
  const message = `The program ${command} could not be started: ${reason}.`
  writeState({ phase: 'failed', error: { code: 'launch_rejected', message } })
  process.exit(1)
}
child.on('error', (error) => failToStart(error.message))
child.on('close', (code, signal) => {
  log(`the server ${signal === null ? `exited with code ${code}` : `was killed by ${signal}`}`)
  // setpriv's codes for a program that is no executable file, or that doesn't exist
  if (code === 126) failToStart('permission denied')
  if (code === 127) failToStart('not found')
  process.exit(isWanted() ? (code ?? 1) : exitNotWanted)
})

let isStopping = false
function stop(reason: string): void {
  if (isStopping) return
  isStopping = true
  log(`${reason}; stopping the server`)
  child.kill('SIGTERM')
  setTimeout(() => {
    child.kill('SIGKILL')
    // Workers of vLLM may outlive their parent. A supervisor that Berth started leads its process group.
    process.kill(-process.pid, 'SIGKILL')
  }, shutdownMs)
}
process.on('SIGTERM', () => stop('received SIGTERM'))
process.on('SIGINT', () => stop('received SIGINT'))
setInterval(() => {
  if (!isWanted()) stop('launch.json is missing or names another launch')
}, watchMs)

/** True if the server is healthy and accepts the key. Another program that took the port would reject it. */
async function isReady(): Promise<boolean> {
  const signal = AbortSignal.timeout(probeTimeoutMs)
  const headers = { authorization: `Bearer ${key}` }
  try {
    for (const path of ['/health', '/v1/models']) {
      const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers, signal })
      await response.arrayBuffer()
      if (!response.ok) return false
    }
    return true
  } catch {
    return false
  }
}

const started = performance.now()
if (port !== null) {
  while (!(await isReady())) await new Promise((resolve) => setTimeout(resolve, probeMs))
}
if (isStopping) await new Promise(() => {})
writeState({ port, phase: 'ready' })
log(`ready in ${Math.round(performance.now() - started)} ms`)
