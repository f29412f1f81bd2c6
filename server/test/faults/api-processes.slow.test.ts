import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { createClient, registerClient } from '../support/client.ts'
import { createTestDatabase } from '../support/database.ts'
import { startLoadBalancer } from '../support/load-balancer.ts'
import {
  createDataDirectory,
  removeDataDirectory,
  signal,
  spawnServer,
  startFlags,
  isAlive,
} from '../support/process.ts'
import type { ServerProcess } from '../support/process.ts'

async function createSettings(
  changes: Record<string, string>,
  content: 'empty' | 'migrated' = 'migrated',
): Promise<Record<string, string>> {
  const database = await createTestDatabase(content)
  onTestFinished(() => database.drop())
  const directory = await createDataDirectory()
  onTestFinished(() => removeDataDirectory(directory))
  const SECRET_KEY = randomBytes(32).toString('hex')
  return { ROLE: 'api', DATABASE_URL: database.url, DATA_DIR: directory, SECRET_KEY, ...changes }
}

function start(settings: Record<string, string>): ServerProcess {
  const server = spawnServer(settings)
  onTestFinished(async () => {
    server.child.kill('SIGKILL')
    await server.exited
  })
  return server
}

/** Lists the process ids of a server's children (Linux). */
async function findChildren({ child: { pid } }: ServerProcess): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '')
  return text.split(' ').filter(Boolean).map(Number)
}

async function readProcesses(url: string): Promise<string[]> {
  const { body } = await createClient(url).get<string>('/metrics')
  return [...body.matchAll(/^process_resident_memory_bytes\{process="(\d+)"\}/gm)]
    .map(([, id]) => id ?? '')
    .toSorted((one, other) => Number(one) - Number(other))
}

test.skipIf(process.platform !== 'linux')(
  'API_PROCESSES=3: one port, one /metrics; a killed process is replaced; SIGTERM stops all',
  { timeout: 180_000 },
  async () => {
    const server = start(await createSettings({ API_PROCESSES: '3', DRAIN_DELAY: '0s' }, 'empty'))
    const url = await server.listening
    const before = await findChildren(server)
    expect(before).toHaveLength(3)
    for (const pid of before) {
      const commandLine = await readFile(`/proc/${pid}/cmdline`, 'utf8')
      expect(commandLine.split('\0')).toEqual(expect.arrayContaining(startFlags))
    }
    expect(await readProcesses(url)).toEqual(['1', '2', '3'])
    expect(server.output().match(/listening on/g)).toHaveLength(1)

    const client = await registerClient(url)
    signal(before[0]!, 'SIGKILL')
    await expect.poll(async () => (await findChildren(server)).length).toBe(3)
    await expect.poll(() => readProcesses(url)).toEqual(['2', '3', '4'])
    expect((await client.get('/v1/auth/session')).status).toBe(200)

    server.child.kill('SIGTERM')
    expect(await server.exited).toBe(0)
    expect((await findChildren(server)).concat(before).filter(isAlive)).toEqual([])
  },
)

test.skipIf(process.platform !== 'linux')(
  'API_PROCESSES=2: killing the parent process ends its children and frees the port',
  async () => {
    const settings = await createSettings({ API_PROCESSES: '2', DRAIN_DELAY: '0s' })
    const server = start(settings)
    const url = await server.listening
    const children = await findChildren(server)
    server.child.kill('SIGKILL')
    await expect.poll(() => children.filter(isAlive)).toEqual([])
    const next = start({ ...settings, PORT: new URL(url).port, PUBLIC_URL: url })
    expect(await next.listening).toBe(url)
  },
)

test('API_PROCESSES=2 with an unreachable database: one error message, and exit code 1', async () => {
  const settings = await createSettings({ API_PROCESSES: '2' })
  const server = start({ ...settings, DATABASE_URL: 'postgres://berth:hunter22@127.0.0.1:1/berth' })
  expect(await server.exited).toBe(1)
  expect(server.output().match(/ECONNREFUSED 127\.0\.0\.1:1/g)).toHaveLength(1)
})

// The long timeout covers four starts of two processes each under load.
test(
  'a rolling restart of two APIs behind a load balancer drops no request',
  { timeout: 180_000 },
  async () => {
    const settings = await createSettings({ API_PROCESSES: '2', DRAIN_DELAY: '1s' })
    const balancer = await startLoadBalancer()
    onTestFinished(() => balancer.close())
    let servers: ServerProcess[] = []
    for (let index = 0; index < 2; index++) {
      const server = start(settings)
      await balancer.add(await server.listening)
      servers.push(server)
    }
    const cookie = (await registerClient(balancer.url)).cookie()
    const statuses = new Map<number | string, number>()
    const stop = new AbortController()
    const callers = Array.from({ length: 4 }, async () => {
      const client = createClient(balancer.url)
      client.setCookie(cookie)
      while (!stop.signal.aborted) {
        const status = await client.get('/v1/auth/session').then(
          (answer) => answer.status,
          (error: unknown) => String(error),
        )
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
        // Without pauses, the callers would take the time that the new processes need to start.
        await delay(10)
      }
    })
    for (const old of servers) {
      const next = start(settings)
      await balancer.add(await next.listening)
      old.child.kill('SIGTERM')
      expect(await old.exited).toBe(0)
      balancer.remove(await old.listening)
    }
    const answered = statuses.get(200)!
    await expect.poll(() => statuses.get(200)).toBeGreaterThan(answered)
    stop.abort()
    await Promise.all(callers)
    expect([...statuses.keys()]).toEqual([200])
  },
)
