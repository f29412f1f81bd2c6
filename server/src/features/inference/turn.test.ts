import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createTurn } from './turn.ts'

const setUp = () => {
  const turn = createTurn()
  const done: string[] = []
  const task = (name: string) => ({ atTurnEnd: () => void done.push(name) })
  return { turn, done, task }
}

test('tasks wait for the end of the turn, in their order', async () => {
  const { turn, done, task } = setUp()
  turn.soon(task('first'))
  turn.atEnd(task('second'))
  expect(done).toEqual([])
  await nextTurn()
  expect(done).toEqual(['first', 'second'])
})

test('after a turn with one task the first of the next is done at once, and those behind it wait', async () => {
  const { turn, done, task } = setUp()
  turn.atEnd(task('alone'))
  await nextTurn()
  turn.soon(task('first'))
  turn.soon(task('second'))
  expect(done).toEqual(['alone', 'first'])
  await nextTurn()
  expect(done).toEqual(['alone', 'first', 'second'])
  turn.soon(task('after two'))
  expect(done).toHaveLength(3)
  await nextTurn()
  expect(done).toHaveLength(4)
})

test('a task that was done at once, alone, counts as one', async () => {
  const { turn, done, task } = setUp()
  turn.soon(task('alone'))
  await nextTurn()
  turn.soon(task('again'))
  await nextTurn()
  turn.soon(task('and again'))
  expect(done).toEqual(['alone', 'again', 'and again'])
})
