import { expect, test } from 'vitest'
import { Batches } from './batches.ts'

/** Doubles numbers; a batch with a negative one fails. */
function setUp() {
  const batches: (readonly number[])[] = []
  const doubling = new Batches<number, number>(async (items) => {
    batches.push(items)
    if (items.some((item) => item < 0)) throw new RangeError('a negative number')
    return items.map((item) => item * 2)
  }, 5)
  return { batches, doubling }
}

test('items of one moment run as one batch, and each caller gets its own result', async () => {
  const { batches, doubling } = setUp()
  await expect(Promise.all([1, 2, 3].map((item) => doubling.add(item)))).resolves.toEqual([2, 4, 6])
  expect(batches).toEqual([[1, 2, 3]])
})

test('items that arrive while a batch runs wait for the next one', async () => {
  const { batches, doubling } = setUp()
  const first = doubling.add(1)
  await first
  await Promise.all([doubling.add(2), doubling.add(3)])
  expect(batches).toEqual([[1], [2, 3]])
})

test('an item that fails a batch fails alone', async () => {
  const { batches, doubling } = setUp()
  const results = await Promise.allSettled([1, -1, 3].map((item) => doubling.add(item)))
  expect(results).toEqual([
    { status: 'fulfilled', value: 2 },
    { status: 'rejected', reason: new RangeError('a negative number') },
    { status: 'fulfilled', value: 6 },
  ])
  expect(batches).toEqual([[1, -1, 3], [1], [-1], [3]])
})
