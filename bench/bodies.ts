// Compares the worst possible bodies of 32 MiB with an ordinary one: CPU time, and delay of other callers.
import { createServer, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { awaitTurn, takeCores } from './machine.ts'
import { median } from './samples.ts'
import { prepareBerth } from './targets/berth.ts'
import { runProgram } from '../tools/run-program.ts'

const bodyBytes = 32 * 1024 * 1024
const timerMilliseconds = 10
/** Length of a random part before it repeats, too long for a processor to learn */
const randomBytes = 1024 * 1024
const goals = { cpuRatio: 3, delayMilliseconds: 20 }

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '5' } } })
const rounds = Number(values.rounds)
if (!(rounds > 0)) throw new Error('--rounds must be a number above 0')

/** A body with as many copies of `unit` as fit. */
function fill(start: string, unit: string, end: string): Buffer {
  const copies = Math.floor((bodyBytes - start.length - end.length) / Buffer.byteLength(unit))
  return Buffer.from(start + unit.repeat(copies) + end)
}

const inList = (unit: string) => fill('{"model":"berth-tiny","x":[', unit, '0]}')
const inObject = (unit: string) => fill('{"model":"berth-tiny",', unit, '"z":0}')
const inText = (unit: string) => fill('{"model":"berth-tiny","x":"', unit, '"}')

/** Brackets that a processor can't predict, with a comma at the end */
function randomBrackets(): string {
  let text = '['
  let depth = 1
  for (let count = 0; count < randomBytes; count += 1) {
    const opens = depth < 2 || (depth < 900 && Math.random() < 0.5)
    text += opens ? (text.endsWith('[') ? '[' : ',[') : ']'
    depth += opens ? 1 : -1
  }
  return `${text}${']'.repeat(depth)},`
}

function randomValues(): string {
  const values = ['0', '-12', 'true', '""', '"a"', '"\\n"', '[]', '{}', '[{"":[]}]', '{"a":1}', '[ 1 ]']
  return Array.from(
    { length: randomBytes / 4 },
    () => `${values[Math.floor(Math.random() * values.length)]},`,
  ).join('')
}

const sentence = 'The berth is where a ship lies while it loads.\\n'

const bodies: Record<string, Buffer> = {
  ordinary: inList(`{"role":"user","content":"${sentence.repeat(20)}"},`),
  'an escape in a name': fill('{"\\u006dodel":"berth-tiny","x":"', 'x', '"}'),
  numbers: inList('0,'),
  'empty texts': inList('"",'),
  'empty objects': inList('{},'),
  'short names': inObject('"a":1,'),
  'escaped names': inObject('"strea\\u006e":1,'),
  'escaped quotes': inText('\\"'),
  backslashes: inText('\\\\'),
  'rare escapes': inText(`${'x'.repeat(300)}\\n`),
  'two-byte characters': inText('é'),
  nesting: inList(`${'['.repeat(900)}${']'.repeat(900)},`),
  'random brackets': inList(randomBrackets()),
  'random values': inList(randomValues()),
  spaces: inList(' '),
  zeros: inText('0'),
  'names of media in a text': inText('_url'),
  'short names beside media': inObject('"a":{"b_url":0},"c":0,'),
  'media without addresses': inObject('"a_url":0,'),
  incomplete: inList('0,').subarray(0, -2),
}

/** The engine: reads each request and answers. */
async function startUpstream(cleanup: AsyncDisposableStack): Promise<number> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.end('{"usage":{"prompt_tokens":1,"completion_tokens":1}}'))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cleanup.defer(async () => server.close().closeAllConnections())
  return (server.address() as AddressInfo).port
}

function send(port: number, headers: Record<string, string>, body: Buffer): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      {
        port,
        path: '/v1/chat/completions',
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json', 'content-length': body.length },
      },
      (response) => response.resume().on('end', () => resolve(response.statusCode ?? 0)),
    )
    request.on('error', reject)
    request.end(body)
  })
}

/** CPU seconds of the server, and the longest delay of its event loop since the last call. */
async function readMetrics(port: number): Promise<{ cpu: number; delay: number }> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  const read = (name: string) => Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)`, 'm').exec(text)?.[1])
  return { cpu: read('process_cpu_seconds_total'), delay: read('nodejs_eventloop_lag_max_seconds') }
}

async function measure(cleanup: AsyncDisposableStack): Promise<boolean> {
  await awaitTurn()
  const cores = takeCores()
  const folder = await mkdtemp(join(tmpdir(), 'berth-bodies-'))
  cleanup.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
  const upstreamPort = await startUpstream(cleanup)
  const setting = await prepareBerth({ cores, folder, upstreamPort, cleanup })
  const { ports, headers } = await setting.start()
  const figures = new Map(
    Object.keys(bodies).map((name) => [name, { ratios: [] as number[], delays: [] as number[] }]),
  )
  for (let round = 0; round <= rounds; round += 1) {
    let ordinary = 0
    for (const [name, body] of Object.entries(bodies)) {
      const before = await readMetrics(ports.whole)
      const status = await send(ports.whole, headers, body)
      if (status !== (name === 'incomplete' ? 400 : 200)) throw new Error(`${name}: ${status}`)
      const { cpu, delay } = await readMetrics(ports.whole)
      const used = cpu - before.cpu
      if (name === 'ordinary') ordinary = used
      // The first round warms up.
      if (round === 0) continue
      figures.get(name)!.ratios.push(used / ordinary)
      figures.get(name)!.delays.push(delay * 1000)
    }
  }
  let reached = true
  console.log('| 32 MiB of | CPU ÷ ordinary | longest delay, ms |\n|---|---|---|')
  for (const [name, { ratios, delays }] of figures) {
    const ratio = median(ratios) ?? 0
    // An idle event loop shows the period of the timer that measures it.
    const delay = (median(delays) ?? 0) - timerMilliseconds
    reached &&= ratio <= goals.cpuRatio && delay <= goals.delayMilliseconds
    console.log(`| ${name} | ${ratio.toFixed(2)} | ${delay.toFixed(1)} |`)
  }
  console.log(
    `\nGoals: at most ${goals.cpuRatio} times the CPU, ${goals.delayMilliseconds} ms of delay: ${reached ? 'reached' : 'missed'}`,
  )
  return reached
}

await runProgram(measure)
