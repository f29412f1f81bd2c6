// Measures requests that are held while a deployment wakes up: their memory in the server, how many wakes
// they cause, whether all are answered, and when the first one is after the engine is ready. The engine is
// stopped until all are held. Beside it, the memory of node:http alone.
import { spawn } from 'node:child_process'
import { on } from 'node:events'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { memoryFlags, path, readMemory, startMeasuredServer } from './measured-server.ts'
import type { Deployment } from './measured-server.ts'
import { runProgram } from './run-program.ts'

const { values } = parseArgs({
  options: { requests: { type: 'string', default: '10000' }, streams: { type: 'boolean', default: false } },
})
const count = Number(values.requests)
const limit = String(2 * count)
const settings = {
  INFERENCE_MAX_QUEUED_PER_DEPLOYMENT: limit,
  INFERENCE_MAX_IN_FLIGHT_PER_USER: limit,
  INFERENCE_QUEUE_TIMEOUT_MS: '600000',
}

/** A server whose memory is measured. */
interface Measured {
  readonly url: string
  readonly cookie: string
  readMemory(): Promise<NodeJS.MemoryUsage>
}

/** A connection of a caller: what it has received, and when the answer began. */
interface Caller {
  socket: Socket
  received: string
  answeredAt: number
}

interface Event {
  at: string
  transition: { type: string; phases: unknown } | null
}

async function open({ url }: Measured): Promise<Caller> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const caller = { socket, received: '', answeredAt: 0 }
  socket.setEncoding('utf8').on('data', (text: string) => {
    caller.received += text
    if (caller.received.includes(values.streams ? 'data: ' : 'HTTP/1.1')) caller.answeredAt ||= Date.now()
  })
  await new Promise((done, reject) => socket.once('connect', done).once('error', reject))
  return caller
}

async function openAll(server: Measured): Promise<Caller[]> {
  const callers: Caller[] = []
  while (callers.length < count) {
    callers.push(
      ...(await Promise.all(
        Array.from({ length: Math.min(200, count - callers.length) }, () => open(server)),
      )),
    )
  }
  return callers
}

function ask({ cookie }: Measured, { socket }: Caller, model: string): void {
  const body = JSON.stringify({
    model,
    messages: [{ role: 'user', content: 'Hello' }],
    max_tokens: 1,
    stream: values.streams,
  })
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: berth\r\ncookie: ${cookie}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  )
}

async function until(isDone: () => boolean | Promise<boolean>, what: string): Promise<void> {
  for (const end = Date.now() + 300_000; !(await isDone()); await delay(20)) {
    if (Date.now() > end) throw new Error(`Waited 300 s for ${what}.`)
  }
}

/** Sends a request on each connection, and prints what they and their connections take. */
async function holdAll(server: Measured, model: string, isHeld: () => Promise<boolean>): Promise<Caller[]> {
  const idle = await server.readMemory()
  const callers = await openAll(server)
  const connected = await server.readMemory()
  for (const [index, caller] of callers.entries()) {
    ask(server, caller, model)
    if (index % 500 === 499) await delay(50)
  }
  await until(isHeld, `${count} held requests`)
  const held = await server.readMemory()
  printMemory('connection', idle, connected)
  printMemory('request', connected, held)
  return callers
}

function printMemory(what: string, before: NodeJS.MemoryUsage, after: NodeJS.MemoryUsage): void {
  const each = (part: keyof NodeJS.MemoryUsage) =>
    `${((after[part] - before[part]) / count / 1024).toFixed(1).padStart(5)} KiB`
  console.log(
    `  ${what.padEnd(11)} ${each('rss')} resident  ${each('heapUsed')} of objects  ${each('external')} external`,
  )
}

async function measureBare(): Promise<void> {
  await using cleanup = new AsyncDisposableStack()
  const flags = [...memoryFlags, join(import.meta.dirname, 'hold-requests.ts')]
  const child = spawn(process.execPath, flags, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  cleanup.defer(() => void child.kill())
  const next = async (name: string): Promise<number> => {
    for await (const [message] of on(child, 'message')) if (name in message) return message[name]
    throw new Error('The server has ended.')
  }
  const server = {
    url: `http://127.0.0.1:${await next('port')}`,
    cookie: `berth_session=${'x'.repeat(43)}`,
    readMemory: () => readMemory(child),
  }
  console.log('node:http alone, for each of the')
  const callers = await holdAll(server, 'x'.repeat(36), async () => {
    child.send('held')
    return (await next('held')) === count
  })
  callers.forEach(({ socket }) => socket.destroy())
}

async function readWaiting({ url }: Measured): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  return Number(/^berth_inference_waiting(?:\{.*\})? (\d+)$/m.exec(text)?.[1])
}

await runProgram(async (cleanup) => {
  await measureBare()
  const server = await startMeasuredServer({ engines: 2, memory: 2 ** 30, settings }, cleanup)
  const { id } = await server.call<Deployment>('POST', path, { model_name: 'berth-tiny' })
  await server.waitForStatus(id, 'running')
  await server.call('POST', `${path}/${id}/sleep`)
  await server.waitForStatus(id, 'sleeping')
  let engine = 0
  const stopEngine = async () => {
    for (; engine === 0; await delay(5)) engine = server.findEngines()[0] ?? 0
    process.kill(engine, 'SIGSTOP')
  }
  const stopped = stopEngine()
  console.log('Berth')
  const callers = await holdAll(server, id, async () => (await readWaiting(server)) === count)
  cleanup.defer(() => callers.forEach(({ socket }) => socket.destroy()))
  await stopped
  process.kill(engine, 'SIGCONT')
  await until(() => callers.every(({ answeredAt }) => answeredAt > 0), 'the answers')
  const { items } = await server.call<{ items: Event[] }>('GET', `${path}/${id}/events`)
  const wakes = items.flatMap(({ at, transition }) => (transition?.type === 'wake' ? { at, transition } : []))
  const begun = wakes.filter(({ transition }) => transition.phases === null)
  const ready = wakes.find(({ transition }) => transition.phases !== null)!
  const times = callers
    .map(({ answeredAt }) => answeredAt - Date.parse(ready.at))
    .toSorted((one, other) => one - other)
  const answered = callers.filter(({ received }) => received.startsWith('HTTP/1.1 200 ')).length
  console.log(`requests held   ${count}`)
  console.log(`answered 200    ${answered}`)
  console.log(`wakes           ${begun.length}`)
  console.log(`first answer    ${times[0]} ms after ready`)
  console.log(`last answer     ${times.at(-1)} ms after ready`)
  await server.call('DELETE', `${path}/${id}`)
  await server.waitForStatus(id, 'terminated')
  return answered === count && begun.length === 1
})
