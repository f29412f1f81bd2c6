// A signed-in caller's latency while 200 callers from as many networks flood each public route (README.md).
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import getPort from 'get-port'
import { Agent, request } from 'undici'
import { awaitTurn, takeCores } from './machine.ts'
import type { Cores } from './machine.ts'
import { startProgram, waitForPort } from './processes.ts'
import { createHome } from './targets/berth.ts'
import { runProgram } from '../tools/run-program.ts'

const mostSlowdown = 3
const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    callers: { type: 'string', default: '200' },
    // The process that floods this URL
    flood: { type: 'string' },
  },
})
const json = { 'content-type': 'application/json' }
const account = { email: 'ada@example.com', password: 'correct horse battery' }

/** The public routes with a body that reaches as far as a stranger's can. */
const publicRoutes: readonly { path: string; body?: (id: number) => object }[] = [
  {
    path: '/v1/user/register',
    body: (id) => ({ email: `flood-${id}@example.com`, password: account.password, organization: 'Flood' }),
  },
  { path: '/v1/user/signin', body: () => ({ email: account.email, password: 'a wrong guess' }) },
  { path: '/v1/auth/password-reset/request', body: () => ({ email: account.email }) },
  {
    path: '/v1/auth/password-reset/confirm',
    body: () => ({ token: 'A'.repeat(43), password: account.password }),
  },
  { path: '/v1/invitations/register', body: () => ({ token: 'A'.repeat(43), password: account.password }) },
  { path: `/v1/invitations/by-token/${'A'.repeat(43)}` },
  { path: '/v1/sso/providers' },
  { path: '/v1/installation' },
  { path: '/healthz' },
  { path: '/' },
]

/** Calls public routes in turn, each caller one request at a time, until the process ends. */
async function flood(url: string, callers: number): Promise<never> {
  const dispatcher = new Agent({ connections: callers })
  let count = 0
  const call = async (caller: number): Promise<never> => {
    for (;;) {
      const { path, body } = publicRoutes[(count += 1) % publicRoutes.length]!
      const headers = { ...json, 'x-forwarded-for': `198.51.${caller >> 8}.${caller & 255}` }
      const options = { dispatcher, headers, method: body === undefined ? 'GET' : 'POST' } as const
      const sent = body === undefined ? {} : { body: JSON.stringify(body(count)) }
      await request(url + path, { ...options, ...sent }).then(
        ({ body: answer }) => answer.dump(),
        () => delay(10),
      )
    }
  }
  return Promise.race(Array.from({ length: callers }, (_, caller) => call(caller)))
}

/** The 99th percentile, in milliseconds, of a signed-in caller that asks for their session every 10 ms. */
async function measure(url: string, cookie: string, seconds: number): Promise<number> {
  const times: number[] = []
  const end = performance.now() + seconds * 1000
  while (performance.now() < end) {
    const start = performance.now()
    const { statusCode, body } = await request(`${url}/v1/auth/session`, { headers: { cookie } })
    await body.dump()
    if (statusCode !== 200) throw new Error(`a signed-in caller got ${statusCode}`)
    times.push(performance.now() - start)
    await delay(10)
  }
  return times.toSorted((one, other) => one - other)[Math.floor(times.length * 0.99)]!
}

/** Starts Berth on the gateway's core, and its database on the other one. */
async function startServer(cores: Cores, folder: string, cleanup: AsyncDisposableStack): Promise<string> {
  const home = await createHome(folder, cleanup)
  const port = await getPort({ host: '127.0.0.1' })
  const server = startProgram({
    name: 'berth',
    core: cores.gateway,
    folder,
    env: {
      ...home,
      PORT: String(port),
      TRUST_PROXY: 'loopback',
      LOG_LEVEL: 'warn',
    },
    command: process.execPath,
    args: [...process.execArgv, resolve(import.meta.dirname, '../server/src/process/main.ts')],
    cleanup,
  })
  await waitForPort(server, port)
  return `http://127.0.0.1:${port}`
}

/** Starts the flood in a process that yields the load's core to the measured caller and to the database. */
function startFlood(url: string, core: number, folder: string, cleanup: AsyncDisposableStack): void {
  const flooder = [
    '-n',
    '19',
    process.execPath,
    import.meta.filename,
    '--flood',
    url,
    '--callers',
    values.callers,
  ]
  startProgram({ name: 'flood', core, folder, command: 'nice', args: flooder, cleanup })
}

async function bench(cleanup: AsyncDisposableStack): Promise<boolean> {
  await awaitTurn()
  const cores = takeCores()
  const folder = await mkdtemp(join(tmpdir(), 'berth-flood-'))
  cleanup.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
  const url = await startServer(cores, folder, cleanup)
  const registered = await request(`${url}/v1/user/register`, {
    method: 'POST',
    headers: json,
    body: JSON.stringify({ ...account, organization: 'Acme' }),
  })
  await registered.body.dump()
  const cookie = String(registered.headers['set-cookie']).split(';', 1)[0]!
  await measure(url, cookie, 2)
  const seconds = Number(values.seconds)
  const rest = await measure(url, cookie, seconds)
  startFlood(url, cores.load, folder, cleanup)
  await delay(1000)
  const flooded = await measure(url, cookie, seconds)
  const ratio = flooded / rest
  console.log(
    `p99 at rest ${rest.toFixed(2)} ms, flooded ${flooded.toFixed(2)} ms, ratio ${ratio.toFixed(1)}`,
  )
  return ratio <= mostSlowdown
}

if (values.flood === undefined) await runProgram(bench)
else await flood(values.flood, Number(values.callers))
