import { afterEach, expect, test, vi } from 'vitest'
import { createBoundedQueue } from './bounded-queue.ts'

const options = { concurrency: 1, mostWaiting: 5, longestWaitMilliseconds: 1000, message: 'Try again.' }
afterEach(() => vi.useRealTimers())

test('work beyond the queue is refused as busy, and admitted again when the queue is empty', async () => {
  const inTurn = createBoundedQueue({ ...options, concurrency: 2 })
  const gate = Promise.withResolvers<void>()
  let running = 0
  let most = 0
  const work = async () => {
    most = Math.max(most, (running += 1))
    await gate.promise
    running -= 1
  }
  const admitted = Array.from({ length: 7 }, async (_, index) => {
    // The first two start before the others wait.
    if (index >= 2) await new Promise(setImmediate)
    await inTurn(work)
  })
  await new Promise(setImmediate)
  await new Promise(setImmediate)
  await expect(inTurn(work)).rejects.toMatchObject({ code: 'server_busy' })
  gate.resolve()
  await Promise.all(admitted)
  expect(most).toBe(2)
  await inTurn(work)
})

test('work that waited too long is refused when its turn comes', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  const inTurn = createBoundedQueue(options)
  const gate = Promise.withResolvers<void>()
  const blocked = inTurn(() => gate.promise)
  const late = inTurn(async () => 'late')
  const refused = expect(late).rejects.toMatchObject({ code: 'server_busy' })
  await new Promise(setImmediate)
  vi.advanceTimersByTime(1001)
  const next = inTurn(async () => 'next')
  gate.resolve()
  await Promise.all([blocked, refused])
  expect(await next).toBe('next')
})
