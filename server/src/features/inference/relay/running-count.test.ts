import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { TokenCounts } from '../../../ports/runtime-engine.ts'
import { chatCompletions } from '../protocols/chat-completions.ts'
import { readOpenAiUsage } from '../protocols/openai.ts'
import { StreamMeter } from './stream-meter.ts'

function open(inEvents: TokenCounts['inEvents'], values: Record<string, unknown>): StreamMeter {
  return new StreamMeter(chatCompletions.events!, inEvents, values)
}

/** Sends a text through a meter in pieces that end at `cuts`. */
function run(meter: StreamMeter, text: string, cuts: readonly number[] = []): string {
  const bytes = Buffer.from(text).toString('latin1')
  const edges = [...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].toSorted((a, b) => a - b)
  let start = 0
  let out = ''
  for (const edge of edges) {
    out += meter.take(bytes.slice(start, edge))
    start = edge
  }
  return Buffer.from(out + meter.finish(), 'latin1').toString()
}

const usageOf = (output: number) => ({
  prompt_tokens: 5,
  total_tokens: 5 + output,
  completion_tokens: output,
  prompt_tokens_details: { cached_tokens: 2 },
})
const chunk = (content: string, rest: object = {}) => ({
  id: 'a',
  model: 'dep-1',
  choices: [{ index: 0, delta: { content }, finish_reason: null }],
  ...rest,
})
const write = (document: unknown): string => `data: ${JSON.stringify(document)}\n\n`

test('of an engine that counts in each event, the caller sees what it would without, at every split', () => {
  const texts = ['a', 'ü ,"usage":{"x":1}}\n\n', '\\', '"usage":{}']
  const events = texts.map((text, index) => write(chunk(text, { usage: usageOf(index + 1) })))
  const last = write({ id: 'a', model: 'dep-1', choices: [], usage: usageOf(9) })
  const text = [...events, last, 'data: [DONE]\n\n'].join('')
  const expected = [...texts.map((each) => write(chunk(each))), 'data: [DONE]\n\n']
  for (let cut = 0; cut <= Buffer.byteLength(text); cut += 1) {
    const meter = open('usage', {})
    expect(run(meter, text, [cut])).toBe(expected.join(''))
    expect(meter.usage()).toEqual({ inputTokens: 5, outputTokens: 9, cachedTokens: 2 })
    const asked = open('usage', { stream_options: { include_usage: true } })
    const nulls = texts.map((each) => write(chunk(each, { usage: null })))
    expect(run(asked, text, [cut])).toBe([...nulls, last, expected.at(-1)].join(''))
  }
})

test.each([
  ['an object before the choices', '{"x":{},"choices":[{}]', '{"x":{},"choices":[]'],
  [
    'a name that ends like the choices',
    '{"\\"choices":[{}],"choices":[{}]',
    '{"\\"choices":[{}],"choices":[]',
  ],
])('the head of an event proves its choices: %s', (_difference, filled, empty) => {
  const usage = ',"usage":{"prompt_tokens":5,"completion_tokens":3}}'
  const text = [filled + usage, filled + usage, empty + usage].map((each) => `data: ${each}\n\n`).join('')
  const meter = open('usage', {})
  expect(run(meter, text)).toBe(`data: ${filled}}\n\n`.repeat(2))
})

test.each([
  ', "usage":{"completion_tokens":1}}',
  ',"usage" : {"completion_tokens":1}}',
  ',"usage":{"completion_tokens":1} }',
  ',"usage":{"completion_tokens":1,"a":{"b":1}}}',
  ',"usage":{"completion_tokens":1,"a":"{"}}',
  ',"usage":{"completion_tokens":1,"a":"}"}}',
])('a count is cut whatever its spaces and values are: %s', (usage) => {
  const filled = '{"choices":[{"delta":{}}]'
  const usual = ',"usage":{"completion_tokens":2}}'
  const text = [usual, usage, usual].map((each) => `data: ${filled}${each}\n\n`).join('')
  const meter = open('usage', {})
  expect(run(meter, text).replaceAll(' }', '}')).toBe(`data: ${filled}}\n\n`.repeat(3))
})

test('a caller that asks for usage in each event gets every byte', () => {
  const text = write(chunk('a', { usage: usageOf(1) })) + write({ choices: [], usage: usageOf(1) })
  const meter = open('usage', { stream_options: { include_usage: true, continuous_usage_stats: true } })
  expect(run(meter, text)).toBe(text)
  expect(meter.partialUsage()).toEqual({ inputTokens: 5, outputTokens: 1, cachedTokens: 2 })
})

test('a truncated stream used what the last event counted; one without a count is unknown', () => {
  const meter = open('usage', {})
  expect(meter.partialUsage()).toBeNull()
  run(
    meter,
    write(chunk('a', { usage: usageOf(0) })) + write(chunk('b', { usage: usageOf(3) })) + 'data: {"u',
  )
  expect(meter.partialUsage()).toEqual({ inputTokens: 5, outputTokens: 3, cachedTokens: 2 })
})

const timings = (output: number) => ({
  cache_n: 3,
  prompt_n: 4,
  prompt_ms: 1.25,
  predicted_n: output,
  predicted_per_second: 1e-7,
})
const progress = (processed: number) =>
  write(chunk('', { timings: timings(0), prompt_progress: { total: 7, cache: 3, processed, time_ms: 2 } }))

test('timings and progress of llama-server are removed unless the caller asks for them', () => {
  const last = write({ choices: [], usage: usageOf(2), timings: timings(2) })
  const tokens = [1, 2].map((count) => write(chunk('a', { timings: timings(count) }))).join('')
  const text = progress(5) + progress(7) + tokens + last
  const plain = write(chunk('a')).repeat(2)
  for (const [values, expected] of [
    [{}, plain],
    [{ stream_options: { include_usage: true } }, plain + last],
    [{ timings_per_token: true }, tokens],
    [{ timings_per_token: true, return_progress: true }, text.slice(0, -last.length)],
    [{ timings_per_token: true, return_progress: true, stream_options: { include_usage: true } }, text],
  ] as const) {
    const meter = open('timings', values)
    expect(run(meter, text)).toBe(expected)
    expect(meter.usage()).toEqual({ inputTokens: 5, outputTokens: 2, cachedTokens: 2 })
  }
  for (const [seen, inputTokens, outputTokens] of [
    [progress(5), 5, 0],
    [progress(7) + tokens, 7, 2],
  ] as const) {
    const meter = open('timings', {})
    run(meter, seen)
    expect(meter.partialUsage()).toEqual({ inputTokens, outputTokens, cachedTokens: 3 })
  }
})

const count = fc.record({
  prompt_tokens: fc.nat(100),
  completion_tokens: fc.nat(100),
  prompt_tokens_details: fc.constantFrom(undefined, null, {}, { cached_tokens: 1 }, { usage: { a: 1 } }),
  note: fc.constantFrom(undefined, 'x', '}}\n\n', ',"usage":{"a":1}}'),
})
const value: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom(null, 1, 'a', '"usage":{', ',"usage":{"prompt_tokens":1}}\n\n', 'data: {', '\r\n', 'ü'),
  count,
  fc.record({ usage: count }),
  fc.array(fc.record({ choices: fc.constant([]), usage: count }), { maxLength: 2 }),
)
const member = fc.tuple(fc.constantFrom('usage', 'choices', 'x', 'timings', 'usage"', 'delta'), value)
const document = fc
  .tuple(fc.array(member, { maxLength: 5 }), fc.option(count), fc.boolean())
  .map(([members, last, isEmpty]) => ({
    choices: isEmpty ? [] : [{ delta: { content: 'a' } }],
    ...Object.fromEntries(members),
    ...(last === null ? {} : { usage: last }),
  }))
const layouts = [
  (text: string) => `data: ${text}\n\n`,
  (text: string) => `data:${text}\r\n\r\n`,
  (text: string) => `event: x,"usage":{"a":1}}\nid: 1\ndata: ${text}\n\n`,
  (text: string) => `: ,"usage":{"a":1}}\n\ndata: ${text}\n\n`,
  (text: string) => `: a\r: ,"usage":{"a":1}}\n\ndata: ${text}\nid: 2\n\n`,
]
const spaced = (text: unknown) => JSON.stringify(text, null, ' ').replaceAll('\n', ' ')
const event = fc
  .tuple(document, fc.constantFrom(...layouts), fc.constantFrom(JSON.stringify, spaced))
  .map(([content, layout, stringify]) => ({ content, layout, stringify }))

const isObject = (given: unknown): given is Record<string, unknown> =>
  typeof given === 'object' && given !== null && !Array.isArray(given)

test.each([true, false])(
  'hostile events are cut as if each was parsed, at any split; the usage asked for: %j',
  (asks) => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 8 }), fc.array(fc.nat(), { maxLength: 6 }), (events, cuts) => {
        const text = events.map(({ content, layout, stringify }) => layout(stringify(content))).join('')
        const meter = open('usage', { stream_options: { include_usage: asks } })
        const output = run(meter, text, cuts)
        const kept = events.flatMap(({ content, layout }) => {
          const { usage, ...others } = content as Record<string, unknown>
          if (!isObject(usage)) return [layout(JSON.stringify(content))]
          const { choices } = content
          if (!Array.isArray(choices) || choices.length > 0) {
            return [layout(JSON.stringify(asks ? { ...content, usage: null } : others))]
          }
          return asks ? [layout(JSON.stringify(content))] : []
        })
        const seen = (stream: string) =>
          stream
            .split(/\r?\n\r?\n/)
            .flatMap((each) => /^data: ?(.*)$/m.exec(each)?.slice(1) ?? [])
            .map((each) => JSON.parse(each))
        expect(seen(output)).toEqual(seen(kept.join('')))
        const comments = (stream: string) => stream.match(/^: .*$/gm)
        expect(comments(output)).toEqual(comments(text))
        const last = events.findLast(({ content }) => readCount(content) !== null)
        if (last !== undefined) expect(meter.usage()).toEqual(readCount(last.content))
      }),
      { numRuns: 1000 },
    )
  },
)

function readCount(content: object) {
  const { usage } = content as { usage?: unknown }
  return isObject(usage) ? readOpenAiUsage(usage) : null
}
