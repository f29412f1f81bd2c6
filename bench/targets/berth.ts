import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { chmod, mkdtemp, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import getPort from 'get-port'
import pg from 'pg'
import { startEmbeddedDatabase } from '../../server/src/database/embedded.ts'
import { findByCommandLine, isAlive, listFamily, startProgram, waitForPort } from '../processes.ts'
import type { Program } from '../processes.ts'
import type { Running, Surroundings } from '../target.ts'
import { routedModel } from '../workloads.ts'

const server = resolve(import.meta.dirname, '../../server/bin/berth.mjs')
const packageFile = resolve(import.meta.dirname, '../../package.json')
/** The flags of Node with which `npm start` runs the server */
const startFlags = (JSON.parse(readFileSync(packageFile, 'utf8')).scripts.start as string)
  .split(' ')
  .filter((part) => part.startsWith('--'))
/** Runs a server as `npm start` does, without a file of settings. */
export const serverCommand = [process.execPath, ...startFlags, server]
const models = ['berth-tiny', 'berth-tiny-embedding', 'berth-tiny']

/** Additional data about our server. */
export interface BerthSetting {
  databaseUrl: string
  cookie: string
  /** Starts a server, with its own flags and settings besides those of all. */
  start(own?: Own): Promise<Running & { logFile: string }>
}

interface Own {
  flags?: readonly string[]
  settings?: Readonly<Record<string, string>>
}

/** How to start Berth without a part. A module of `../without` replaces the client or the fast path. */
const parts = {
  client: { flags: [`--import=${import.meta.resolve('../without/replace.ts')}?client`] },
  'fast-path': { flags: [`--import=${import.meta.resolve('../without/replace.ts')}?fast-path`] },
  'request-log': { settings: { REQUEST_LOG_RETENTION: 'off' } },
} as const satisfies Record<string, Own>

/** One setting for all targets of a run */
const settings = new WeakMap<AsyncDisposableStack, Promise<BerthSetting>>()

/** Starts Berth, or Berth without a part. */
export async function startBerth(
  surroundings: Surroundings,
  without?: keyof typeof parts,
): Promise<() => Promise<Running>> {
  const { cleanup } = surroundings
  const preparing = settings.get(cleanup) ?? prepareBerth(surroundings)
  settings.set(cleanup, preparing)
  const setting = await preparing
  return () => setting.start(without && parts[without])
}

/**
 * Berth as shipped, prepared in two steps. First a full server with an embedded database registers a user,
 * deploys two bundled models, and stops. Then the deployments get the upstream's address, which no worker
 * corrects. Each start runs a server with ROLE=api on this database, with its log in a file.
 */
export async function prepareBerth({
  cores,
  folder,
  upstreamPort,
  cleanup,
}: Surroundings): Promise<BerthSetting> {
  const home = await createHome(folder, cleanup)
  const { DATA_DIR: dataDirectory, DATABASE_URL: databaseUrl } = home
  const env = {
    ...home,
    NODE_ENV: 'production',
    // The workloads hold up to 2,000 streams, and the limit follows the sequences.
    ENGINE_MAX_SEQUENCES: '64',
    BILLING_TRIAL_MAX_ACTIVE: '3',
    VLLM_COMMAND: await writeVllm(dataDirectory),
  }
  const run = async (role: 'all' | 'api', core: number, { flags = [], settings = {} }: Own = {}) => {
    const port = await getPort({ host: '127.0.0.1' })
    const program = startProgram({
      name: `berth-${role}`,
      core,
      folder: dataDirectory,
      cleanup,
      env: { ...env, ...settings, ROLE: role, PORT: String(port) },
      command: process.execPath,
      args: [...startFlags, ...flags, server],
    })
    await waitForPort(program, port)
    return { program, port }
  }

  cleanup.defer(() => killEngines(dataDirectory))
  const whole = await run('all', cores.load)
  const { cookie, ids } = await deployModels(whole, dataDirectory)
  await pointDeployments(databaseUrl, `http://127.0.0.1:${upstreamPort}`, ids[2]!)
  return {
    databaseUrl,
    cookie,
    async start(own) {
      const { program, port } = await run('api', cores.gateway, own)
      return {
        pids: [program.pid],
        // PostgreSQL's backends are children of the process with the folder on its command line.
        listHelpers: () => findByCommandLine(join(dataDirectory, 'postgres')).flatMap(listFamily),
        ports: { whole: port, stream: port },
        headers: { cookie },
        logFile: program.logFile,
        stop: () => program.stop(),
      }
    },
  }
}

/** Creates a DATA_DIR with a running database. Resolves to the settings for both and for a random key. */
export async function createHome(folder: string, cleanup: AsyncDisposableStack) {
  const home = await mkdtemp(join(folder, 'berth-'))
  // As root, PostgreSQL runs under another account, which needs access to the folder.
  await chmod(folder, 0o755)
  await chmod(home, 0o755)
  const database = await startEmbeddedDatabase({ dataDirectory: home, log: () => {} })
  cleanup.defer(() => database.stop())
  return { DATA_DIR: home, DATABASE_URL: database.url, SECRET_KEY: randomBytes(32).toString('hex') }
}

/** Calls a route of the API. Throws unless it succeeds. */
export type Call = <Body>(method: string, path: string, body?: object) => Promise<Body>

export interface Deployment {
  id: string
  status: string
  context_tokens: number
  parallel_sequences: number
}

/** Registers a person. */
export async function signUp(url: string): Promise<{ call: Call; cookie: string }> {
  const headers: Record<string, string> = { 'content-type': 'application/json' }
  const call = async <Body>(method: string, path: string, body?: object) => {
    const response = await fetch(url + path, { method, headers, body: body ? JSON.stringify(body) : null })
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
    headers['cookie'] ??= response.headers.getSetCookie()[0]?.split(';')[0] ?? ''
    return (await response.json()) as Body
  }
  const password = randomBytes(12).toString('hex')
  await call('POST', '/v1/user/register', { email: 'bench@example.com', password, organization: 'Bench' })
  return { call, cookie: headers['cookie'] ?? '' }
}

/** Registers, deploys, and stops server and engines. Returns the session cookie and the deployment ids. */
async function deployModels(
  { program, port }: { program: Program; port: number },
  home: string,
): Promise<{ cookie: string; ids: string[] }> {
  try {
    const { call, cookie } = await signUp(`http://127.0.0.1:${port}`)
    const ids: string[] = []
    for (const model_name of models) {
      const { id } = await call<Deployment>('POST', '/api/v1/model-deployments', { model_name })
      ids.push(id)
      const deadline = Date.now() + 60_000
      for (;;) {
        const { status } = await call<Deployment>('GET', `/api/v1/model-deployments/${id}`)
        if (status === 'running') break
        if (status === 'failed' || Date.now() > deadline) throw new Error(`${model_name} is ${status}.`)
        await delay(200)
      }
    }
    return { cookie, ids }
  } finally {
    await program.stop()
    await killEngines(home)
  }
}

/** Stops the engines, which would outlive their server. */
async function killEngines(home: string): Promise<void> {
  const engines = findByCommandLine(join(home, 'engines'))
  for (const pid of engines) process.kill(pid, 'SIGKILL')
  while (engines.some(isAlive)) await delay(20)
}

/** Writes a program that Berth takes for a vLLM that serves all routes. Nothing runs it as an engine. */
async function writeVllm(folder: string): Promise<string> {
  const python = join(folder, 'python')
  const program = join(folder, 'vllm')
  await writeFile(python, '#!/bin/sh\necho 0.33.0\n', { mode: 0o755 })
  await writeFile(program, `#!${python}\n`, { mode: 0o755 })
  return program
}

/** Points the deployments at the upstream. One of them gets another name and weights of vLLM. */
async function pointDeployments(databaseUrl: string, engineUrl: string, routed: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    await client.query(`UPDATE instances SET engine_url = $1 WHERE status = 'running'`, [engineUrl])
    await client.query('UPDATE instances SET served_model_name = $1 WHERE deployment_id = $2', [
      routedModel,
      routed,
    ])
    await client.query(
      `UPDATE deployments SET model_name = $1, variant = jsonb_set(variant, '{format}', '"pytorch"') WHERE id = $2`,
      [routedModel, routed],
    )
  } finally {
    await client.end()
  }
}
