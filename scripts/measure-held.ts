// Measures requests that are held while a deployment wakes up: their memory in the server, how many wakes they cause, whether all are answered,
// and when the first one is after the engine is ready. The engine is stopped until all are held.
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { measureMemory, path, startMeasuredServer } from './measured-server.ts'
import type { Deployment, MeasuredServer } from './measured-server.ts'
import { runProgram } from './run-program.ts'

const { values } = parseArgs({ options: { requests: { type: 'string', default: '10000' } } })
const count = Number(values.requests)
const limit = String(2 * count)
const settings = {
  INFERENCE_MAX_QUEUED_PER_DEPLOYMENT: limit,
  INFERENCE_MAX_IN_FLIGHT_PER_USER: limit,
  INFERENCE_QUEUE_TIMEOUT_MS: '600000',
}

/** A connection of a caller: what it has received, and when the answer began. */
interface Caller {
  socket: Socket
  received: string
  answeredAt: number
}

async function open({ url }: MeasuredServer): Promise<Caller> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const caller = { socket, received: '', answeredAt: 0 }
  socket.setEncoding('utf8').on('data', (text: string) => {
    caller.answeredAt ||= Date.now()
    caller.received += text
  })
  await new Promise((done, reject) => socket.once('connect', done).once('error', reject))
  return caller
}

async function openAll(server: MeasuredServer): Promise<Caller[]> {
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

function ask({ cookie }: MeasuredServer, { socket }: Caller, model: string): void {
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }], max_tokens: 1 })
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: berth\r\ncookie: ${cookie}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  )
}

async function readWaiting({ url }: MeasuredServer): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  return Number(/^berth_inference_waiting(?:\{.*\})? (\d+)$/m.exec(text)?.[1])
}

async function until(isDone: () => boolean | Promise<boolean>, what: string): Promise<void> {
  for (const end = Date.now() + 300_000; !(await isDone()); await delay(20)) {
    if (Date.now() > end) throw new Error(`Waited 300 s for ${what}.`)
  }
}

await runProgram(async (cleanup) => {
  const server = await startMeasuredServer({ engines: 2, memory: 2 ** 30, settings }, cleanup)
  const { id } = await server.call<Deployment>('POST', path, { model_name: 'berth-tiny' })
  await server.waitForStatus(id, 'running')
  await server.call('POST', `${path}/${id}/sleep`)
  await server.waitForStatus(id, 'sleeping')
  const callers = await openAll(server)
  cleanup.defer(() => callers.forEach(({ socket }) => socket.destroy()))
  await delay(2_000)
  const before = measureMemory([server.pid])
  ask(server, callers[0]!, id)
  await until(() => server.findEngines().length > 0, 'the engine')
  const [engine] = server.findEngines()
  process.kill(engine!, 'SIGSTOP')
  for (const [index, caller] of callers.slice(1).entries()) {
    ask(server, caller, id)
    if (index % 500 === 499) await delay(50)
  }
  await until(async () => (await readWaiting(server)) === count, `${count} held requests`)
  await delay(2_000)
  const held = measureMemory([server.pid])
  process.kill(engine!, 'SIGCONT')
  await until(() => callers.every(({ answeredAt }) => answeredAt > 0), 'the answers')
  const { items } = await server.call<{ items: { at: string; message: string }[] }>(
    'GET',
    `${path}/${id}/events`,
  )
  const wakes = items.filter(({ message }) => message.startsWith('Woken by a request')).length
  const readyAt = Date.parse(items.findLast(({ message }) => message.startsWith('The model is ready'))!.at)
  const times = callers.map(({ answeredAt }) => answeredAt - readyAt).toSorted((one, other) => one - other)
  const answered = callers.filter(({ received }) => received.startsWith('HTTP/1.1 200 ')).length
  console.log(`requests held   ${count}`)
  console.log(`answered 200    ${answered}`)
  console.log(`wakes           ${wakes}`)
  console.log(`memory of each  ${(((held - before) * 1024) / count).toFixed(1)} KiB`)
  console.log(`first answer    ${times[0]} ms after ready`)
  console.log(`last answer     ${times.at(-1)} ms after ready`)
  await server.call('DELETE', `${path}/${id}`)
  await server.waitForStatus(id, 'terminated')
  return answered === count && wakes === 1
})
