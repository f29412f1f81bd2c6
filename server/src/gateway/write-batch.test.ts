import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createWriteBatch } from './write-batch.ts'

const setUp = () => {
  const batch = createWriteBatch()
  const flushed: string[] = []
  const write = (name: string) => ({ flush: () => void flushed.push(name) })
  return { batch, flushed, write }
}

test('writes are flushed in order at the end of the turn', async () => {
  const { batch, flushed, write } = setUp()
  batch.flushOrDefer(write('first'))
  batch.defer(write('second'))
  expect(flushed).toEqual([])
  await nextTurn()
  expect(flushed).toEqual(['first', 'second'])
})

test('after a batch of one, the first write of the next turn is flushed immediately and later writes are deferred', async () => {
  const { batch, flushed, write } = setUp()
  batch.defer(write('alone'))
  await nextTurn()
  batch.flushOrDefer(write('first'))
  batch.flushOrDefer(write('second'))
  expect(flushed).toEqual(['alone', 'first'])
  await nextTurn()
  expect(flushed).toEqual(['alone', 'first', 'second'])
  batch.flushOrDefer(write('after two'))
  expect(flushed).toHaveLength(3)
  await nextTurn()
  expect(flushed).toHaveLength(4)
})

test('a write that was flushed immediately counts as a batch of one', async () => {
  const { batch, flushed, write } = setUp()
  batch.flushOrDefer(write('alone'))
  await nextTurn()
  batch.flushOrDefer(write('again'))
  await nextTurn()
  batch.flushOrDefer(write('and again'))
  expect(flushed).toEqual(['alone', 'again', 'and again'])
})
