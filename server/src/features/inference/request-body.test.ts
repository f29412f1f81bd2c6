import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readInferenceRequest, writeEngineBody } from './request-body.ts'
import { scanMembers } from './request-scan.ts'

function rewrite(text: string): string {
  const body = writeEngineBody(readInferenceRequest(Buffer.from(text)), 'dep-1')
  return (typeof body === 'string' ? Buffer.from(body, 'latin1') : Buffer.concat(body)).toString()
}

test('everything but the model stays byte for byte: spacing, numbers, escapes, doubled keys, unknown fields', () => {
  const rest =
    ' , "temperature" : 1.0, "top_p":1e400,"seed":-0,\n"seed":12345678901234567890,"x":"\\u00e9é\\/" ,"__proto__":{"model":"m"}}'
  expect(rewrite(`{ "model" : "m"${rest}`)).toBe(`{ "model" : "dep-1"${rest}`)
})

test('each of doubled models is rewritten, an escaped name too', () => {
  expect(rewrite('{"model":1,"mod\\u0065l":"b","a":{"model":"c"},"model":"d"}')).toBe(
    '{"model":"dep-1","mod\\u0065l":"dep-1","a":{"model":"c"},"model":"dep-1"}',
  )
  expect(readInferenceRequest(Buffer.from('{"model":"a","model":"b"}')).model).toBe('b')
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
])('a stream asks for its usage: %s', (given, expected) => {
  expect(rewrite(given)).toBe(expected)
})

test.each([
  '{"model":"m","stream":true,"stream_options":{"include_usage":true,"x":1.0}}',
  '{"model":"m","stream":false,"stream_options":{"x":1.0}}',
  '{"model":"m","stream":null}',
])('nothing is added where usage was asked for or nothing streams: %s', (given) => {
  expect(rewrite(given)).toBe(given.replace('"m"', '"dep-1"'))
})

test('any other object in a request reaches the engine with the same text', () => {
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
  ['', 'valid JSON'],
  ['{"model":"m"', 'valid JSON'],
  ['[]', 'JSON object'],
  ['null', 'JSON object'],
  ['"model"', 'JSON object'],
  ['{}', '`model` is required'],
  ['{"model":""}', '`model` is required'],
  ['{"model":7}', '`model` is required'],
  ['{"model":"m","stream":"true"}', '`stream` must be'],
])('%j is refused', (text, message) => {
  expect(() => readInferenceRequest(Buffer.from(text))).toThrow(message)
})

test('bytes that are not UTF-8 are refused', () => {
  expect(() => readInferenceRequest(Buffer.from([0x7b, 0xff, 0x7d]))).toThrow('UTF-8')
})

const padding = 'x'.repeat(5_000)

/** The values that are found without a parser, as text; null where a parser is needed. */
function scan(text: string): Record<string, string> | null {
  const body = Buffer.from(text)
  const members = scanMembers(body)
  return (
    members &&
    Object.fromEntries(members.map(({ name, start, end }) => [name, body.toString('utf8', start, end)]))
  )
}

test.each([
  ['{"model":"m","messages":[{"content":"say \\"model\\": {"}]}', { model: '"m"' }],
  [
    ' {\n "messages" : [{"a":[{}]}], "stream" : true , "model" : "\\é" }\r\n',
    { stream: 'true', model: '"\\é"' },
  ],
  [`{"messages":["${padding}"],"model":"m","stream":false}`, { model: '"m"', stream: 'false' }],
  [`{"model":"m","stream":true,"messages":["${padding}"]}`, { model: '"m"', stream: 'true' }],
  [`{"model":"m","messages":["${padding}\\u00e9"],"stream":true}`, { model: '"m"', stream: 'true' }],
  ['{"model":7,"stream":"x"}', { model: '7', stream: '"x"' }],
  ['{"messages":[]}', {}],
  ['{"a":"model","b":["model" , "stream"],"c":{"d":"stream_options"}}', {}],
  [
    `{"stream_options":{"a":["}",{}]} ,"x":"${padding}","encoding_format":"base64"}`,
    { stream_options: '{"a":["}",{}]}', encoding_format: '"base64"' },
  ],
])('found without a parser: %s', (text, values) => {
  expect(scan(text)).toEqual(values)
})

test.each([
  ['a second name', '{"model":"m","a":{"model":"n"}}'],
  ['a second name hidden in escapes', '{"model":"m","mod\\u0065l":"n"}'],
  ['a name hidden in escapes of capitals', '{"model":"m","\\u006Dodel":"n"}'],
  ['usage hidden in escapes', '{"model":"m","stream":true,"stream\\u005foptions":{}}'],
  ['a name of an inner object', '{"a":{"model":"m"}}'],
  ['a name of an inner object far from the beginning', `{"x":"${padding}","a":{"model":"m"}}`],
  ['a name of an inner object far from the end', `{"a":{"model":"m"},"x":"${padding}"}`],
  ['a name far from both', `{"x":"${padding}","model":"m","y":"${padding}"}`],
  ['a name behind a space of another kind', '{"model":"m","model"\f:"n"}'],
  ['a name behind a comment', '{"model":"m","model"/**/:"n"}'],
  ['part of a name', '{"a \\"model":"m"}'],
  ['an escaped value', '{"model":"\\u0065"}'],
  ['a long value', `{"model":"${padding}"}`],
  ['a value without an end', '{"model":{"a":[}'],
  ['no object', '["model",1]'],
  ['no end', '{"model":"m"'],
  ['a second body with a name', '{"model":"m"} {"model":"n"}'],
  ['a stream of an inner object', '{"model":"m","a":{"stream":true}}'],
  ['two streams', '{"model":"m","stream":true,"stream":false}'],
  ['UTF-16', Buffer.from('{"model":"m"}', 'utf16le').toString()],
])('left to the parser: %s', (_what, text) => {
  expect(scan(text)).toBeNull()
})

test('what is found without a parser is what a parser finds', () => {
  const key = fc.constantFrom('model', 'stream', 'x', 'mo\u0064el', 'a"model', 'stream_options', '\\')
  const value = fc.oneof(fc.constantFrom('model', true, false, null, 'a "model":"b"'), fc.jsonValue())
  const members = fc.array(fc.tuple(key, value), { maxLength: 6 })
  fc.assert(
    fc.property(members, fc.nat(2), fc.nat(3), (pairs, indent, nesting) => {
      const inner = pairs
        .slice(nesting)
        .map(([name, item]) => `${JSON.stringify(name)}:${JSON.stringify(item)}`)
      const outer = pairs
        .slice(0, nesting)
        .map(([name, item]) => `${JSON.stringify(name)}:${JSON.stringify(item, null, indent)}`)
      const text = `{${[...outer, `"in":{${inner.join()}}`, '"model":"m"'].join()}}`
      const scanned = scan(text)
      if (scanned === null) return
      const parsed = JSON.parse(text)
      for (const name of ['model', 'stream', 'stream_options']) {
        expect(scanned[name] === undefined ? undefined : JSON.parse(scanned[name])).toEqual(parsed[name])
      }
      if (typeof parsed.stream !== 'boolean' || parsed.stream) return
      const written = JSON.parse(rewrite(text))
      expect(written).toEqual({ ...parsed, model: 'dep-1' })
    }),
  )
})

test('a long body is written in pieces that are not copied', () => {
  const body = Buffer.from(`{"model":"m","x":"${'x'.repeat(100_000)}"}`)
  const pieces = writeEngineBody(readInferenceRequest(body), 'dep-1') as Buffer[]
  expect(pieces.at(-1)!.buffer).toBe(body.buffer)
  expect(Buffer.concat(pieces).toString()).toBe(body.toString().replace('"m"', '"dep-1"'))
})
