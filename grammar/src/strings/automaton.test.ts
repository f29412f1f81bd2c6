import { expect, test } from 'vitest'
import { toAutomaton, TooComplexError } from './automaton.ts'
import { createLanguageAlgebra } from './language.ts'
import type { LanguageAlgebra } from './language.ts'

const letter = ({ set }: LanguageAlgebra, character: string) =>
  set([[character.codePointAt(0)!, character.codePointAt(0)!]])

test('has one state for each rest of a string, the start first', () => {
  const algebra = createLanguageAlgebra()
  const { sequence, repeat, or } = algebra
  const [a, b] = [letter(algebra, 'a'), letter(algebra, 'b')]
  // (a|b)*a
  expect(toAutomaton(algebra, sequence(repeat(or(a, b), 0, Infinity), a))).toEqual({
    states: [
      {
        accepting: false,
        edges: [
          { ranges: [[97, 97]], to: 1 },
          { ranges: [[98, 98]], to: 0 },
        ],
      },
      {
        accepting: true,
        edges: [
          { ranges: [[97, 97]], to: 1 },
          { ranges: [[98, 98]], to: 0 },
        ],
      },
    ],
  })
})

test('has no states from which no string ends', () => {
  const algebra = createLanguageAlgebra()
  const { sequence, and, not, anything } = algebra
  const [a, b] = [letter(algebra, 'a'), letter(algebra, 'b')]
  // An a, then anything but a b alone, and nothing after the a except b
  const language = and(sequence(a, not(b)), sequence(a, b))
  expect(toAutomaton(algebra, language)).toBeNull()
  const automaton = toAutomaton(algebra, and(sequence(a, anything), sequence(a, b)))
  expect(automaton?.states.map(({ edges }) => edges.length)).toEqual([1, 1, 0])
})

test('joins the characters that lead to the same state', () => {
  const algebra = createLanguageAlgebra()
  const language = algebra.or(letter(algebra, 'a'), letter(algebra, 'b'), letter(algebra, 'x'))
  expect(toAutomaton(algebra, language)?.states[0]?.edges).toEqual([
    {
      ranges: [
        [97, 98],
        [120, 120],
      ],
      to: 1,
    },
  ])
})

test('rejects a language with too many states', () => {
  const algebra = createLanguageAlgebra()
  const { sequence, repeat, anything } = algebra
  const a = letter(algebra, 'a')
  const any = repeat(algebra.or(a, letter(algebra, 'b')), 13, 13)
  expect(() => toAutomaton(algebra, sequence(anything, sequence(a, any)))).toThrow(TooComplexError)
})
