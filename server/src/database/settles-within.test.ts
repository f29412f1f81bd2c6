import { randomBytes } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { settlesWithin } from './settles-within.ts'

test('a promise that is fulfilled or rejected settles, and one that is neither does not', async () => {
  expect(await settlesWithin(Promise.resolve(1), 0)).toBe(true)
  expect(await settlesWithin(Promise.reject(new Error('no')), 0)).toBe(true)
  expect(await settlesWithin(Promise.withResolvers<void>().promise, 0)).toBe(false)
})

test('what arrives while the process stands still is in time', async () => {
  // Then timers are next in the event loop, before anything is read.
  await setImmediate()
  const settled = settlesWithin(promisify(randomBytes)(8), 20)
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100)
  expect(await settled).toBe(true)
})
