import fc from 'fast-check'
import { expect, test } from 'vitest'
import { EdgeMeter } from './edge-meter.ts'
import { ModelRenaming } from './model-renaming.ts'
import { chatCompletions } from '../protocols/chat-completions.ts'
import { edgeLength } from '../protocols/usage.ts'

const renaming = new ModelRenaming('dep-1', 'Qwen “2”', ['model'])
const padding = JSON.stringify('x'.repeat(3 * edgeLength))

/**
 * Renames `text` as a body in one piece, as a text and as a long body that arrives in pieces, which must
 * agree.
 */
function rename(text: string): string {
  const latin1 = Buffer.from(text).toString('latin1')
  const results = [
    ...rooms.map((room) => renameInPlace(renaming, text, room)),
    Buffer.from(renaming.atStart(latin1) ?? renaming.atEnd(latin1), 'latin1').toString(),
    ...[latin1.length, 5_000, edgeLength, 1_000].map((size) => renameInPieces(latin1, size)),
  ]
  expect(new Set(results).size).toBe(1)
  return results[0]!
}

/** Bytes of a buffer behind the body: none, too few for the longer name, and enough for every name */
const rooms = [0, 1, 600]

function renameInPlace(renaming: ModelRenaming, text: string, room: number): string {
  const body = Buffer.from(text)
  const buffer = Buffer.concat([body, Buffer.alloc(room, '"model":"dep-1"')])
  return renaming.renameInPlace(buffer, body.length).toString()
}

function renameInPieces(latin1: string, size: number): string {
  const meter = new EdgeMeter(chatCompletions.bodies, renaming, null)
  let forwarded = ''
  // The first piece is at least as long as an edge, because shorter bodies are buffered.
  for (let at = 0; at < latin1.length; at += at === 0 ? Math.max(size, edgeLength) : size) {
    forwarded += meter.take(latin1.slice(at, at === 0 ? Math.max(size, edgeLength) : at + size))
  }
  return Buffer.from(forwarded + meter.finish(), 'latin1').toString()
}

test.each([
  ['at the start', '{"id":"é","model":"dep-1","choices":[{"text":"dep-1"}]}'],
  ['at the end', '{"choices":[{"model":"dep-1"}],"model" :\n "dep-1","usage":{"a":[{}]} }\n'],
  ['at the start of a long body', `{"model":"dep-1","data":[${padding},${padding}]}`],
  ['at the end of a long body', `{"data":[${padding},${padding}],"model":"dep-1","usage":{}}`],
  ['alone', '{"model":"dep-1"}'],
])('the model is renamed %s', (_where, text) => {
  const at = text.search(/"model" ?:\s*"dep-1"(?!\})|"model":"dep-1"\}$/)
  const expected = text.slice(0, at) + text.slice(at).replace('dep-1', 'Qwen “2”')
  expect(rename(text)).toBe(expected)
})

test('a longer and a shorter name fit as well', () => {
  for (const name of ['n', 'n'.repeat(500)]) {
    const other = new ModelRenaming('dep-1', name, ['model'])
    for (const text of ['{"model":"dep-1","x":1}', `{"x":[${padding}],"model":"dep-1"}`]) {
      for (const room of rooms) expect(renameInPlace(other, text, room)).toBe(text.replace('dep-1', name))
    }
  }
})

test.each([
  ['another name', '{"model":"org/weights.gguf"}'],
  ['a longer name', '{"model":"dep-12"}'],
  ['a name that ends alike', '{"model":"x-dep-1"}'],
  ['a member of an inner object', '{"a":{"model":"dep-1"},"b":{}}'],
  ['a member of an object in a list', '{"a":[{"model":"dep-1"}]}'],
  ['generated text', JSON.stringify({ content: '{"model":"dep-1"}', x: ['"model":"dep-1"'] })],
  ['the value of another member', '{"content":"dep-1","a\\"model":"dep-1","models":"dep-1"}'],
  ['a list', '[{"model":"dep-1"}]'],
  ['compressed bytes', '\u001f\u008b\b\u0000"dep-1"'],
  ['nothing', ''],
])('%s stays unchanged', (_what, text) => {
  expect(rename(text)).toBe(text)
})

test('the renamed body is what a parser and a new name give', () => {
  const key = fc.constantFrom('model', 'x', 'a"model', '\\')
  const value = fc.oneof(
    fc.constantFrom<unknown>('dep-1', '"model":"dep-1"', { model: 'dep-1' }),
    fc.jsonValue(),
  )
  const members = fc.uniqueArray(fc.tuple(key, value), { maxLength: 4, selector: ([name]) => name })
  fc.assert(
    fc.property(members, fc.nat(2), (pairs, indent) => {
      const before = Object.fromEntries(pairs)
      const after =
        'model' in before && before['model'] === 'dep-1' ? { ...before, model: 'Qwen “2”' } : before
      expect(rename(JSON.stringify(before, null, indent))).toBe(JSON.stringify(after, null, indent))
    }),
  )
})
