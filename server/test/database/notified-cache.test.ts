import { afterAll, beforeAll, expect, test } from 'vitest'
import { createServer, connect } from 'node:net'
import type { Socket } from 'node:net'
import pg from 'pg'
import { createNotifiedCache } from '../../src/database/notified-cache.ts'
import { listenToNotifications } from '../../src/database/notifications.ts'
import type { Notifications } from '../../src/database/notifications.ts'
import { createTestDatabase } from '../support/database.ts'
import { listen } from '../support/listen.ts'

const patience = { timeout: 20_000, interval: 10 }
const settings = { limit: 3, milliseconds: 60_000 }

let database: Awaited<ReturnType<typeof createTestDatabase>>
let admin: pg.Client
/**
 * Proxy between the listener and the database. While silent, it drops all data without closing connections.
 */
let proxy: { url: string; setSilent(silent: boolean): void; close(): Promise<void> }
let notifications: Notifications
beforeAll(async () => {
  database = await createTestDatabase()
  admin = new pg.Client(database.url)
  await admin.connect()
  proxy = await startProxy(database.url)
  notifications = await listenToNotifications(proxy.url, () => {})
})
afterAll(async () => {
  await notifications.close()
  await proxy.close()
  await admin.end()
  await database.drop()
})

async function startProxy(target: string) {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  let silent = false
  const server = createServer((near) => {
    const far = connect(Number(port), hostname)
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from.on('data', (bytes) => !silent && to.write(bytes))
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
      from.on('error', () => {})
    }
  })
  const url = new URL(target)
  url.hostname = '127.0.0.1'
  url.port = String(await listen(server))
  return {
    url: url.href,
    setSilent: (value: boolean) => {
      silent = value
    },
    async close() {
      sockets.forEach((socket) => socket.destroy())
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function createCache(limits = settings) {
  const cache = createNotifiedCache<string>(notifications, 'session_revoked', limits)
  return Object.assign(cache, {
    put: (key: string, userId: number) => cache.load(key, async () => ({ value: `${key}!`, userId })),
  })
}

test('a notification invalidates the values of one user, an empty one all values', async () => {
  await expect.poll(() => notifications.isCurrent(), patience).toBe(true)
  const cache = createCache()
  await cache.put('a', 1)
  await cache.put('b', 1)
  await cache.put('c', 2)
  await admin.query(`SELECT pg_notify('session_revoked', '1')`)
  await expect.poll(() => cache.get('a'), patience).toBeUndefined()
  expect([cache.get('b'), cache.get('c')]).toEqual([undefined, 'c!'])
  await admin.query(`SELECT pg_notify('session_revoked', '')`)
  await expect.poll(() => cache.size(), patience).toBe(0)
  cache.close()
})

test('a value of no user in particular goes with the notification of any', async () => {
  const cache = createNotifiedCache<string>(notifications, 'session_revoked', settings)
  await cache.load('nobody', async () => ({ value: 'outside', userId: null }))
  await cache.load('one', async () => ({ value: 'member', userId: 1 }))
  await admin.query("SELECT pg_notify('session_revoked', '2')")
  await expect.poll(() => cache.get('nobody'), patience).toBeUndefined()
  expect(cache.get('one')).toBe('member')
  cache.close()
})

test('evicts the oldest value above `limit`, expires values, and does not cache null', async () => {
  const cache = createCache()
  for (const key of ['a', 'b', 'c', 'd']) await cache.put(key, 1)
  expect([cache.size(), cache.get('a'), cache.get('d')]).toEqual([3, undefined, 'd!'])
  expect(await cache.load('none', async () => null)).toBeNull()
  expect(cache.size()).toBe(3)
  cache.close()
  const brief = createCache({ limit: 3, milliseconds: 0 })
  await brief.put('a', 1)
  expect(brief.get('a')).toBeUndefined()
  brief.close()
})

test('concurrent callers share one load; a failed load is not cached', async () => {
  const cache = createCache()
  const row = Promise.withResolvers<{ value: string; userId: number }>()
  let reads = 0
  const load = () => {
    reads += 1
    return row.promise
  }
  const both = [cache.load('a', load), cache.load('a', load)]
  row.resolve({ value: 'row', userId: 1 })
  expect([await Promise.all(both), reads]).toEqual([['row', 'row'], 1])
  await expect(cache.load('b', () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  expect(await cache.put('b', 1)).toBe('b!')
  cache.close()
})

test('a row read before a notification is neither cached nor shared with later callers', async () => {
  const cache = createCache()
  const old = Promise.withResolvers<{ value: string; userId: number }>()
  const first = cache.load('a', () => old.promise)
  let notified = false
  const stop = notifications.subscribe('session_revoked', () => {
    notified = true
  })
  await admin.query(`SELECT pg_notify('session_revoked', '7')`)
  await expect.poll(() => notified, patience).toBe(true)
  stop()
  expect(await cache.put('a', 7)).toBe('a!')
  old.resolve({ value: 'old', userId: 7 })
  expect(await first).toBe('old')
  expect(cache.get('a')).toBe('a!')
  cache.close()
})

const endListener = () =>
  admin.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'berth listener' AND datname = current_database()`,
  )

test('the cache returns nothing while the listener’s connection is lost, and works again afterwards', async () => {
  const cache = createCache()
  await cache.put('a', 1)
  expect(cache.get('a')).toBe('a!')
  await endListener()
  await expect.poll(() => cache.get('a'), patience).toBeUndefined()
  await expect.poll(() => notifications.isCurrent(), patience).toBe(true)
  await cache.put('a', 1)
  expect(cache.get('a')).toBe('a!')
  cache.close()
})

/** What the driver says of a query on a connection that is already lost */
const unavailable = () =>
  Promise.reject(new Error('Client has encountered a connection error and is not queryable'))

test('an unreachable database leaves the last value; a reachable one always decides', async () => {
  const cache = createCache()
  await cache.put('a', 1)
  expect(await cache.load('a', unavailable)).toBe('a!')
  await expect(cache.load('b', unavailable)).rejects.toThrow('not queryable')
  await cache.put('b', 1)
  await admin.query(`SELECT pg_notify('session_revoked', '1')`)
  await expect.poll(() => cache.size(), patience).toBe(0)
  await expect(cache.load('b', unavailable)).rejects.toThrow('not queryable')
  cache.close()
})

test.each([
  ['null', () => Promise.resolve(null)],
  ['an error of its own', () => Promise.reject(new Error('none'))],
])('%s from the database removes the value for good', async (_what, load) => {
  const cache = createCache()
  await cache.put('a', 1)
  await cache.load('a', load).catch(() => null)
  await expect(cache.load('a', unavailable)).rejects.toThrow('not queryable')
  cache.close()
})

test('a read that started before a revocation does not bring the value back', async () => {
  const cache = createCache()
  await cache.put('a', 1)
  const old = Promise.withResolvers<{ value: string; userId: number }>()
  const slow = cache.load('a', () => old.promise)
  await admin.query(`SELECT pg_notify('session_revoked', '1')`)
  await expect.poll(() => cache.size(), patience).toBe(0)
  old.resolve({ value: 'old', userId: 1 })
  await slow
  await expect(cache.load('a', unavailable)).rejects.toThrow('not queryable')
  cache.close()
})

test('after a reconnect the database decides on the values from before the interruption', async () => {
  const cache = createCache()
  await cache.put('a', 1)
  await cache.put('b', 1)
  const reconnected = Promise.withResolvers<void>()
  const stop = notifications.onReconnected(reconnected.resolve)
  await endListener()
  await reconnected.promise
  await expect.poll(() => notifications.isCurrent(), patience).toBe(true)
  expect(cache.get('a')).toBeUndefined()
  expect(await cache.load('a', unavailable)).toBe('a!')
  expect(await cache.load('b', async () => null)).toBe('b!')
  await expect.poll(() => cache.load('b', async () => null), patience).toBeNull()
  stop()
  cache.close()
})

test('a read without a response does not delay those who have a last value, until it responds', async () => {
  const cache = createCache()
  await cache.put('a', 1)
  await cache.put('b', 1)
  const frozen = Promise.withResolvers<{ value: string; userId: number }>()
  expect(await cache.load('a', () => frozen.promise)).toBe('a!')
  let asked = false
  const ask = async () => {
    asked = true
    return { value: 'new', userId: 1 }
  }
  expect([await cache.load('b', ask), asked]).toEqual(['b!', false])
  frozen.resolve({ value: 'thawed', userId: 1 })
  await expect.poll(() => cache.get('a'), patience).toBe('thawed')
  expect([await cache.load('b', ask), asked]).toEqual(['new', true])
  cache.close()
})

test('a value that a notification removes while the database is silent does not come back', async () => {
  const cache = createCache()
  await cache.put('a', 1)
  const read = cache.load('a', () => new Promise(() => {}))
  await admin.query(`SELECT pg_notify('session_revoked', '1')`)
  await expect.poll(() => cache.size(), patience).toBe(0)
  await expect(Promise.race([read, cache.load('a', unavailable)])).rejects.toThrow('not queryable')
  cache.close()
})

test('a value that survives a notification serves while a table is locked, and never if the database answers', async () => {
  const cache = createCache()
  const own = { value: 'own', userId: 1, survives: true }
  await cache.load('a', async () => own)
  await cache.put('b', 1)
  await admin.query(`SELECT pg_notify('session_revoked', '1')`)
  await expect.poll(() => cache.size(), patience).toBe(1)
  expect(cache.get('a')).toBeUndefined()
  const locked = Promise.withResolvers<typeof own>()
  expect(await cache.load('a', () => locked.promise)).toBe('own')
  locked.resolve({ ...own, value: 'moved' })
  await expect.poll(() => cache.get('a'), patience).toBe('moved')
  await admin.query(`SELECT pg_notify('session_revoked', '1')`)
  await expect.poll(() => cache.get('a'), patience).toBeUndefined()
  expect(await cache.load('a', async () => null)).toBeNull()
  expect(cache.size()).toBe(0)
  cache.close()
})

test('an unresponsive connection is distrusted within a second and replaced', async () => {
  const cache = createCache()
  await cache.put('a', 1)
  proxy.setSilent(true)
  const since = performance.now()
  let interrupted = false
  const stop = notifications.onInterrupted(() => {
    interrupted = true
  })
  // The cache returns nothing from one second after the connection became unresponsive.
  await expect.poll(() => performance.now() - since >= 1_000 && cache.get('a'), patience).toBe(undefined)
  await cache.put('a', 1)
  expect(cache.get('a')).toBeUndefined()
  await expect.poll(() => interrupted, patience).toBe(true)
  proxy.setSilent(false)
  await expect.poll(() => notifications.isCurrent(), patience).toBe(true)
  stop()
  cache.close()
})
