import fc from 'fast-check'
import { expect, test } from 'vitest'
import { chatCompletions } from '../protocols/chat-completions.ts'
import { StreamMeter } from './stream-meter.ts'

function open(dropsUsage: boolean): StreamMeter {
  const values = { stream_options: { include_usage: !dropsUsage } }
  return new StreamMeter(chatCompletions.events!, 'none', values)
}

function run(input: Buffer, { dropsUsage = true, cuts = [] as number[] } = {}) {
  const meter = open(dropsUsage)
  let out = ''
  const text = input.toString('latin1')
  const edges = [
    0,
    ...cuts.map((cut) => cut % (input.length + 1)).toSorted((one, other) => one - other),
    input.length,
  ]
  for (const [index, end] of edges.slice(1).entries()) out += meter.take(text.slice(edges[index], end))
  out += meter.finish()
  return { output: Buffer.from(out, 'latin1'), usage: meter.usage() }
}

const content = 'data: {"choices":[{"delta":{"content":"…é"}}]}'
const small = { prompt_tokens: 1, completion_tokens: 2 }
const usage = 'data: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":7}}'

test.each(['\n', '\r\n', '\r'])(
  'events with line endings %j are forwarded unchanged, without the usage chunk',
  (end) => {
    const blank = end + end
    const before = [': hello', content, `event: x${end}id: 1${end}${content}`].join(blank) + blank
    const after = `data: [DONE]${blank}`
    const { output, usage: counted } = run(Buffer.from(before + usage + blank + after))
    expect(output.toString()).toBe(before + after)
    expect(counted).toEqual({ inputTokens: 5, outputTokens: 7 })
  },
)

test('the usage chunk is forwarded when the caller asked for it', () => {
  const text = `${content}\n\n${usage}\n\ndata: [DONE]\n\n`
  const { output, usage: counted } = run(Buffer.from(text), { dropsUsage: false })
  expect(output.toString()).toBe(text)
  expect(counted).toEqual({ inputTokens: 5, outputTokens: 7 })
})

test('a chunk with usage and a choice is counted and forwarded', () => {
  for (const choice of [{ delta: { content: 'a' } }, { delta: {}, finish_reason: 'stop' }, { text: '' }]) {
    const text = `data: ${JSON.stringify({ choices: [choice], usage: small })}\n\n`
    const { output, usage: counted } = run(Buffer.from(text))
    expect(output.toString()).toBe(text)
    expect(counted).toEqual({ inputTokens: 1, outputTokens: 2 })
  }
})

test('a chunk with usage and a choice that says nothing is forwarded to callers who asked for it', () => {
  for (const more of [{}, { finish_reason: null, logprobs: null }]) {
    const text = `data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, ...more }], usage: small })}\n\n`
    const { output, usage: counted } = run(Buffer.from(text))
    expect(output.toString()).toBe('')
    expect(counted).toEqual({ inputTokens: 1, outputTokens: 2 })
    expect(run(Buffer.from(text), { dropsUsage: false }).output.toString()).toBe(text)
  }
})

test('without reported usage, each chunk counts as one output token', () => {
  const { usage: counted } = run(
    Buffer.from(`${content}\n\n${content}\n\n: comment\n\ndata: {"error":1}\n\n`),
  )
  expect(counted).toEqual({ inputTokens: 0, outputTokens: 2 })
})

test('without reported usage, events without text count as no token', () => {
  const deltas = [
    { role: 'assistant', content: '' },
    { content: 'One' },
    { content: ' two', tool_calls: [] },
    { reasoning_content: 'three' },
    { content: 'said \\"content\\": \\"x\\"' },
    {},
    { content: null },
  ]
  const events = deltas.map((delta) => `data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`)
  const { usage: counted } = run(Buffer.from(events.join('')))
  expect(counted).toEqual({ inputTokens: 0, outputTokens: 4 })
})

test('a truncated last event is forwarded', () => {
  const text = `${content}\n\ndata: {"choi`
  expect(run(Buffer.from(text)).output.toString()).toBe(text)
})

test('the output is the same at every split, also for invalid UTF-8 and a byte order mark', () => {
  const pieces = [content, ': c', 'data: [DONE]', 'data: x\ndata: y', '\uFEFFdata: b', '']
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.constantFrom(...pieces), fc.constantFrom('\n\n', '\r\n\r\n')), { maxLength: 8 }),
      fc.uint8Array({ min: 0x80, maxLength: 8 }),
      fc.array(fc.nat(), { maxLength: 12 }),
      (events, noise, cuts) => {
        const text = Buffer.concat([Buffer.from(events.flat().join('')), noise, Buffer.from('\n\n')])
        const { output, usage: counted } = run(Buffer.concat([text, Buffer.from(`${usage}\n\n`)]), {
          cuts,
        })
        expect(output.equals(text)).toBe(true)
        expect(counted).toEqual({ inputTokens: 5, outputTokens: 7 })
      },
    ),
  )
})

test('an event without an end is rejected before it fills the memory', () => {
  const meter = open(true)
  expect(() => {
    for (let written = 0; written <= 9; written += 1) meter.take('a'.repeat(1024 * 1024))
  }).toThrow('too long')
})

test('of two usage chunks the last one counts, and neither is forwarded', () => {
  const second = usage.replace('5', '6')
  const { output, usage: counted } = run(Buffer.from(`${usage}\n\n${content}\n\n${second}\n\n`))
  expect(output.toString()).toBe(`${content}\n\n`)
  expect(counted).toEqual({ inputTokens: 6, outputTokens: 7 })
})

test.each(['{"prompt_tokens":-1}', '{"prompt_tokens":1e99}', '{"completion_tokens":"7"}'])(
  'implausible usage is not counted: %s',
  (absurd) => {
    const text = `${content}\n\ndata: {"choices":[],"usage":${absurd}}\n\n`
    const { output, usage: counted } = run(Buffer.from(text))
    expect(output.toString()).toBe(`${content}\n\n`)
    expect(counted).toEqual({ inputTokens: 0, outputTokens: 1 })
  },
)

test('chunks with null usage are forwarded', () => {
  const text = 'data: {"choices":[{"delta":{}}],"usage":null}\n\ndata: {"choices":[],"usage" : null}\n\n'
  expect(run(Buffer.from(text)).output.toString()).toBe(text)
})

test('an event is forwarded when its blank line arrives; bytes are forwarded immediately when nothing is dropped', () => {
  const meter = open(true)
  const contentBytes = Buffer.from(content).toString('latin1')
  expect(meter.take(contentBytes + '\n')).toBe('')
  expect(meter.take('\ndata:')).toBe(`${contentBytes}\n\n`)
  expect(open(false).take('dat')).toBe('dat')
})

test.each(['\n', '\r\n'])('long reads that end inside events give the same, with line endings %j', (end) => {
  const events = Array.from({ length: 200 }, (_, index) =>
    index % 7 === 0 ? `event: x${end}${content}` : `data: {"model":"dep-1","x":"${'y'.repeat(index)}"}`,
  )
  const text = [...events, usage, 'data: [DONE]', ''].join(end + end)
  fc.assert(
    fc.property(fc.array(fc.nat(), { maxLength: 4 }), fc.boolean(), (cuts, dropsUsage) => {
      const { output, usage: counted } = run(Buffer.from(text), { dropsUsage, cuts })
      expect(output.toString()).toBe(dropsUsage ? text.replace(usage + end + end, '') : text)
      expect(counted).toEqual({ inputTokens: 5, outputTokens: 7 })
    }),
    { numRuns: 50 },
  )
})

const asksForAll = {
  stream_options: { include_usage: true, continuous_usage_stats: true },
  timings_per_token: true,
  return_progress: true,
}

test.each([
  ['timings', '"timings":{"cache_n":13,"prompt_n":1,"predicted_n":5}', 5],
  ['timings', '"prompt_progress":{"total":14,"cache":13,"processed":14,"time_ms":1}', 0],
  [
    'usage',
    '"usage":{"prompt_tokens":14,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":13}}',
    5,
  ],
] as const)('cached tokens are a part of the input: %s %s', (inEvents, member, outputTokens) => {
  const meter = new StreamMeter(chatCompletions.events!, inEvents, asksForAll)
  meter.take(`data: {"choices":[{"index":0,"delta":{}}],${member}}\n\n`)
  expect(meter.partialUsage()).toEqual({ inputTokens: 14, outputTokens, cachedTokens: 13 })
})

test('more cached tokens than input are all of the input', () => {
  const meter = new StreamMeter(chatCompletions.events!, 'usage', asksForAll)
  meter.take(
    'data: {"choices":[],"usage":{"prompt_tokens":4,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":13}}}\n\n',
  )
  expect(meter.usage()).toEqual({ inputTokens: 4, outputTokens: 5, cachedTokens: 4 })
})

/** Events of llama-server b11669 and vLLM 0.32 for two choices, without unused members. */
const recorded = {
  timings: [
    '{"choices":[{"finish_reason":null,"index":0,"delta":{"content":null}}],"timings":{"cache_n":0,"prompt_n":14,"predicted_n":0},"prompt_progress":{"total":14,"cache":0,"processed":14}}',
    '{"choices":[{"finish_reason":null,"index":0,"delta":{"content":"2"}}],"timings":{"cache_n":0,"prompt_n":14,"predicted_n":1}}',
    '{"choices":[{"finish_reason":null,"index":1,"delta":{"content":"2"}}],"timings":{"cache_n":0,"prompt_n":14,"predicted_n":1}}',
    '{"choices":[{"finish_reason":null,"index":0,"delta":{"content":"7"}}],"timings":{"cache_n":0,"prompt_n":14,"predicted_n":2}}',
    '{"choices":[{"finish_reason":null,"index":1,"delta":{"content":"7"}}],"timings":{"cache_n":0,"prompt_n":14,"predicted_n":2}}',
    '{"choices":[{"finish_reason":"length","index":0,"delta":{}}]}',
    '{"choices":[],"usage":{"completion_tokens":3,"prompt_tokens":14},"timings":{"cache_n":0,"prompt_n":14,"predicted_n":3}}',
    '{"choices":[{"finish_reason":"length","index":1,"delta":{}}]}',
    '{"choices":[],"usage":{"completion_tokens":4,"prompt_tokens":14},"timings":{"cache_n":0,"prompt_n":14,"predicted_n":4}}',
  ],
  usage: [
    '{"choices":[{"index":0,"delta":{"role":"assistant"}}],"usage":{"prompt_tokens":14,"total_tokens":14,"completion_tokens":0}}',
    '{"choices":[{"index":0,"delta":{"content":"2"}}],"usage":{"prompt_tokens":14,"total_tokens":15,"completion_tokens":1}}',
    '{"choices":[{"index":1,"delta":{"content":"2"}}],"usage":{"prompt_tokens":14,"total_tokens":15,"completion_tokens":1}}',
    '{"choices":[{"index":0,"delta":{"content":"7"}}],"usage":{"prompt_tokens":14,"total_tokens":16,"completion_tokens":2}}',
    '{"choices":[{"index":1,"delta":{"content":"7"}}],"usage":{"prompt_tokens":14,"total_tokens":17,"completion_tokens":3}}',
    '{"choices":[],"usage":{"prompt_tokens":14,"total_tokens":19,"completion_tokens":5}}',
  ],
}

test.each([
  ['timings', [0, 1, 2, 3, 4, 4, 5, 5, 7]],
  ['usage', [0, 1, 2, 3, 5, 5]],
] as const)('%s of several choices are added up, also if the stream is aborted', (inEvents, outputs) => {
  const events = chatCompletions.events!
  const values = { n: 2, stream_options: { include_usage: true } }
  for (const [index, output] of outputs.entries()) {
    const meter = new StreamMeter(events, inEvents, values)
    const sent = recorded[inEvents].slice(0, index + 1).map((data) => `data: ${data}\n\n`)
    const seen = meter.take(sent.join(''))
    expect(meter.partialUsage()).toEqual({ inputTokens: 14, outputTokens: output })
    expect(seen).not.toMatch(/"choices":\[\{.*"(?:usage|timings)":\{/)
  }
})
