import { expect, test } from 'vitest'
import { endOfValue, parseWithSources, sourceOf, writeJson } from './json-source.ts'

test.each([
  '{"id": 2512292042121000001, "price": 10.00, "2": 1, "1": 2, "1": 3, "e": 1e400}',
  '[ 1.0 , {"given": 1} ]',
  '-0.0',
  '123456789012345678901234567890',
  '{"}": "\\"{", "\\\\": ["]"]}',
])('the text of %s stays what it is', (source) => {
  const body = `{"a":1,"list":[{"given" :\n${source}},"x"],"last":true}`
  const parsed = parseWithSources(body, ['given', 'other']) as { list: [{ given: unknown }] }
  expect(sourceOf(parsed.list[0].given)).toBe(source)
  expect(writeJson(parsed)).toBe(`{"a":1,"list":[{"given":${source}},"x"],"last":true}`)
  expect(writeJson({ text: sourceOf(parsed.list[0].given) })).toBe(JSON.stringify({ text: source }))
})

test('texts, null and values of other names are parsed, also where a text looks like a member', () => {
  const body = JSON.stringify({
    given: 'a',
    other: null,
    text: '"given":1',
    quoted: '\\"given":[2]',
    more: { x: 1.5 },
    flags: [true, 'given'],
  })
  expect(parseWithSources(body, ['given', 'other'])).toEqual(JSON.parse(body))
})

test.each(['{"given":{"a":tru}}', '{"given":[1,}', '{"given":{"a":"\\x"}}', '{"given":1', '{"given":"'])(
  'the text %s is no JSON',
  (text) => expect(() => parseWithSources(text, ['given'])).toThrow(SyntaxError),
)

test('members without a source are written as ever', () => {
  const value = { a: [1, 'é"', null, { b: undefined }] }
  expect(writeJson(value)).toBe(JSON.stringify(value))
  expect(sourceOf(value)).toBe(JSON.stringify(value))
})

test('the end of a value', () => {
  expect(endOfValue('[{"a":"]"},[]] ,1', 0)).toBe(14)
  expect(endOfValue('12,', 0)).toBe(2)
  expect(endOfValue('"a\\\\" }', 0)).toBe(5)
  expect(endOfValue('{"a":', 0)).toBe(5)
})
