import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createTimeSlices } from '../../../gateway/time-slices.ts'
import { completions } from '../protocols/completions.ts'
import { chatCompletions } from '../protocols/chat-completions.ts'
import type { EditTarget } from '../protocols/body-edits.ts'
import { createRequestReader, writeEngineBody } from './request-body.ts'
import type { InferenceRequest } from './request-body.ts'

const target: EditTarget = {
  adaptsRoles: false,
  servedModelName: 'dep-1',
  counts: { inEvents: 'none', afterAbort: 'none' },
  sharedWith: null,
  cacheSalt: null,
  cacheOff: false,
  chatForm: null,
  lora: null,
  contextTokens: null,
}
const slices = createTimeSlices(0)
const reader = createRequestReader(chatCompletions)
const readBody = (bytes: Buffer) => reader(bytes, slices)

function read(body: string | Buffer): InferenceRequest {
  return readBody(Buffer.from(body)) as InferenceRequest
}

function rewrite(text: string, inEvents: EditTarget['counts']['inEvents'] = 'none'): string {
  const body = writeEngineBody(read(text), { ...target, counts: { ...target.counts, inEvents } })
  return (typeof body === 'string' ? Buffer.from(body, 'latin1') : Buffer.concat(body)).toString()
}

test('all bytes except the model are forwarded unchanged: spacing, numbers, escapes, duplicate keys, unknown fields', () => {
  const rest =
    ' , "temperature" : 1.0, "top_p":1e400,"seed":-0,\n"seed":12345678901234567890,"x":"\\u00e9é\\/" ,"__proto__":{"model":"m"}}'
  expect(rewrite(`{ "model" : "m"${rest}`)).toBe(`{ "model" : "dep-1"${rest}`)
})

function rewriteFor(more: Partial<EditTarget>, text: string): string {
  const body = writeEngineBody(read(text), { ...target, ...more })
  return (typeof body === 'string' ? Buffer.from(body, 'latin1') : Buffer.concat(body)).toString()
}

test('a shared engine gets neutral values of fields that others could feel; duplicates and escaped names included', () => {
  const own =
    '{"priority":-9,"model":"m","cache_salt":"mine","pri\\u006frity" : 1e3,"id_slot":[0],"x":{"priority":1}}'
  const neutral =
    '{"priority":0,"model":"dep-1","cache_salt":null,"pri\\u006frity" : 0,"id_slot":-1,"x":{"priority":1}}'
  expect(rewriteFor({ sharedWith: 'organization' }, own)).toBe(neutral)
  expect(rewriteFor({}, own)).toBe(own.replace('"m"', '"dep-1"'))
  const salted = { cacheSalt: 'salt' }
  expect(rewriteFor({ ...salted, sharedWith: 'organization' }, own)).toBe(neutral.replace('null', '"salt"'))
  expect(rewriteFor(salted, own)).toBe(own.replace('"m"', '"dep-1"'))
  expect(rewriteFor(salted, ' {"model":"m"}')).toBe(' {"cache_salt":"salt","model":"dep-1"}')
  const user = 'x'.repeat(20_000)
  expect(
    rewriteFor(
      { ...salted, sharedWith: 'organization' },
      JSON.stringify({ cache_salt: 'x', model: 'm', user }),
    ),
  ).toBe(JSON.stringify({ cache_salt: 'salt', model: 'dep-1', user }))
})

test('duplicate models are all rewritten, escaped names included', () => {
  expect(rewrite('{"model":1,"mod\\u0065l":"b","a":{"model":"c"},"model":"d"}')).toBe(
    '{"model":"dep-1","mod\\u0065l":"dep-1","a":{"model":"c"},"model":"dep-1"}',
  )
  expect(read('{"model":"a","model":"b"}').model).toBe('b')
})

test.each([
  ['{"model":"m","stream":true}', '{"stream_options":{"include_usage":true},"model":"dep-1","stream":true}'],
  [
    '{"model":"m","stream":true,"stream_options":null}',
    '{"model":"dep-1","stream":true,"stream_options":{"include_usage":true}}',
  ],
  [
    '{"model":"m","stream":true,"stream_options":{ }}',
    '{"model":"dep-1","stream":true,"stream_options":{"include_usage":true}}',
  ],
  [
    '{"model":"m","stream":true,"stream_options":{"x":1e400, "y":1.0}}',
    '{"model":"dep-1","stream":true,"stream_options":{"include_usage":true,"x":1e400, "y":1.0}}',
  ],
  [
    '{"model":"m","stream":true,"stream_options":{"include_usage":false}}',
    '{"model":"dep-1","stream":true,"stream_options":{"include_usage":true}}',
  ],
  [
    '{"model":"m","stream":true,"stream_options":"odd"}',
    '{"model":"dep-1","stream":true,"stream_options":"odd"}',
  ],
])('a stream asks for usage: %s', (given, expected) => {
  expect(rewrite(given)).toBe(expected)
})

test.each([
  '{"model":"m","stream":true,"stream_options":{"include_usage":true,"x":1.0}}',
  '{"model":"m","stream":false,"stream_options":{"x":1.0}}',
  '{"model":"m","stream":null}',
])('nothing is added when the caller asks for usage or does not stream: %s', (given) => {
  expect(rewrite(given)).toBe(given.replace('"m"', '"dep-1"'))
})

test('the text of any other member is forwarded unchanged', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.nat(3), (others, indent) => {
      delete others['stream']
      const text = JSON.stringify({ ...others, model: 'a model' }, null, indent)
      expect(rewrite(text)).toBe(
        `${text.slice(0, text.lastIndexOf('"a model"'))}"dep-1"${text.slice(text.lastIndexOf('"a model"') + 9)}`,
      )
    }),
  )
})

test.each([
  ['', 'incomplete'],
  ['{"model":"m"', 'incomplete'],
  ['{"model":"m","x":nul}', 'invalid at byte 20'],
  ['{"model":"m"} {"model":"n"}', 'invalid at byte 14'],
  ['[]', 'JSON object'],
  ['null', 'JSON object'],
  ['"model"', 'JSON object'],
  ['{}', '`model` is required'],
  ['{"model":""}', '`model` is required'],
  ['{"model":7}', '`model` is required'],
  ['{"model":"m","stream":"true"}', '`stream` must be'],
])('%j is rejected', (text, message) => {
  expect(() => readBody(Buffer.from(text))).toThrow(message)
})

test('a body that is not UTF-8 is rejected', () => {
  expect(() => read(Buffer.from([0x7b, 0xff, 0x7d]))).toThrow('UTF-8')
})

test('a request with nested and duplicate names is rewritten like a parsed one', () => {
  const key = fc.constantFrom('model', 'stream', 'x', 'a"model', 'stream_options', '\\')
  const value = fc.oneof(fc.constantFrom('model', true, false, null, 'a "model":"b"'), fc.jsonValue())
  const members = fc.array(fc.tuple(key, value), { maxLength: 6 })
  fc.assert(
    fc.property(members, fc.nat(3), (pairs, nesting) => {
      const toText = ([name, item]: [string, unknown]) => `${JSON.stringify(name)}:${JSON.stringify(item)}`
      const inner = pairs.slice(nesting).map(toText).join()
      const text = `{${[...pairs.slice(0, nesting).map(toText), `"in":{${inner}}`, '"model":"m"'].join()}}`
      const parsed = JSON.parse(text)
      if (typeof parsed.stream !== 'boolean' || parsed.stream) return
      expect(JSON.parse(rewrite(text))).toEqual({ ...parsed, model: 'dep-1' })
    }),
  )
})

test.each([
  ['{"model":"m"}', 'usage', '{"model":"dep-1"}'],
  [
    '{"model":"m","stream":true}',
    'usage',
    '{"stream_options":{"continuous_usage_stats":true,"include_usage":true},"model":"dep-1","stream":true}',
  ],
  [
    '{"model":"m","stream":true,"stream_options":{"continuous_usage_stats":false, "include_usage":true}}',
    'usage',
    '{"model":"dep-1","stream":true,"stream_options":{"continuous_usage_stats":true, "include_usage":true}}',
  ],
  [
    '{"model":"m","stream":true,"timings_per_token":false,"timings_per_token":true}',
    'timings',
    '{"stream_options":{"include_usage":true},"return_progress":true,"model":"dep-1","stream":true,"timings_per_token":true,"timings_per_token":true}',
  ],
  [
    '{"model":"m","stream":true,"timings_per_token":false}',
    'usage',
    '{"stream_options":{"continuous_usage_stats":true,"include_usage":true},"model":"dep-1","stream":true,"timings_per_token":false}',
  ],
] as const)('a stream asks for what the engine counts as it goes: %s, %s', (given, inEvents, expected) => {
  expect(rewrite(given, inEvents)).toBe(expected)
})

test('a long body is written in pieces without a copy', () => {
  const body = Buffer.from(`{"model":"m","x":"${'x'.repeat(100_000)}"}`)
  const pieces = writeEngineBody(readBody(body) as InferenceRequest, target) as Buffer[]
  expect(pieces.at(-1)!.buffer).toBe(body.buffer)
  expect(Buffer.concat(pieces).toString()).toBe(body.toString().replace('"m"', '"dep-1"'))
})

const long = JSON.stringify('x\\'.repeat(500_000))

test('a long body is read in slices, between which other work runs, and gives what a short one gives', async () => {
  const text = `{"messages":${long},"mod\\u0065l":"a","stream":true,"a":{"model":"b"},"model":"m"}`
  let turns = 0
  const count = setInterval(() => (turns += 1), 0)
  const request = await readBody(Buffer.from(text))
  clearInterval(count)
  expect(turns).toBeGreaterThan(0)
  const body = Buffer.concat(writeEngineBody(request, target) as Buffer[]).toString()
  const expected = text.replace('"a"', '"dep-1"').replace('"m"', '"dep-1"')
  expect(body === expected.replace('{', '{"stream_options":{"include_usage":true},')).toBe(true)
})

test.each([
  [`{"model":"m","x":${long}`, 'incomplete'],
  [`[${long}]`, 'JSON object'],
  [`{"x":${long}}`, '`model` is required'],
  [`{"model":${long}}`, '`model` is too long'],
  [`{"x":${long},${'"model":"m",'.repeat(200)}"y":1}`, 'too often'],
])('a long body is rejected like a short one: %#', async (text, message) => {
  await expect(readBody(Buffer.from(text))).rejects.toThrow(message)
})

test.each([
  ['{"model":"m"}', 1],
  ['{"model":"m","n":4}', 4],
  ['{"model":"m","n":null,"prompt":"a, b"}', 1],
  ['{"model":"m","prompt":["a","b, [\\"c\\"]"]}', 2],
  ['{"model":"m","n":3,"prompt":[ [1,2], [3], "d" ]}', 9],
  ['{"model":"m","prompt":[ 1,2,3 ]}', 1],
  ['{"model":"m","prompt":[]}', 1],
  ['{"model":"m","n":1e9}', 4096],
])('the sequences that a completion asks for: %s', (body, expected) => {
  const request = createRequestReader(completions)(Buffer.from(body), slices) as InferenceRequest
  expect(request.sequences).toBe(expected)
})
