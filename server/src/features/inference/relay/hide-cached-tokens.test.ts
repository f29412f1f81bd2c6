import { expect, test } from 'vitest'
import { HidingMeter, hideCachedTokens } from './hide-cached-tokens.ts'

test.each([
  [
    '{"usage":{"prompt_tokens":9,"prompt_tokens_details":{"cached_tokens": 7}}}',
    '{"usage":{"prompt_tokens":9,"prompt_tokens_details":{"cached_tokens": 0}}}',
  ],
  [
    '{"usage":{"input_tokens":2,"cache_read_input_tokens":7,"output_tokens":1}}',
    '{"usage":{"input_tokens":9,"cache_read_input_tokens":0,"output_tokens":1}}',
  ],
  [
    '{"timings":{"cache_n":7,"prompt_n":2,"predicted_n":1}}',
    '{"timings":{"cache_n":0,"prompt_n":0,"predicted_n":1}}',
  ],
  ['{"content":"\\"cached_tokens\\": 7"}', '{"content":"\\"cached_tokens\\": 7"}'],
])('counts of cached tokens are 0, and the sum stays: %s', (answer, expected) => {
  expect(hideCachedTokens(answer)).toBe(expected)
})

test('a stream in pieces has no count either, and loses nothing', () => {
  const events =
    'data: {"a":1}\n\ndata: {"usage":{"prompt_tokens_details":{"cached_tokens":12}}}\n\ndata: [DONE]'
  const expected = events.replace('12', '0')
  for (let size = 1; size <= events.length; size += 1) {
    const meter = new HidingMeter({
      take: (bytes) => bytes,
      finish: () => '\n\n',
      usage: () => null,
      partialUsage: () => null,
    })
    let text = ''
    for (let at = 0; at < events.length; at += size) text += meter.take(events.slice(at, at + size))
    expect(text + meter.finish()).toBe(`${expected}\n\n`)
  }
})

test.each([true, false])('tells whether the stream is broken: %s', (isBroken) => {
  const meter = { take: () => '', finish: () => '', usage: () => null, partialUsage: () => null, isBroken }
  expect(new HidingMeter(meter).isBroken).toBe(isBroken)
})
