import fc from 'fast-check'
import { expect, test } from 'vitest'
import { EventRenaming } from './event-renaming.ts'
import { ModelRenaming } from './model-renaming.ts'
import { chatCompletions } from './protocols/chat-completions.ts'
import { StreamMeter } from './stream-meter.ts'

const renaming = new ModelRenaming('dep-1', 'my “model”', ['model'])

function open(dropsUsage: boolean, renames = false): StreamMeter {
  const events = chatCompletions.events!
  const removal = events.openRemoval({ stream_options: { include_usage: !dropsUsage } }, 'none')
  return new StreamMeter(events, 'none', { removal, renaming: renames ? new EventRenaming(renaming) : null })
}

function run(input: Buffer, { dropsUsage = true, renames = false, cuts = [] as number[] } = {}) {
  const meter = open(dropsUsage, renames)
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
  const text = 'data: {"choices":[{"delta":{}}],"usage":{"prompt_tokens":1,"completion_tokens":2}}\n\n'
  const { output, usage: counted } = run(Buffer.from(text))
  expect(output.toString()).toBe(text)
  expect(counted).toEqual({ inputTokens: 1, outputTokens: 2 })
})

test('without reported usage, each chunk counts as one output token', () => {
  const { usage: counted } = run(
    Buffer.from(`${content}\n\n${content}\n\n: comment\n\ndata: {"error":1}\n\n`),
  )
  expect(counted).toEqual({ inputTokens: 0, outputTokens: 2 })
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

test.each([true, false])(
  'the model gets the name of the request at every split, and no other byte changes; dropsUsage %j',
  (dropsUsage) => {
    const pieces = [
      '"id":"a","model":"dep-1",',
      '"choices":[{"delta":{"content":"dep-1"}}],"model": "dep-1",',
    ]
    const events = pieces.map((piece) => `data: {${piece}"x":"\\"model\\":\\"dep-1\\""}\n\n`).join('')
    const text = `${events}: "model":"dep-1"\n\ndata: [DONE]\n\n`
    const renamed = text.replaceAll(/"model": ?"dep-1",/g, (member) => member.replace('dep-1', 'my “model”'))
    const input = Buffer.from(text)
    for (let cut = 0; cut <= input.length; cut += 1) {
      const { output } = run(input, { dropsUsage, renames: true, cuts: [cut, cut + 3] })
      expect(output.toString()).toBe(renamed)
    }
  },
)

test.each(['\n', '\r\n'])('long reads that end inside events give the same, with line endings %j', (end) => {
  const events = Array.from({ length: 200 }, (_, index) =>
    index % 7 === 0 ? `event: x${end}${content}` : `data: {"model":"dep-1","x":"${'y'.repeat(index)}"}`,
  )
  const text = [...events, usage, 'data: [DONE]', ''].join(end + end)
  const whole = run(Buffer.from(text), { renames: true })
  fc.assert(
    fc.property(fc.array(fc.nat(), { maxLength: 4 }), fc.boolean(), (cuts, dropsUsage) => {
      const { output, usage: counted } = run(Buffer.from(text), { renames: true, dropsUsage, cuts })
      expect(output.toString()).toBe(
        dropsUsage ? whole.output.toString() : text.replaceAll('"dep-1"', JSON.stringify('my “model”')),
      )
      expect(counted).toEqual({ inputTokens: 5, outputTokens: 7 })
    }),
    { numRuns: 50 },
  )
})
