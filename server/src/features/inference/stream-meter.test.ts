import { once } from 'node:events'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { meterStream } from './stream-meter.ts'

async function run(input: Buffer, { dropsUsage = true, cuts = [] as number[] } = {}) {
  const meter = meterStream(dropsUsage)
  const out: Buffer[] = []
  meter.on('data', (piece: Buffer) => out.push(piece))
  const edges = [
    0,
    ...cuts.map((cut) => cut % (input.length + 1)).toSorted((one, other) => one - other),
    input.length,
  ]
  for (const [index, end] of edges.slice(1).entries()) meter.write(input.subarray(edges[index], end))
  meter.end()
  await once(meter, 'end')
  return { output: Buffer.concat(out), usage: meter.usage() }
}

const content = 'data: {"choices":[{"delta":{"content":"…é"}}]}'
const usage = 'data: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":7}}'

test.each(['\n', '\r\n', '\r'])(
  'lines that end in %j pass as they are, without the usage chunk',
  async (end) => {
    const blank = end + end
    const before = [': hello', content, `event: x${end}id: 1${end}${content}`].join(blank) + blank
    const after = `data: [DONE]${blank}`
    const { output, usage: counted } = await run(Buffer.from(before + usage + blank + after))
    expect(output.toString()).toBe(before + after)
    expect(counted).toEqual({ inputTokens: 5, outputTokens: 7 })
  },
)

test('the usage chunk passes when it was asked for', async () => {
  const text = `${content}\n\n${usage}\n\ndata: [DONE]\n\n`
  const { output, usage: counted } = await run(Buffer.from(text), { dropsUsage: false })
  expect(output.toString()).toBe(text)
  expect(counted).toEqual({ inputTokens: 5, outputTokens: 7 })
})

test('usage beside a choice is counted and passes', async () => {
  const text = 'data: {"choices":[{"delta":{}}],"usage":{"prompt_tokens":1,"completion_tokens":2}}\n\n'
  const { output, usage: counted } = await run(Buffer.from(text))
  expect(output.toString()).toBe(text)
  expect(counted).toEqual({ inputTokens: 1, outputTokens: 2 })
})

test('without a report, chunks are counted', async () => {
  const { usage: counted } = await run(
    Buffer.from(`${content}\n\n${content}\n\n: comment\n\ndata: {"error":1}\n\n`),
  )
  expect(counted).toEqual({ inputTokens: 0, outputTokens: 2 })
})

test('what is left at the end passes, even cut off', async () => {
  const text = `${content}\n\ndata: {"choi`
  expect((await run(Buffer.from(text))).output.toString()).toBe(text)
})

test('however the bytes are cut, the same comes out: bytes that are not UTF-8 and a byte order mark too', async () => {
  const pieces = [content, ': c', 'data: [DONE]', 'data: x\ndata: y', '\uFEFFdata: b', '']
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.constantFrom(...pieces), fc.constantFrom('\n\n', '\r\n\r\n')), { maxLength: 8 }),
      fc.uint8Array({ min: 0x80, maxLength: 8 }),
      fc.array(fc.nat(), { maxLength: 12 }),
      async (events, noise, cuts) => {
        const text = Buffer.concat([Buffer.from(events.flat().join('')), noise, Buffer.from('\n\n')])
        const { output, usage: counted } = await run(Buffer.concat([text, Buffer.from(`${usage}\n\n`)]), {
          cuts,
        })
        expect(output.equals(text)).toBe(true)
        expect(counted).toEqual({ inputTokens: 5, outputTokens: 7 })
      },
    ),
  )
})

test('an event without an end does not fill the memory', async () => {
  const meter = meterStream(true)
  const failed = once(meter, 'error')
  for (let written = 0; written <= 9; written += 1) meter.write(Buffer.alloc(1024 * 1024, 'a'))
  expect(String((await failed)[0])).toContain('without an end')
})
