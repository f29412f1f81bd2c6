import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { findFreePort } from '../../../src/base/free-port.ts'
import { connectDatabase } from '../../../src/database/connect.ts'
import type { Database } from '../../../src/database/tables.ts'
import { administer } from '../../support/administer-database.ts'
import { createTestDatabase } from '../../support/database.ts'
import { childEnvironment } from '../../support/process.ts'
import { Hardware } from './hardware.ts'
import { toFastTime } from './to-fast-time.ts'
import type { FastTime } from './to-fast-time.ts'

/** A server process that is killed and started again. */
export interface Member {
  readonly role: 'api' | 'worker'
  readonly settings: Record<string, string>
  /** Of an API */
  readonly url: string
  child: ChildProcess
  /** How far its clock was set forward, in milliseconds */
  clockStep: number
  /** When it was killed: requests that it had then are lost */
  readonly kills: number[]
  output: string
}

/** Two APIs and two workers on one database and simulated hardware. Their time runs faster than the clock. */
export interface World {
  readonly db: Database
  readonly hardware: Hardware
  readonly members: readonly Member[]
  readonly apis: readonly Member[]
  /** Milliseconds since 1970 in fast time */
  now(): number
  /** The fast time at a time of the clock */
  toFastTime(at: number): number
  /** Waits so many milliseconds of fast time. */
  pass(milliseconds: number): Promise<void>
}

const child = resolve(import.meta.dirname, 'server-child.ts')
const accelerator = resolve(import.meta.dirname, 'fast-time.ts')

export async function openWorld(
  { factor, places, random }: { factor: number; places: number; random: () => number },
  cleanup: AsyncDisposableStack,
): Promise<World> {
  const time = { factor, epoch: Date.now() }
  const database = await createTestDatabase('migrated')
  cleanup.defer(() => database.drop())
  await hastenDatabase(database.url, time)
  const connection = connectDatabase(database.url, 4, () => {})
  cleanup.defer(() => connection.close())
  const hardware = new Hardware(places, time, random)
  await hardware.open()
  cleanup.defer(() => hardware.close())
  const members: Member[] = []
  cleanup.defer(async () => void (await Promise.all(members.map(kill))))
  for (const role of ['api', 'api', 'worker', 'worker'] as const) {
    const folder = await mkdtemp(join(tmpdir(), 'berth-history-'))
    cleanup.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
    const port = await findFreePort()
    const settings = {
      ROLE: role,
      PORT: String(port),
      DATABASE_URL: database.url,
      DATABASE_POOL_SIZE: '6',
      DATA_DIR: folder,
      SECRET_KEY: 'k'.repeat(32),
      HARDWARE_URL: hardware.url,
      BILLING_TRIAL_CREDIT: '100000',
      BILLING_TRIAL_MAX_ACTIVE: '1000',
      WAKE_PATIENCE: '2m',
      FAST_TIME_FACTOR: String(factor),
      FAST_TIME_EPOCH: String(time.epoch),
    }
    const url = `http://127.0.0.1:${port}`
    members.push({ role, settings, url, child: await start(settings), clockStep: 0, kills: [], output: '' })
  }
  for (const member of members) follow(member)
  return {
    db: connection.db,
    hardware,
    members,
    apis: members.filter(({ role }) => role === 'api'),
    toFastTime: (at) => toFastTime(at, time),
    now: () => toFastTime(Date.now(), time),
    pass: (milliseconds) => delay(milliseconds / factor),
  }
}

/** Kills a process and starts it again. */
export async function killAndRestart(world: World, member: Member): Promise<void> {
  member.kills.push(world.now())
  await kill(member)
  member.child = await start(member.settings)
  member.clockStep = 0
  follow(member)
}

/** Sets the clock of a process forward or back. */
export function stepClock(member: Member, milliseconds: number): void {
  if (!member.child.connected) return
  member.clockStep += milliseconds
  member.child.send({ step: milliseconds })
}

export function resetClock(member: Member): void {
  stepClock(member, -member.clockStep)
}

async function kill({ child: running }: Member): Promise<void> {
  if (running.exitCode !== null || running.signalCode !== null) return
  const ended = new Promise((done) => running.once('exit', done))
  running.kill('SIGKILL')
  await ended
}

function follow(member: Member): void {
  member.child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    member.output = (member.output + text).slice(-20_000)
  })
}

/** Starts a process, again if the database was too slow for time that runs fast, as a supervisor would. */
async function start(settings: Record<string, string>): Promise<ChildProcess> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await startOnce(settings)
    } catch (error) {
      if (tries > 20 || !String(error).includes('timeout expired')) throw error
    }
  }
}

function startOnce(settings: Record<string, string>): Promise<ChildProcess> {
  const started = fork(child, {
    execArgv: ['--import', accelerator],
    env: { ...childEnvironment(), ...settings },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  let errors = ''
  started.stderr?.setEncoding('utf8').on('data', (text: string) => (errors += text))
  return new Promise((done, reject) => {
    started.once('message', () => done(started))
    started.once('exit', (code, signal) =>
      reject(new Error(`A server process ended with ${signal ?? code}: ${errors}`)),
    )
  })
}

/** Lets `now()` of a database run as fast as the processes. */
async function hastenDatabase(url: string, { factor, epoch }: FastTime): Promise<void> {
  const name = new URL(url).pathname.slice(1)
  const at = `to_timestamp(${epoch / 1000})`
  const define = (called: string) => `CREATE FUNCTION fast.${called}() RETURNS timestamptz LANGUAGE sql STABLE
    AS 'SELECT ${at} + (pg_catalog.${called}() - ${at}) * ${factor}'`
  await administer(
    url,
    'CREATE SCHEMA fast',
    define('now'),
    define('clock_timestamp'),
    `ALTER DATABASE ${name} SET search_path = public, fast, pg_catalog`,
  )
}
