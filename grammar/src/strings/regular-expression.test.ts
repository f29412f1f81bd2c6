import fc from 'fast-check'
import { expect, test } from 'vitest'
import { toAutomaton } from './automaton.ts'
import { createLanguageAlgebra } from './language.ts'
import { hasPoint } from './ranges.ts'
import { PatternError, toLanguage } from './regular-expression.ts'

/** Returns whether the strings contain a match of the pattern, as the automaton says. */
function compile(pattern: string): (text: string) => boolean {
  const algebra = createLanguageAlgebra()
  const automaton = toAutomaton(algebra, toLanguage(algebra, pattern))
  return (text) => {
    let state = automaton?.states[0]
    for (const character of text) {
      const point = character.codePointAt(0)!
      const edge = state?.edges.find(({ ranges }) => hasPoint(ranges, point))
      state = edge === undefined ? undefined : automaton!.states[edge.to]
    }
    return state?.accepting === true
  }
}

const texts = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', '0', '-', '\n', '😀'), maxLength: 6 }), {
  minLength: 1,
  maxLength: 20,
})
const atom = fc.constantFrom('a', 'b', '0', '.', '[ab]', '[^a]', '\\d', '\\w', '\\S', '\\u{1F600}', '[a-b0]')
const { pattern: anyPattern } = fc.letrec<{ pattern: string; part: string; sequence: string }>((tie) => ({
  part: fc.oneof(
    { maxDepth: 2 },
    atom,
    fc
      .tuple(atom, fc.constantFrom('*', '+', '?', '{2}', '{1,3}', '{2,}', '*?'))
      .map((parts) => parts.join('')),
    tie('pattern').map((inside) => `(?:${inside})`),
    fc.tuple(tie('sequence'), fc.constantFrom('', '?', '*', '{0,2}')).map(([of, many]) => `(${of})${many}`),
  ),
  sequence: fc.array(tie('part'), { maxLength: 2 }).map((parts) => parts.join('')),
  pattern: fc
    .tuple(tie('sequence'), tie('sequence'))
    .chain(([one, other]) => fc.constantFrom(one, `${one}|${other}`)),
}))
const anchored = fc
  .tuple(
    fc.constantFrom('', '^', '^(?=.*a)', '^(?!.*b)', '(?!0)'),
    anyPattern,
    fc.constantFrom('', '$', '(?=b)'),
  )
  .map(([start, pattern, end]) => `${start}(?:${pattern})${end}`)

test('accepts the strings that a RegExp finds a match in', () => {
  fc.assert(
    fc.property(anchored, texts, (pattern, candidates) => {
      const [matches, expected] = [compile(pattern), new RegExp(pattern, 'u')]
      expect(candidates.filter(matches)).toEqual(candidates.filter((text) => expected.test(text)))
    }),
    { numRuns: 300 },
  )
})

test.each([
  ['(^a|b)(c$|d)', ['ac', 'bc', 'xbc', 'ad', 'adx'], ['xac', 'acx', 'd']],
  ['(?<year>\\d{4})-\\x41\\u0042\\cJ', ['2024-AB\n'], ['2024-AB']],
  ['^\\uD83D\\uDE00$', ['😀'], ['\uFFFD', 'x']],
  ['^[\\]\\-\\\\\\b]$', [']', '-', '\\', '\b'], ['b', '^']],
  ['^[\\d-]$', ['5', '-'], ['a']],
  ['^\\s\\W\\D$', ['\u00a0-x', '\ufeff😀é'], ['x-x', '\u00a0_x', '\u00a0-1']],
  ['^[^\\W_]$', ['a', '5'], ['_', '-', 'é']],
])('%s', (pattern, matching, others) => {
  const matches = compile(pattern)
  expect(matching.filter((text) => !matches(text))).toEqual([])
  expect(others.filter(matches)).toEqual([])
})

test.each([
  ['[a', 'is not a valid regular expression'],
  ['a{2,1}', 'is not a valid regular expression'],
  ['\\_', 'is not a valid regular expression'],
  ['(a)\\1', 'uses a backreference'],
  ['(?<a>x)\\k<a>', 'uses a backreference'],
  ['a\\b', 'uses a word boundary'],
  ['(?<=a)b', 'uses a lookbehind'],
  ['(?<!a)b', 'uses a lookbehind'],
  ['(?i:a)', 'changes flags inside a group'],
  ['\\p{L}', 'uses a Unicode property'],
  ['[\\P{L}]', 'uses a Unicode property'],
  ['a{1001}', 'repeats a part more than 1000 times'],
  ['a{1,1001}', 'repeats a part more than 1000 times'],
  ['(?:a|^b){2}', 'repeats an assertion'],
])('rejects %s: %s', (pattern, message) => {
  const error = new PatternError(message)
  expect(() => toLanguage(createLanguageAlgebra(), pattern)).toThrow(error)
})
