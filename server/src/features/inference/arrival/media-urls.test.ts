import fc from 'fast-check'
import { expect, test } from 'vitest'
import { anthropicMedia } from '../protocols/media-formats.ts'
import { isAllowedMediaUrl, mayHaveMediaUrls, MediaWalk } from './media-urls.ts'

const domains = new Set(['images.example'])

/** True if a body is accepted, for all sizes of steps. */
function accepts(text: string, step = Infinity): boolean {
  const body = Buffer.from(text)
  const walk = new MediaWalk(body, domains)
  try {
    while (!walk.advance(walk.position + step));
    return true
  } catch {
    return false
  }
}

const inMessages = (part: string) => `{"model":"m","messages":[{"role":"user","content":[${part}]}]}`
const evil = 'http://169.254.169.254/latest'

test.each([
  [`{"type":"image_url","image_url":{"url":"${evil}"}}`],
  [`{"type":"image_url","image_url":{"detail":"low","url" : "${evil}"}}`],
  [`{"image_url":"${evil}"}`],
  [`{"type":"video_url","video_url":{"url":"${evil}"}}`],
  [`{"type":"audio_url","audio_url":{"url":"${evil}"}}`],
  [`{"im\\u0061ge\\u005furl":{"\\u0075rl":"${evil}"}}`],
  ['{"image_url":{"url":"\\u0068ttp:\\/\\/169.254.169.254"}}'],
  [`{"image_url":{"x":{"y_url":{"url":"data:,"}},"url":"${evil}"}}`],
  [`{"image_url":{"url":"data:,","url":"${evil}"}}`],
  [`{"image_url":["data:,","${evil}"]}`],
  [`{"image_url":[{"url":"${evil}"}]}`],
  ['{"image_url":{"url":"file:///etc/passwd"}}'],
  [`{"image_url":{"url":"http://images.example/${'a'.repeat(10_000)}"}}`],
])('an address that is not allowed is found: %s', (part) => {
  const body = inMessages(part)
  expect(mayHaveMediaUrls(Buffer.from(body))).toBe(true)
  for (const step of [Infinity, 1, 7]) expect(accepts(body, step), String(step)).toBe(false)
})

test.each([
  ['{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}'],
  [`{"image_url":{"url":"data:image/png;base64,${'A'.repeat(100_000)}"}}`],
  ['{"image_url":{"url":"https://images.example/a.png?b=c"}}'],
  [`{"type":"text","text":"image_url: ${evil}, \\"image_url\\":\\"${evil}\\""}`],
  [`{"type":"text","url":"${evil}"}`],
  [`{"image_url":null,"text":"${evil}"}`],
  [`{"image_url":{"detail":"${evil}"}}`],
  [`{"image_url":{"url":"data:,"},"other":{"url":"${evil}"}}`],
])('a body is accepted: %s', (part) => {
  for (const step of [Infinity, 1, 7]) expect(accepts(inMessages(part), step), String(step)).toBe(true)
})

test('JSON Schemas may name addresses', () => {
  const schema = `{"properties":{"image_url":{"type":"string","default":"${evil}","url":"${evil}"}}}`
  for (const name of ['tools', 'functions', 'response_format']) {
    expect(accepts(`{"${name}":[${schema}],"model":"m"}`)).toBe(true)
  }
  expect(accepts(`{"tools":[${schema}],"messages":[{"image_url":"${evil}"}]}`)).toBe(false)
})

test.each([
  ['data:image/png;base64,AAAA', true],
  ['DATA:,', true],
  ['http://images.example', true],
  ['https://IMAGES.example:8443/a', true],
  ['https://images.example/@b', true],
  ['https://images.example.evil.example/', false],
  ['https://sub.images.example/', false],
  ['https://images.example@evil.example/', false],
  ['https://images.example:80@evil.example/', false],
  ['https://images.example\\@evil.example/', false],
  ['https://images.example/\\@evil.example', false],
  ['https://images.example?@evil.example', false],
  ['https://images.example#@evil.example', false],
  ['https://images.example\t.evil.example/', false],
  [' https://images.example/', false],
  ['//images.example/', false],
  ['ftp://images.example/', false],
  ['https://images.example/\n', false],
  ['https://ımages.example/', false],
])('%j is allowed: %s', (url, expected) => {
  expect(isAllowedMediaUrl(url, domains)).toBe(expected)
})

test('ordinary texts need no walk, even with escapes', () => {
  for (const text of ['Hello', '\\u00e4\\u00fc\\u20ac', 'a_b url']) {
    expect(mayHaveMediaUrls(Buffer.from(inMessages(`{"type":"text","text":"${text}"}`)))).toBe(false)
  }
})

/** What MediaWalk must find, by a full parse: every text below a name that ends in `_url`. */
function findBad(value: unknown, inMedia = false): boolean {
  if (Array.isArray(value)) {
    return value.some((item) => (typeof item === 'string' ? inMedia && isBad(item) : findBad(item, inMedia)))
  }
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(([name, item]) => {
    const isUrl = name.endsWith('_url')
    if (typeof item === 'string') return (isUrl || (inMedia && name === 'url')) && isBad(item)
    return findBad(item, inMedia || isUrl)
  })
}
const isBad = (url: string) => !isAllowedMediaUrl(url, domains)

test('the walk agrees with a full parse, in steps of any size', () => {
  const name = fc.constantFrom('image_url', 'url', 'x', 'a"b', 'é_url', 'a\\')
  const leaf = fc.constantFrom<unknown>(evil, 'data:,', 'text"', '\\', 1, null, true)
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { maxDepth: 3 },
      leaf,
      fc.array(tie('tree'), { maxLength: 3 }),
      fc.dictionary(name, tie('tree'), { maxKeys: 3 }),
    ),
  }))
  fc.assert(
    fc.property(
      fc.dictionary(name, tree),
      fc.integer({ min: 1, max: 20 }),
      fc.boolean(),
      (body, step, pretty) => {
        const text = JSON.stringify({ messages: body }, null, pretty ? 1 : 0)
        expect(accepts(text, step)).toBe(!findBad({ messages: body }))
      },
    ),
    { numRuns: 500 },
  )
})

test.each([
  ['the source of an image', [{ type: 'image', source: { type: 'url', url: 'http://bad/' } }], false],
  ['an image in a result', [{ content: [{ source: { url: 'http://bad/' } }] }], false],
  ['an escaped name', '[{"\\u0073ource":{"\\u0075rl":"http://bad/"}}]', false],
  ['OpenAI’s form', [{ image_url: { url: 'http://bad/' } }], false],
  ['an allowed host', [{ source: { type: 'url', url: 'https://good/' } }], true],
  [
    'the input of a tool',
    [{ type: 'tool_use', input: { source: { url: 'http://bad/' }, a_url: 'http://bad/' } }],
    true,
  ],
  ['a citation', [{ type: 'search_result', source: 'http://bad/', title: 'url' }], true],
])('addresses of media in messages: %s', (_what, content, isAllowed) => {
  const text = typeof content === 'string' ? content : JSON.stringify(content)
  const body = Buffer.from(`{"messages":[{"role":"user","content":${text}}]}`)
  const walk = () => {
    if (mayHaveMediaUrls(body, anthropicMedia)) {
      new MediaWalk(body, new Set(['good']), anthropicMedia).advance(body.length)
    }
  }
  if (isAllowed) expect(walk).not.toThrow()
  else expect(walk).toThrow('fetches media only from good')
  expect(isAllowedMediaUrl('https://good/', new Set(['good']))).toBe(true)
})
