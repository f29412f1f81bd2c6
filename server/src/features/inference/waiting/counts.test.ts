import { expect, test } from 'vitest'
import { Counts } from './counts.ts'

test('counts by key with their total, and never below zero', () => {
  const counts = new Counts<string>()
  counts.add('a', 2)
  counts.add('b', 1)
  counts.add('a', -1)
  expect([counts.get('a'), counts.get('b'), counts.get('c'), counts.total]).toEqual([1, 1, 0, 2])
  counts.add('b', -3)
  expect([counts.get('b'), counts.total]).toEqual([0, 1])
})

test('a sweep drops only the keys without a count', () => {
  const counts = new Counts<string>()
  counts.add('a', 1)
  counts.add('b', 1)
  counts.add('a', -1)
  expect([...counts.keys()]).toEqual(['b'])
  counts.sweep()
  counts.add('b', 1)
  expect([[...counts.keys()], counts.get('a'), counts.get('b')]).toEqual([['b'], 0, 2])
})
