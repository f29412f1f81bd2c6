import fc from 'fast-check'
import { expect, test } from 'vitest'
import { findMembers, memberNames, MemberWalk } from './json-walk.ts'

const names = memberNames(['model', 'stream', 'stream_options', 'encoding_format'])

function find(text: string): [string, string][] {
  const body = Buffer.from(text)
  return findMembers(body, names).map(({ name, start, end }) => [name, body.toString('utf8', start, end)])
}

/** Walks in steps of `size` bytes. */
function findInSteps(text: string, size: number): [string, string][] {
  const body = Buffer.from(text)
  const walk = new MemberWalk(body, names)
  for (let to = size; !walk.advance(to);) to += size
  return walk.members.map(({ name, start, end }) => [name, body.toString('utf8', start, end)])
}

const long = 'x'.repeat(1_000)

test.each<[string, [string, string][]]>([
  ['{"model":"m","a":{"model":"n"},"b":[{"model":1}]}', [['model', '"m"']]],
  [
    '{"mod\\u0065l" : "a" , "model":"b","\\u006D\\u006Fdel":\n"c"}',
    ['a', 'b', 'c'].map((v) => ['model', `"${v}"`]),
  ],
  [
    '{"stream\\u005foptions":{"a":["}",{}]} ,"stream":true}',
    [
      ['stream_options', '{"a":["}",{}]}'],
      ['stream', 'true'],
    ],
  ],
  ['{"mode":1,"models":1,"\\model":1,"model\\u0000":1,"mod\\u00zzl":1,"":1,"é":1}', []],
  [`{"a":"${long}\\"model\\":\\\\","${long}":{},"model":-0.5e+10}`, [['model', '-0.5e+10']]],
  [`{"a":"${long}${'\\\\'.repeat(300)}","model":null}`, [['model', 'null']]],
  ['{}', []],
  [' [1,[],{},"model"] ', []],
  ['"model"', []],
])('finds the top-level members of %s', (text, members) => {
  expect(find(text)).toEqual(members)
  for (const size of [1, 7, 300]) expect(findInSteps(text, size)).toEqual(members)
})

test('accepts and rejects the same documents as a parser, at every step size', () => {
  const pieces =
    '{ } [ ] , : "model" "a" "\\"" "\\\\" 0 -1.5e3 01 1. - .5 1e true nul null " \\ x {"model":1 "b":2 1,2'.split(
      ' ',
    )
  const token = fc.constantFrom(...pieces, ' ', '\n', '\f')
  fc.assert(
    fc.property(fc.array(token, { maxLength: 12 }), fc.integer({ min: 1, max: 9 }), (tokens, size) => {
      const text = tokens.join('')
      let valid = true
      try {
        JSON.parse(text)
      } catch {
        valid = false
      }
      // The contents of strings are not validated.
      fc.pre(!text.includes('\\x') && !/"[^"]*[\n\f\\][^"]*"/.test(text))
      if (valid) expect(findInSteps(text, size)).toEqual(find(text))
      else expect(() => findInSteps(text, size)).toThrow('JSON')
    }),
    { numRuns: 2_000 },
  )
})

test('finds what a parser finds in valid documents', () => {
  const key = fc.oneof(
    fc.constantFrom('model', 'stream', 'stream_options', 'a"model', '\\', 'mod\u0000el'),
    fc.string(),
  )
  fc.assert(
    fc.property(
      fc.dictionary(key, fc.jsonValue(), { noNullPrototype: true }),
      fc.nat(2),
      (object, indent) => {
        const text = JSON.stringify(object, null, indent)
        const parsed = find(text).map(([name, value]) => [name, JSON.parse(value)])
        const { model, stream, stream_options } = JSON.parse(text)
        const expected = { model, stream, stream_options }
        expect(Object.fromEntries(parsed)).toEqual(JSON.parse(JSON.stringify(expected)))
      },
    ),
  )
})

test('finds the end of strings with long runs of quotes and backslashes', () => {
  const run = fc
    .tuple(fc.constantFrom('x', '\\', '"', '\n'), fc.nat(150))
    .map(([character, count]) => character.repeat(count))
  fc.assert(
    fc.property(fc.array(run, { maxLength: 8 }), fc.integer({ min: 1, max: 90 }), (runs, size) => {
      const text = JSON.stringify({ a: runs.join(''), b: runs, model: 1 })
      expect(find(text)).toEqual([['model', '1']])
      expect(findInSteps(text, size)).toEqual([['model', '1']])
    }),
  )
})

test.each([
  ['nothing', '', 'incomplete'],
  ['an open object', '{"model":"m"', 'incomplete'],
  ['an open string', '"open', 'incomplete'],
  ['an open escape', '"open\\', 'incomplete'],
  ['a second document', '{"a":1} {"model":"n"}', 'invalid'],
  ['a long model', `{"model":"${'m'.repeat(17_000)}"}`, '`model` is too long'],
  ['spaces around a model', `{"model":${' '.repeat(17_000)}"m"}`, '`model` is too long'],
  ['1,000 levels', `{"a":${'['.repeat(999)}${']'.repeat(999)}}`, 'has 1000 levels at byte 1003'],
  ['a name that occurs 200 times', `{${'"model":1,'.repeat(200)}"a":1}`, 'too often'],
])('rejects %s', (_what, text, message) => {
  expect(() => find(text)).toThrow(message)
})

test('every level closes with its own bracket', () => {
  const random = fc.sample(fc.boolean(), { numRuns: 998, seed: 7 })
  const open = random.map((isArray) => (isArray ? '[' : '{"a":')).join('')
  const closers = random.map((isArray) => (isArray ? ']' : '}')).toReversed()
  const toText = (closing: readonly string[]) => `{"a":${open}1${closing.join('')},"model":1}`
  expect(find(toText(closers))).toEqual([['model', '1']])
  for (const wrong of closers.keys()) {
    const swapped = closers.with(wrong, closers[wrong] === ']' ? '}' : ']')
    expect(() => find(toText(swapped)), String(wrong)).toThrow('invalid')
  }
})

test('numbers have no limit', () => {
  expect(find(`{"a":-${'12'.repeat(50_000)}.5E-7,"model":1}`)).toEqual([['model', '1']])
})
