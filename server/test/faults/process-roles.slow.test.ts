import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFile, readdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { query } from '../database/scratch.ts'
import { createClient, registerClient } from '../support/client.ts'
import { createTestDatabase } from '../support/database.ts'
import { startGate } from '../support/database-gate.ts'
import { deploy } from '../support/deployments.ts'
import { listen } from '../support/listen.ts'
import {
  childEnvironment,
  createDataDirectory,
  findEngineProcesses,
  removeDataDirectory,
  spawnServer,
  startFlags,
} from '../support/process.ts'
import type { ServerProcess } from '../support/process.ts'

const root = resolve(import.meta.dirname, '../../..')
const secretKey = randomBytes(32).toString('hex')

/** Starts a server that is killed at the end of the test. */
function start(settings: Record<string, string>, args?: string[]): ServerProcess {
  const server = spawnServer(settings, args)
  onTestFinished(async () => {
    server.child.kill('SIGKILL')
    await server.exited
  })
  return server
}

async function createSettings(content: 'empty' | 'migrated' = 'migrated') {
  const database = await createTestDatabase(content)
  onTestFinished(() => database.drop())
  const dataDirectory = await createDataDirectory()
  onTestFinished(() => removeDataDirectory(dataDirectory))
  return { DATA_DIR: dataDirectory, DATABASE_URL: database.url, DRAIN_DELAY: '0s' }
}

test('invalid settings: exit code 1, every error named, no secret printed', async () => {
  const server = start({
    PORT: 'eighty',
    LOG_LEVEL: 'loud',
    SECRET_KEY: 'much-too-short',
    DATABASE_URL: 'mysql://root:hunter22@db/berth',
    PUBLIC_URL: 'berth.example.com',
  })
  expect(await server.exited).toBe(1)
  for (const name of ['PORT', 'LOG_LEVEL', 'SECRET_KEY', 'DATABASE_URL', 'PUBLIC_URL']) {
    expect(server.output()).toContain(`- ${name}: `)
  }
  expect(server.output()).not.toMatch(/much-too-short|hunter22/)
})

test('settings from a file: the environment takes precedence, and a missing file is ignored', async () => {
  const { scripts } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  expect(scripts.start).toBe(
    'exec node --no-memory-reducer --max-semi-space-size=16 --heap-growing-percent=100 --no-async-context-frame server/bin/berth.mjs .env',
  )
  const folder = await createDataDirectory()
  onTestFinished(() => removeDataDirectory(folder))
  const file = join(folder, '.env')
  await writeFile(file, 'ROLE=api\nMAIL_FROM=Berth <berth@example.com>\nPORT=eighty\n')
  const server = start({}, [file])
  expect(await server.exited).toBe(1)
  const named = [...server.output().matchAll(/^ *- (\w+): /gm)].map(([, name]) => name)
  expect(new Set(named)).toEqual(new Set(['DATABASE_URL', 'SECRET_KEY']))
  const withoutFile = start({ LOG_LEVEL: 'quiet' }, [`${file}.old`])
  expect(await withoutFile.exited).toBe(1)
  expect(withoutFile.output()).toMatch(/- LOG_LEVEL: .*quiet/)
  const unreadable = start({}, [folder])
  expect(await unreadable.exited).toBe(1)
  expect(unreadable.output()).toContain(`Berth can't run: could not read the settings file ${folder}: `)
})

test('ROLE=api without DATABASE_URL and SECRET_KEY: both are named', async () => {
  const server = start({ ROLE: 'api' })
  expect(await server.exited).toBe(1)
  expect(server.output()).toMatch(/- DATABASE_URL: .*ROLE=api/)
  expect(server.output()).toMatch(/- SECRET_KEY: .*ROLE=api/)
})

test("a DATABASE_URL that can't be used: exit code 1, the setting and the remedy, without the password", async () => {
  const { DATA_DIR, DATABASE_URL } = await createSettings()
  const refused = new URL(DATABASE_URL)
  refused.password = 'hunter22'
  const missing = new URL(DATABASE_URL)
  missing.pathname = '/no_such_database'
  for (const [url, message] of [
    [
      'postgres://berth:hunter22@127.0.0.1:1/berth',
      /127\.0\.0\.1:1 can't be reached .*ECONNREFUSED.*start Post/,
    ],
    [
      'postgres://berth:hunter22@db.invalid/berth',
      /the host name db\.invalid can't be resolved .*correct the name/,
    ],
    [refused.href, /refuses the user \w+ .*correct the user name, the password/],
    [missing.href, /has no database no_such_database; create it/],
  ] as const) {
    const server = start({ DATA_DIR, DATABASE_URL: url })
    expect(await server.exited).toBe(1)
    expect(server.output()).toMatch(new RegExp(`- DATABASE_URL: .*${message.source}`))
    expect(server.output()).not.toMatch(/hunter22|\n *at /)
  }
})

test("a port in use and a HOST that can't be used: exit code 1, the setting and the remedy, no database created", async () => {
  const { DATA_DIR } = await createSettings()
  const other = createServer()
  onTestFinished(() => void other.close())
  const PORT = String(await listen(other))
  for (const [settings, message] of [
    [{ PORT }, `- PORT: port ${PORT} of 127.0.0.1 is already in use; stop the program that listens there`],
    [{ METRICS_PORT: PORT }, `- METRICS_PORT: port ${PORT} of 127.0.0.1 is already in use`],
    [{ HOST: 'berth.invalid' }, "- HOST: the name berth.invalid can't be resolved"],
    [{ HOST: '192.0.2.1' }, '- HOST: 192.0.2.1 is not an address of this machine'],
  ] as const) {
    const server = start({ DATA_DIR, ...settings })
    expect(await server.exited).toBe(1)
    expect(server.output()).toContain(message)
    expect(server.output()).not.toMatch(/\n *at /)
  }
  expect(await readdir(DATA_DIR)).toEqual([])
})

test("a DATA_DIR that can't be written: exit code 1, the setting and the remedy", async () => {
  const { DATA_DIR } = await createSettings()
  const file = join(DATA_DIR, 'file')
  await writeFile(file, '')
  // Not even root writes in /sys.
  for (const directory of [file, join(file, 'inside'), '/sys', '/sys/berth']) {
    const server = start({ DATA_DIR: directory })
    expect(await server.exited).toBe(1)
    expect(server.output()).toContain(`- DATA_DIR: ${directory} is not a writable directory (`)
    expect(server.output()).toContain('set DATA_DIR to a directory that this user can write to')
  }
})

test('the printed address is PUBLIC_URL where the listen address differs from it only in the loopback name', async () => {
  const settings = await createSettings()
  const free = createServer()
  const PORT = String(await listen(free))
  await new Promise((closed) => free.close(closed))
  const server = start({ ...settings, PORT })
  expect(await server.listening).toBe(`http://localhost:${PORT}`)
})

test('an API that has not the DATA_DIR of the worker says so instead of an empty engine log', async () => {
  const settings = { ...(await createSettings()), SECRET_KEY: secretKey }
  const other = await createDataDirectory()
  onTestFinished(() => removeDataDirectory(other))
  const api = start({ ...settings, ROLE: 'api', DATA_DIR: other })
  const worker = start({ ...settings, ROLE: 'worker' })
  const client = await registerClient(await api.listening)
  const { id } = await deploy(client)
  const read = () => client.get(`/api/v1/model-deployments/${id}/logs`)
  expect(await read()).toMatchObject({
    status: 503,
    body: { code: 'runtime_unavailable', detail: expect.stringContaining('DATA_DIR') },
  })
  await expect.poll(() => api.output()).toContain('give the API the DATA_DIR of the worker')
  api.child.kill('SIGTERM')
  await api.exited
  const together = start({ ...settings, ROLE: 'api' })
  const again = createClient(await together.listening)
  again.setCookie(client.cookie())
  expect((await again.get(`/api/v1/model-deployments/${id}/logs`)).body.items.length).toBeGreaterThan(0)
  await again.delete(`/api/v1/model-deployments/${id}`)
  await expect.poll(() => findEngineProcesses(settings.DATA_DIR)).toEqual([])
  expect(worker.child.exitCode).toBeNull()
})

test('on a terminal, the log has lines for people; pipes get JSON', async () => {
  const settings = await createSettings()
  const onTerminal = spawnOnTerminal(settings)
  const output = await onTerminal.listening
  expect(output).toMatch(/^\d\d:\d\d:\d\d listening on http:\/\/127\.0\.0\.1:\d+/m)
  expect(output).toContain(`Data     ${settings.DATA_DIR}`)
  expect(output).toContain('Engines  Berth')
  expect(output).not.toContain('"level"')
  await onTerminal.stop()
  const piped = start(settings)
  await piped.listening
  expect(piped.output()).toMatch(/^\{.*"ready":\{"address".*"msg":"listening on http/m)
})

/** Starts a server in its own terminal. Once it listens, `listening` resolves to the output so far. */
function spawnOnTerminal(settings: Record<string, string>) {
  const command = [process.execPath, ...startFlags, resolve(root, 'server/bin/berth.mjs')].join(' ')
  const child = spawn('script', ['--quiet', '--flush', '--command', command, '/dev/null'], {
    env: { ...childEnvironment(), TERM: 'xterm', NO_COLOR: '1', PORT: '0', ...settings },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const exited = once(child, 'close')
  const { promise: listening, resolve: listens, reject } = Promise.withResolvers<string>()
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text.replaceAll('\r\n', '\n')
    if (/listening on [^\n]*\n(?:[^]*Stop|\{|$)/.test(output)) listens(output)
  })
  void exited.then(() => reject(new Error(`The server exited:\n${output}`)))
  const stop = async () => {
    child.stdin.write('\u0003')
    await exited
  }
  // The end of the terminal ends the server.
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await exited
  })
  return { listening, stop }
}

test('ROLE=migrate migrates the database and exits 0, also when repeated', async () => {
  const settings = await createSettings('empty')
  for (const _ of [1, 2]) {
    const server = start({ ...settings, ROLE: 'migrate' })
    expect(await server.exited, server.output()).toBe(0)
    expect(server.output()).not.toContain('listening')
  }
  const models = await query(settings.DATABASE_URL, 'SELECT FROM deployable_models')
  expect(models.length).toBeGreaterThan(0)
})

test('a process with another SECRET_KEY refuses to start; ROLE=migrate changes it unless deployments are left', async () => {
  const settings = await createSettings()
  const migrate = async (key: string) => {
    const server = start({ ...settings, SECRET_KEY: key, ROLE: 'migrate' })
    return { code: await server.exited, output: server.output() }
  }
  const refuse = async (key: string) => {
    const server = start({ ...settings, SECRET_KEY: key, ROLE: 'api', API_PROCESSES: '1' })
    expect(await server.exited).toBe(1)
    expect(server.output()).toContain('SECRET_KEY differs from the key that the other processes')
    expect(server.output()).not.toContain(key)
  }
  const other = randomBytes(32).toString('hex')
  const api = start({ ...settings, SECRET_KEY: secretKey, ROLE: 'api', API_PROCESSES: '1' })
  const client = await registerClient(await api.listening)
  await client.post('/api/v1/model-deployments', { model_name: 'berth-tiny-embedding' })
  await refuse(other)
  const refused = await migrate(other)
  expect(refused).toMatchObject({ code: 1, output: expect.stringContaining('engines of 1 deployments') })
  await query(settings.DATABASE_URL, `UPDATE deployments SET status = 'terminated', terminated_at = now()`)
  expect(await migrate(other)).toMatchObject({ code: 0 })
  await refuse(secretKey)
})

test('ROLE=api and ROLE=worker: the worker starts a deployment that the API accepted, and the API serves it', async () => {
  const settings = { ...(await createSettings()), SECRET_KEY: secretKey }
  const api = start({ ...settings, ROLE: 'api' })
  const client = await registerClient(await api.listening)
  const requested = await client.post('/api/v1/model-deployments', { model_name: 'berth-tiny-embedding' })
  expect(requested.body).toMatchObject({ status: 'requested' })
  expect(await findEngineProcesses(settings.DATA_DIR)).toEqual([])

  const worker = start({ ...settings, ROLE: 'worker' })
  const { id } = await deploy(client)
  const answer = await client.post('/v1/chat/completions', {
    model: id,
    messages: [{ role: 'user', content: 'Hello' }],
    max_tokens: 4,
  })
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  // The worker also starts the deployment that was requested before it ran.
  const readFirst = async () =>
    (await client.get(`/api/v1/model-deployments/${requested.body.id}`)).body.status
  await expect.poll(readFirst).toBe('running')
  const [, probes = ''] = /"probes":"([^"]+)"/.exec(worker.output()) ?? []
  const prober = createClient(probes)
  for (const path of ['/healthz', '/readyz']) expect((await prober.get(path)).body).toEqual({ status: 'ok' })
  // Gauges are absent where the database is slow.
  const readMetrics = async () => (await prober.get('/metrics')).body
  await expect.poll(readMetrics).toContain('\nberth_jobs_overdue ')
  const metrics = await readMetrics()
  const gauges = [
    'deployments_overdue',
    'jobs_overdue',
    'jobs_failed',
    'usage_unsent_since_timestamp_seconds',
    'usage_anomalies_open',
  ]
  for (const gauge of gauges) expect(metrics).toMatch(new RegExp(`^berth_${gauge} 0$`, 'm'))
  expect(metrics).toMatch(/^berth_usage_settled_timestamp_seconds \d/m)
  expect(metrics).toMatch(/^berth_weight_cache_bytes \d+$/m)

  for (const each of [id, requested.body.id]) await client.delete(`/api/v1/model-deployments/${each}`)
  await expect.poll(() => findEngineProcesses(settings.DATA_DIR)).toEqual([])
  for (const server of [api, worker]) {
    server.child.kill('SIGTERM')
    expect(await server.exited).toBe(0)
    expect(server.output()).not.toContain(secretKey)
  }
})

test.each(['worker', 'all'])(
  'ROLE=%s keeps running while PostgreSQL is away, and locks DATA_DIR again',
  async (ROLE) => {
    const settings = { ...(await createSettings()), SECRET_KEY: secretKey, ROLE }
    const direct = settings.DATABASE_URL
    const gate = await startGate(direct)
    onTestFinished(() => gate.close())
    const server = start({ ...settings, DATABASE_URL: gate.url })
    const heldLocks = () =>
      query(
        direct,
        `SELECT FROM pg_locks JOIN pg_stat_activity USING (pid)
        WHERE locktype = 'advisory' AND granted AND application_name = 'berth data directory lock'
          AND datname = current_database()`,
      )
    await expect.poll(() => server.output()).toMatch(/"msg":"(working|listening on .*)"/)
    expect(await heldLocks()).toHaveLength(1)

    await gate.shut()
    await expect
      .poll(() => server.output())
      .toMatch(/"reason":"[^"]*ECONNREFUSED.*"msg":"the lock on DATA_DIR/)
    expect(await heldLocks()).toEqual([])
    await gate.open()
    await expect.poll(heldLocks).toHaveLength(1)
    expect(server.child.exitCode).toBeNull()
    const lines = server
      .output()
      .split('\n')
      .filter((line) => line.startsWith('{'))
    const errors = lines.flatMap((line) => JSON.parse(line).err ?? [])
    // One line for each cause, although a pool of connections was lost
    const causes = errors.map(({ code, message }) => code ?? message.slice(0, 'Connection terminated'.length))
    expect(causes).toContain('ECONNREFUSED')
    expect(causes).toEqual([...new Set(causes)])
    server.child.kill('SIGTERM')
    expect(await server.exited, server.output()).toBe(0)
  },
)

const oldNode = findOldNode()

test.skipIf(oldNode === null)(
  'Node below 24 (skipped if none is installed): the error message says what to do',
  async () => {
    const { scripts } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
    const [, check] = scripts.prestart.split(' ')
    for (const file of [check, 'server/bin/berth.mjs']) {
      const { status, stderr } = spawnSync(oldNode!, [file], {
        cwd: root,
        env: childEnvironment(),
        encoding: 'utf8',
      })
      expect(status).toBe(1)
      expect(stderr).toMatch(/^Berth requires Node 24 or later, and this is \d+\.\d+\.\d+\. .*npm ci/)
    }
  },
)

/** Finds the system's own Node; null if it is new enough or not installed. */
function findOldNode(): string | null {
  const directories = (process.env['PATH'] ?? '').split(':').filter((part) => !part.includes('node_modules'))
  for (const directory of directories) {
    try {
      const version = execFileSync(`${directory}/node`, ['--version'], { encoding: 'utf8' })
      return Number(/^v(\d+)/.exec(version)?.[1]) < 24 ? `${directory}/node` : null
    } catch {
      continue
    }
  }
  return null
}
