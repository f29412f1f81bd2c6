import { expect, test } from 'vitest'
import { createLanguageAlgebra } from './language.ts'

const a = [[97, 97]] as const
const b = [[98, 98]] as const

test('equal languages are the same object', () => {
  const { set, sequence, or, and } = createLanguageAlgebra()
  expect(sequence(sequence(set(a), set(b)), set(a))).toBe(sequence(set(a), sequence(set(b), set(a))))
  expect(or(set(b), set(a), set(b))).toBe(or(set(a), set(b)))
  expect(or(or(set(a), set(b)), set(a))).toBe(or(set(a), set(b)))
  expect(and(set(a))).toBe(set(a))
})

test('neutral and absorbing languages disappear', () => {
  const { none, empty, anything, set, sequence, repeat, or, and, not } = createLanguageAlgebra()
  const one = set(a)
  expect([or(one, none), and(one, anything), sequence(one, empty), sequence(empty, one)]).toEqual(
    Array(4).fill(one),
  )
  expect([or(one, anything), and(one, none), sequence(none, one), set([])]).toEqual([
    anything,
    none,
    none,
    none,
  ])
  expect([or(), and(), not(none), not(anything), not(not(one))]).toEqual([
    none,
    anything,
    anything,
    none,
    one,
  ])
  expect([repeat(one, 0, 0), repeat(one, 1, 1), repeat(none, 0, 3), repeat(none, 1, 3)]).toEqual([
    empty,
    one,
    empty,
    none,
  ])
})

test('a language knows whether it holds the empty string', () => {
  const { empty, anything, set, sequence, repeat, or, and, not } = createLanguageAlgebra()
  const one = set(a)
  const nullable = [empty, anything, repeat(one, 0, 2), or(one, empty), and(anything, empty), not(one)]
  const others = [one, repeat(one, 1, 2), sequence(anything, one), and(anything, one), not(repeat(one, 0, 2))]
  expect(nullable.map((language) => language.nullable)).toEqual(nullable.map(() => true))
  expect(others.map((language) => language.nullable)).toEqual(others.map(() => false))
})
