import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createTimeSlices } from './time-slices.ts'

test('one slice runs in each turn of the event loop, however many computations there are', async () => {
  // A slice without time is one step.
  const slices = createTimeSlices(0)
  const log: string[] = []
  const countTo = (name: string, end: number) => {
    let count = 0
    return slices.run(() => {
      log.push(name)
      return (count += 1) === end
    })
  }
  const runs = [countTo('a', 3), countTo('b', 1), countTo('c', 2)]
  const seen: number[] = []
  for (let turn = 0; turn < 6; turn += 1) {
    await nextTurn()
    seen.push(log.length)
  }
  await Promise.all(runs)
  expect([log.join(''), seen]).toEqual(['abcaca', [1, 2, 3, 4, 5, 6]])
})

test('a slice takes as many steps as its time allows', async () => {
  const slices = createTimeSlices(60_000)
  let count = 0
  const run = slices.run(() => (count += 1) === 1000)
  await nextTurn()
  expect(count).toBe(1000)
  await run
})

test('a computation that throws ends alone', async () => {
  const slices = createTimeSlices(0)
  let count = 0
  const other = slices.run(() => (count += 1) === 2)
  const failing = slices.run(() => {
    throw new Error('invalid')
  })
  await expect(failing).rejects.toThrow('invalid')
  await other
  await slices.run(() => true)
})
