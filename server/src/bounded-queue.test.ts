import { expect, test } from 'vitest'
import { createBoundedQueue } from './bounded-queue.ts'

test('work beyond the queue is refused as busy, and admitted again when the queue is empty', async () => {
  const inTurn = createBoundedQueue({ concurrency: 2, mostWaiting: 5, message: 'Try again.' })
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
  await expect(inTurn(work)).rejects.toMatchObject({ kind: 'unavailable', code: 'busy' })
  gate.resolve()
  await Promise.all(admitted)
  expect(most).toBe(2)
  await inTurn(work)
})
