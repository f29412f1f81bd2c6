import { afterEach, expect, test, vi } from 'vitest'
import { listTimeZones, readLocale, readTimeZone, tabStorage } from './browser.ts'

afterEach(() => {
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
})

test.each([
  [['en-US@posix'], 'en'],
  [['C', 'en_US', 'en-GB'], 'en-GB'],
  [['de', 'en-ZA'], 'en-ZA'],
  [[], 'en'],
  [undefined, 'en'],
  [null, 'en'],
])('of the languages %j, formatters get %s', (languages, locale) => {
  vi.stubGlobal('navigator', { languages })
  expect(readLocale()).toBe(locale)
})

test.each([['Etc/Unknown/Zone'], [''], [undefined]])('an unusable time zone %j is UTC', (timeZone) => {
  const resolved = { timeZone } as Intl.ResolvedDateTimeFormatOptions
  vi.spyOn(Intl.DateTimeFormat.prototype, 'resolvedOptions').mockReturnValue(resolved)
  expect(readTimeZone()).toBe('UTC')
})

test('a browser without a list of time zones has none', () => {
  vi.spyOn(Intl, 'supportedValuesOf').mockImplementation(() => {
    throw new RangeError('not supported')
  })
  expect(listTimeZones()).toEqual([])
})

test('storage that throws reads as empty', () => {
  const deny = () => {
    throw new DOMException('The operation is insecure.', 'SecurityError')
  }
  vi.stubGlobal('sessionStorage', { getItem: deny, setItem: deny, removeItem: deny })
  tabStorage.write('key', 'value')
  tabStorage.remove('key')
  expect(tabStorage.read('key')).toBeNull()
})

test('a value beyond the limit of the storage removes the older value', () => {
  const values = new Map([['key', 'older']])
  vi.stubGlobal('sessionStorage', {
    getItem: (key: string) => values.get(key) ?? null,
    setItem() {
      throw new DOMException('full', 'QuotaExceededError')
    },
    removeItem: (key: string) => values.delete(key),
  })
  tabStorage.write('key', 'newer')
  expect(tabStorage.read('key')).toBeNull()
})
