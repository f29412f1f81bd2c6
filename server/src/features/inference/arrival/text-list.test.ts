import fc from 'fast-check'
import { expect, test } from 'vitest'
import { TextListWalk } from './text-list.ts'

/** Walks a value in steps, as the member `input` of a body. */
function countTexts(json: string, step = Infinity): number | null {
  const body = Buffer.from(`{"input":${json} ,"x":["y"]}`)
  const start = '{"input":'.length
  const walk = new TextListWalk(body, { name: 'input', start, end: start + Buffer.byteLength(json) })
  while (!walk.advance(walk.position + step)) continue
  return walk.count
}

test('counts the texts of any list, in steps of any size', () => {
  const text = fc.oneof(
    fc.string({ minLength: 1, unit: 'grapheme' }),
    fc
      .tuple(fc.constantFrom('\\', '"', 'x', '\\"', '],"'), fc.integer({ min: 1, max: 200 }))
      .map(([c, n]) => c.repeat(n)),
  )
  fc.assert(
    fc.property(
      fc.array(text, { maxLength: 6 }),
      fc.nat(2),
      fc.integer({ min: 1, max: 80 }),
      (texts, indent, step) => {
        const json = JSON.stringify(texts, null, indent)
        expect([countTexts(json), countTexts(json, step)]).toEqual([texts.length, texts.length])
      },
    ),
  )
})

test('a text is one, and other values are none', () => {
  expect(['"a ship"', '"[1]"', 'null', '{"a":["b"]}', '7'].map((json) => countTexts(json))).toEqual([
    1,
    1,
    null,
    null,
    null,
  ])
})

test.each([
  ['""', '`input` must not be empty'],
  ['["a", ""]', '`input.1` must not be empty'],
  ['["a", null]', '`input.1` must be a text'],
  ['["a,]", {"text":"b"}]', '`input.1` must be a text'],
  ['["a", true]', '`input.1` must be a text'],
  ['["a", -5]', '`input.1` must be a text'],
  ['["a", "b\\"", 5]', '`input.2` holds token ids'],
  ['["a", ["b"]]', '`input.1` holds token ids'],
  ['[1, 2]', '`input.0` holds token ids'],
  ['[ [\n 7, 8]]', '`input.0` holds token ids'],
])('names the bad item of %s', (json, problem) => {
  for (const step of [1, 3, Infinity]) expect(() => countTexts(json, step)).toThrow(problem)
})
