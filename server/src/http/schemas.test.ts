import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { z } from 'zod'
import { pageQuery, queryBoolean, queryInteger, text, timestamp, unicodeText } from './schemas.ts'

function accepts(schema: z.ZodType, value: unknown): boolean {
  return schema.safeParse(value).success
}

describe('text', () => {
  const name = text({ min: 1, max: 3 })

  test.each(['a', 'abc', ' abc ', '🚢🚢🚢', '\tabc\n', 'a c'])('accepts %j', (value) => {
    expect(name.parse(value)).toBe(value.trim())
  })

  test.each(['', '   ', 'abcd', '🚢🚢🚢🚢', 'a\0', '\ud83d', '\ude80a', null, 1, ['a'], {}])(
    'rejects %j',
    (value) => {
      expect(accepts(name, value)).toBe(false)
    },
  )

  test('counts code points after trimming, for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 8 }), (value) => {
        const length = Array.from(value.trim()).length
        expect(accepts(name, value)).toBe(!value.includes('\0') && length >= 1 && length <= 3)
      }),
    )
  })

  test('one problem is reported once', () => {
    expect(name.safeParse('abcd').error?.issues).toHaveLength(1)
  })
})

test('unicodeText keeps the text unchanged', () => {
  expect(unicodeText().parse('  \u{1f6a2}\n ')).toBe('  \u{1f6a2}\n ')
})

test('queryBoolean accepts the words that HTTP libraries write, and has a default', () => {
  const schema = queryBoolean(true)
  for (const word of ['true', 'True', 'TRUE', '1', 'yes', 'on']) expect(schema.parse(word), word).toBe(true)
  for (const word of ['false', 'False', '0', 'no', 'off']) expect(schema.parse(word), word).toBe(false)
  expect(schema.parse(undefined)).toBe(true)
  for (const value of ['', '2', 'maybe', 'constructor', ' true', true, ['true', 'false']]) {
    expect(accepts(schema, value), String(value)).toBe(false)
  }
})

describe('queryInteger', () => {
  const schema = queryInteger({ min: 1, max: 500 }).default(100)

  test.each([
    ['1', 1],
    ['500', 500],
    ['007', 7],
    [undefined, 100],
  ])('%s is %d', (value, expected) => {
    expect(schema.parse(value)).toBe(expected)
  })

  test.each([
    '',
    '0',
    '501',
    '-1',
    '+1',
    '1.0',
    '1e2',
    '0x10',
    ' 1',
    '1 ',
    '１',
    'NaN',
    'Infinity',
    1,
    ['1'],
  ])('rejects %j', (value) => {
    expect(accepts(schema, value)).toBe(false)
  })

  test('accepts exactly the decimal numbers within its limits', () => {
    fc.assert(
      fc.property(fc.integer(), (value) => {
        expect(accepts(schema, String(value))).toBe(value >= 1 && value <= 500)
      }),
    )
  })
})

test('pageQuery: limit is 100 by default and at most 500; offset is a safe integer', () => {
  expect(pageQuery.parse({})).toEqual({ limit: 100, offset: 0 })
  expect(pageQuery.parse({ limit: '500', offset: '9007199254740991' })).toEqual({
    limit: 500,
    offset: Number.MAX_SAFE_INTEGER,
  })
  expect(accepts(pageQuery, { offset: '9007199254740992' })).toBe(false)
})

test('timestamp: ISO 8601 in UTC', () => {
  expect(accepts(timestamp, new Date().toISOString())).toBe(true)
  expect(accepts(timestamp, '2026-01-02T03:04:05+01:00')).toBe(false)
  expect(accepts(timestamp, '2026-01-02')).toBe(false)
})
