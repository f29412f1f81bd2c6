import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { z } from 'zod'
import { pageQuery, queryBoolean, queryInteger, text, timestamp, unicodeText } from './schemas.ts'

function takes(schema: z.ZodType, value: unknown): boolean {
  return schema.safeParse(value).success
}

describe('text', () => {
  const name = text({ min: 1, max: 3 })

  test.each(['a', 'abc', ' abc ', '🚢🚢🚢', '\tabc\n', 'a c'])('takes %j', (value) => {
    expect(name.parse(value)).toBe(value.trim())
  })

  test.each(['', '   ', 'abcd', '🚢🚢🚢🚢', 'a\0', '\ud83d', '\ude80a', null, 1, ['a'], {}])(
    'refuses %j',
    (value) => {
      expect(takes(name, value)).toBe(false)
    },
  )

  test('counts code points after trimming, for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 8 }), (value) => {
        const length = Array.from(value.trim()).length
        expect(takes(name, value)).toBe(!value.includes('\0') && length >= 1 && length <= 3)
      }),
    )
  })

  test('one mistake is told once', () => {
    expect(name.safeParse('abcd').error?.issues).toHaveLength(1)
  })
})

test('unicodeText: keeps what it takes as it is', () => {
  expect(unicodeText().parse('  \u{1f6a2}\n ')).toBe('  \u{1f6a2}\n ')
})

test('queryBoolean: the two words alone, and a fallback', () => {
  const schema = queryBoolean(true)
  expect(schema.parse('true')).toBe(true)
  expect(schema.parse('false')).toBe(false)
  expect(schema.parse(undefined)).toBe(true)
  for (const value of ['', '1', '0', 'TRUE', 'yes', ' true', true, ['true', 'false']]) {
    expect(takes(schema, value), String(value)).toBe(false)
  }
})

describe('queryInteger', () => {
  const schema = queryInteger({ min: 1, max: 500, fallback: 100 })

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
  ])('refuses %j', (value) => {
    expect(takes(schema, value)).toBe(false)
  })

  test('takes exactly the decimal numbers within its limits', () => {
    fc.assert(
      fc.property(fc.integer(), (value) => {
        expect(takes(schema, String(value))).toBe(value >= 1 && value <= 500)
      }),
    )
  })
})

test('pageQuery: 100 from the start by default, 500 at most, offsets that JavaScript counts exactly', () => {
  expect(pageQuery.parse({})).toEqual({ limit: 100, offset: 0 })
  expect(pageQuery.parse({ limit: '500', offset: '9007199254740991' })).toEqual({
    limit: 500,
    offset: Number.MAX_SAFE_INTEGER,
  })
  expect(takes(pageQuery, { offset: '9007199254740992' })).toBe(false)
})

test('timestamp: ISO 8601 in UTC', () => {
  expect(takes(timestamp, new Date().toISOString())).toBe(true)
  expect(takes(timestamp, '2026-01-02T03:04:05+01:00')).toBe(false)
  expect(takes(timestamp, '2026-01-02')).toBe(false)
})
