import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readInferenceRequest, rewriteForEngine } from './request-body.ts'

function rewrite(text: string): string {
  return rewriteForEngine(readInferenceRequest(Buffer.from(text)), 'dep-1')
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
