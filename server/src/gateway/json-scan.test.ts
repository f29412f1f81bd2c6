import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createMemberScanner } from './json-scan.ts'

const scanMembers = createMemberScanner(['model', 'stream', 'stream_options', 'encoding_format'])
const padding = 'x'.repeat(5_000)

/** Returns the texts of the values that the scanner finds; null when a parser is needed. */
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
])('finds the members of %s', (text, values) => {
  expect(scan(text)).toEqual(values)
})

test.each([
  ['a second name', '{"model":"m","a":{"model":"n"}}'],
  ['a second name hidden in escapes', '{"model":"m","mod\\u0065l":"n"}'],
  ['a name hidden in escapes with capital digits', '{"model":"m","\\u006Dodel":"n"}'],
  ['stream_options hidden in escapes', '{"model":"m","stream":true,"stream\\u005foptions":{}}'],
  ['a name in an inner object', '{"a":{"model":"m"}}'],
  ['a name in an inner object far from the start', `{"x":"${padding}","a":{"model":"m"}}`],
  ['a name in an inner object far from the end', `{"a":{"model":"m"},"x":"${padding}"}`],
  ['a name far from the start and the end', `{"x":"${padding}","model":"m","y":"${padding}"}`],
  ['a name before a form feed', '{"model":"m","model"\f:"n"}'],
  ['a name before a comment', '{"model":"m","model"/**/:"n"}'],
  ['part of a name', '{"a \\"model":"m"}'],
  ['an escaped value', '{"model":"\\u0065"}'],
  ['a long value', `{"model":"${padding}"}`],
  ['an incomplete value', '{"model":{"a":[}'],
  ['an array', '["model",1]'],
  ['an incomplete object', '{"model":"m"'],
  ['a second body with a name', '{"model":"m"} {"model":"n"}'],
  ['a stream in an inner object', '{"model":"m","a":{"stream":true}}'],
  ['two streams', '{"model":"m","stream":true,"stream":false}'],
  ['UTF-16', Buffer.from('{"model":"m"}', 'utf16le').toString()],
])('leaves %s to a parser', (_what, text) => {
  expect(scan(text)).toBeNull()
})

test('the scanner finds what a parser finds', () => {
  const key = fc.constantFrom('model', 'stream', 'x', 'a"model', 'stream_options', '\\')
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
    }),
  )
})
