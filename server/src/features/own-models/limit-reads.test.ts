import { expect, test } from 'vitest'
import { limitReads } from './limit-reads.ts'

test('an organization whose reads are slow leaves places to others', async () => {
  const run = limitReads()
  const { promise, resolve } = Promise.withResolvers<void>()
  const slow = Array.from({ length: 20 }, () => run(1, () => promise))
  const settled = Promise.allSettled(slow)
  expect(await run(2, async () => 'read')).toBe('read')
  resolve()
  const outcomes = (await settled).map(({ status }) => status)
  expect(outcomes.filter((status) => status === 'fulfilled')).toHaveLength(10)
  expect(await run(1, async () => 'again')).toBe('again')
})
