/** Formats numbers, money and dates in the person's preferred variant of English, like all texts. */

import { readLocale } from './browser.ts'

const locale = readLocale()

/** Creates a formatter on first use, because creating one takes tens of milliseconds on a phone. */
function lazily<Value>(make: () => Value): () => Value {
  let value: Value | undefined
  return () => (value ??= make())
}

const whole = lazily(() => new Intl.NumberFormat(locale, { maximumFractionDigits: 0 }))
const compact = lazily(() => new Intl.NumberFormat(locale, { notation: 'compact', maximumFractionDigits: 1 }))
// Parameter counts are part of a model's name, so they do not follow the locale.
const significant = lazily(() => new Intl.NumberFormat('en-GB', { maximumSignificantDigits: 3 }))
const hundredths = lazily(
  () => new Intl.NumberFormat(locale, { minimumFractionDigits: 2, maximumFractionDigits: 2 }),
)
const mean = lazily(() => new Intl.NumberFormat(locale, { maximumFractionDigits: 2 }))
const percent = lazily(() => new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 0 }))
const day = lazily(() => new Intl.DateTimeFormat(locale, { dateStyle: 'medium' }))
// Usage is counted by UTC day.
const utcDay = lazily(
  () => new Intl.DateTimeFormat(locale, { month: 'short', day: 'numeric', timeZone: 'UTC' }),
)
const moment = lazily(() => new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' }))
const instant = lazily(() => new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'medium' }))
const clock = lazily(
  () => new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit', second: '2-digit' }),
)
const hourAndMinute = lazily(() => new Intl.DateTimeFormat(locale, { hour: 'numeric', minute: '2-digit' }))
const weekdayAndTime = lazily(
  () =>
    new Intl.DateTimeFormat(locale, {
      weekday: 'short',
      month: 'short',
      day: 'numeric',
      hour: 'numeric',
      minute: '2-digit',
    }),
)
const delay = lazily(() => new Intl.RelativeTimeFormat(locale, { style: 'long' }))
const relative = lazily(() => new Intl.RelativeTimeFormat(locale, { numeric: 'auto', style: 'short' }))

export const formatNumber = (value: number) => whole().format(value)

/** 12.3K, 4.5M */
export const formatCompact = (value: number) => compact().format(value)

/** Formats a parameter count given in billions: 7B, 1.5B, 568M */
export function formatParameters(billions: number): string {
  const tenths = Math.abs(billions * 10 - Math.round(billions * 10)) < 1e-9
  return billions >= 1 || tenths
    ? `${significant().format(billions)}B`
    : `${significant().format(billions * 1_000)}M`
}

/** 0.97 */
export const formatHundredths = (value: number) => hundredths().format(value)

/** 1.5, 0.25 */
export const formatMean = (value: number) => mean().format(value)

/** A share from 0 to 1 */
export const formatPercent = (share: number) => percent().format(share)

/** Formats an amount in the currency's main unit; below 0.1 with at most so many significant digits. */
export function formatMoney(amount: string | number, currency: string, digits = 2): string {
  const value = Number(amount)
  const small = value !== 0 && Math.abs(value) < 0.1
  return new Intl.NumberFormat(locale, {
    style: 'currency',
    currency,
    ...(small ? { minimumSignificantDigits: 1, maximumSignificantDigits: digits } : {}),
  }).format(value)
}

/** Formats an amount in the currency's smallest unit, such as cents. */
export function formatMinorMoney(amount: number, currency: string): string {
  const format = new Intl.NumberFormat(locale, { style: 'currency', currency })
  return format.format(amount / 10 ** (format.resolvedOptions().maximumFractionDigits ?? 2))
}

export const formatDay = (timestamp: string) => day().format(new Date(timestamp))
export const formatMoment = (timestamp: string) => moment().format(new Date(timestamp))
/** With seconds */
export const formatInstant = (timestamp: string) => instant().format(new Date(timestamp))
export const formatHourAndMinute = (timestamp: string) => hourAndMinute().format(new Date(timestamp))
/** "Mon, Nov 30, 8:00 AM" */
export const formatWeekdayAndTime = (date: Date) => weekdayAndTime().format(date)
export const formatClock = (timestamp: string) => clock().format(new Date(timestamp))

/** Month and day of a date such as 2026-01-31 */
export const formatUtcDay = (date: string) => utcDay().format(new Date(date))

const spans: [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
]

/** "3 min. ago", "in 2 days" */
export function formatRelative(timestamp: string, now = Date.now()): string {
  const seconds = (new Date(timestamp).getTime() - now) / 1000
  // Round past times down and future times to the nearest: seven days less a second is "in 7 days".
  const round = seconds < 0 ? Math.ceil : Math.round
  for (const [unit, size] of spans) {
    if (Math.abs(seconds) >= size) return relative().format(round(seconds / size), unit)
  }
  return relative().format(round(seconds), 'second')
}

/** "in 30 seconds", "in 15 minutes": unabbreviated, for the end of a sentence, and never too early */
export function formatDelay(seconds: number): string {
  return seconds > 90
    ? delay().format(Math.ceil(seconds / 60), 'minute')
    : delay().format(Math.ceil(seconds), 'second')
}

/** Formats a duration: 2 h 5 min, 45 s, 320 ms. These unit symbols are the same in every language. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds > 0 && milliseconds < 1_000) {
    return withSign(milliseconds, 'ms', milliseconds < 10 ? 1 : 0)
  }
  const seconds = milliseconds / 1_000
  if (seconds < 60) return withSign(seconds, 's', seconds < 10 ? 1 : 0)
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${withSign(minutes, 'min')} ${withSign(Math.floor(seconds % 60), 's')}`
  const hours = Math.floor(minutes / 60)
  if (hours < 24) return `${withSign(hours, 'h')} ${withSign(minutes % 60, 'min')}`
  return `${withSign(Math.floor(hours / 24), 'd')} ${withSign(hours % 24, 'h')}`
}

/** Formats hours: 45 s, 4.8 min, 3.25 h, 1,234.5 h */
export function formatHours(hours: number): string {
  if (hours > 0 && hours < 1 / 60) return withSign(hours * 3_600, 's')
  if (hours > 0 && hours < 1) return withSign(hours * 60, 'min', 1)
  const number = new Intl.NumberFormat(
    locale,
    hours < 10 ? { maximumSignificantDigits: 3 } : { maximumFractionDigits: 1 },
  )
  return `${number.format(hours)}\u00a0h`
}

/** Formats an amount of memory in the binary units of the server's messages: 1.2 MiB, 320 MiB, 22.5 GiB */
export function formatBytes(bytes: number): string {
  const gib = bytes / 2 ** 30
  const mib = bytes / 2 ** 20
  if (gib < 1) return withSign(Math.max(mib, 0.1), 'MiB', mib < 10 ? 1 : 0)
  const number = new Intl.NumberFormat(locale, { minimumFractionDigits: 1, maximumFractionDigits: 1 })
  return `${number.format(gib)}\u00a0GiB`
}

/** A number and its unit, joined by a no-break space. */
function withSign(value: number, sign: string, maximumFractionDigits = 0): string {
  return `${new Intl.NumberFormat(locale, { maximumFractionDigits }).format(value)}\u00a0${sign}`
}
