import { expect, test } from 'vitest'
import { writeCommand } from './write-command.ts'

test('a command has its words and options, quoted for a shell, without those that are not set', () => {
  expect(
    writeCommand(['deploy', 'qwen3'], {
      size: 0.6,
      alias: "it's",
      share: true,
      'idle-minutes': undefined,
      yields: false,
      'engine-option': ['a=1', 'b=two words'],
    }),
  ).toBe(
    String.raw`berth deploy qwen3 --size 0.6 --alias 'it'\''s' --share --engine-option a=1 --engine-option 'b=two words'`,
  )
  expect(writeCommand(['scale', 'x'], { schedule: [] })).toBe('berth scale x')
})
