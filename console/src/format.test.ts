import { afterEach, expect, test, vi } from 'vitest'
import {
  formatDelay,
  formatDuration,
  formatHours,
  formatMoney,
  formatRelative,
  formatBytes,
} from './format.ts'

afterEach(() => vi.unstubAllGlobals())

const plain = (text: string) => text.replaceAll('\u00a0', ' ')

test.each([
  [0, '0 s'],
  [0.4, '0.4 ms'],
  [320, '320 ms'],
  [1_900, '1.9 s'],
  [45_000, '45 s'],
  [168_000, '2 min 48 s'],
  [7_500_000, '2 h 5 min'],
  [180_000_000, '2 d 2 h'],
])('formats %d ms as %s', (milliseconds, written) => {
  expect(plain(formatDuration(milliseconds))).toBe(written)
})

test('hours keep three significant digits below ten, one decimal above; less than one is minutes or seconds', () => {
  expect([0, 0.0125, 0.0807, 0.5, 3.254, 163.44].map((hours) => plain(formatHours(hours)))).toEqual([
    '0 h',
    '45 s',
    '4.8 min',
    '30 min',
    '3.25 h',
    '163.4 h',
  ])
})

test('amounts below a tenth have two significant digits', () => {
  expect([0, 0.000104, 0.00291, 0.0996, 0.5, 12].map((amount) => formatMoney(amount, 'usd'))).toEqual([
    '$0.00',
    '$0.0001',
    '$0.0029',
    '$0.1',
    '$0.50',
    '$12.00',
  ])
})

test('future times round to the nearest unit, past times round down', () => {
  const now = Date.parse('2026-03-01T12:00:00Z')
  // American English abbreviates with a period.
  const at = (seconds: number) =>
    formatRelative(new Date(now + seconds * 1_000).toISOString(), now).replace('.', '')
  expect([7 * 86_400 - 2, 86_401, 600, 30, -30, -119, -3 * 3_600 - 1, -86_400].map(at)).toEqual([
    'in 7 days',
    'tomorrow',
    'in 10 min',
    'in 30 sec',
    '30 sec ago',
    '1 min ago',
    '3 hr ago',
    'yesterday',
  ])
})

test('formats memory in the units of the server', () => {
  expect(formatBytes(320.4 * 2 ** 20)).toBe('320\u00a0MiB')
  expect(formatBytes(1.24 * 2 ** 20)).toBe('1.2\u00a0MiB')
  expect(formatBytes(22.5 * 2 ** 30)).toBe('22.5\u00a0GiB')
  expect(formatBytes(24 * 2 ** 30)).toBe('24.0\u00a0GiB')
})

test.each([
  [['de-DE', 'de'], 'Jan 31, 2026', '1,234'],
  [['de-DE', 'en-GB'], '31 Jan 2026', '1,234'],
  [['en-ZA'], '31 Jan 2026', '1 234'],
])(
  'with the languages %j, dates and numbers are in one variant of English',
  async (languages, day, number) => {
    vi.stubGlobal('navigator', { languages })
    vi.resetModules()
    const { formatDay, formatNumber } = await import('./format.ts')
    expect(formatDay('2026-01-31T12:00:00Z')).toBe(day)
    expect(plain(formatNumber(1_234))).toBe(number)
  },
)

test('a delay ends a sentence: no abbreviation, rounded up', () => {
  expect([1, 45, 91, 900].map((seconds) => formatDelay(seconds))).toEqual([
    'in 1 second',
    'in 45 seconds',
    'in 2 minutes',
    'in 15 minutes',
  ])
})
