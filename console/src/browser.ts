/** What the browser says about itself is input: each value may be missing, be of no use, or throw. */

/** The first of the person's languages that is a variant of English and that `Intl` knows; else `en`. */
export function readLocale(): string {
  const languages = attempt(() => [...navigator.languages]) ?? []
  return languages.find((tag) => /^en\b/i.test(tag) && attempt(() => new Intl.Locale(tag))) ?? 'en'
}

/** The person's time zone; `UTC` if it is unknown. */
export function readTimeZone(): string {
  return (
    attempt(() => {
      const { timeZone } = new Intl.DateTimeFormat().resolvedOptions()
      return timeZone && new Intl.DateTimeFormat('en', { timeZone }).resolvedOptions().timeZone
    }) || 'UTC'
  )
}

/** The time zones that the browser knows; none in older browsers. */
export const listTimeZones = (): string[] => attempt(() => Intl.supportedValuesOf('timeZone')) ?? []

const storageOf = (open: () => Storage) => ({
  read: (key: string): string | null => attempt(() => open().getItem(key)) ?? null,
  /** An older value would be misleading, so a value that can't be stored removes it. */
  write(key: string, value: string): void {
    if (attempt(() => [open().setItem(key, value)]) === undefined) this.remove(key)
  },
  remove: (key: string): void => attempt(() => open().removeItem(key)),
})

/** The tab's session storage. Without one, values are lost on a reload; a value that is too big is too. */
export const tabStorage = storageOf(() => sessionStorage)

/** What the browser remembers for the next visit and for its other tabs, as `tabStorage`. */
export const browserStorage = storageOf(() => localStorage)

function attempt<Value>(read: () => Value): Value | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
