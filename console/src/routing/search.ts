/** A URL's unvalidated search parameters. The router makes numbers of digits unless that loses digits. */
export type RawSearch = Record<string, unknown>

/** The number of a page of a list, from 1; 1 for one that is invalid or missing. */
export const toPageNumber = (page: string | undefined): number => Math.max(1, Math.trunc(Number(page)) || 1)

/** Reads a search parameter as text; undefined when it is empty or missing. */
export function readText(value: unknown): string | undefined {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** Reads a search parameter as a day such as `2026-01-31`; undefined for other texts. */
export function readDay(value: unknown): string | undefined {
  const day = readText(value)
  return day !== undefined && /^\d{4}-\d\d-\d\d$/.test(day) && !Number.isNaN(Date.parse(day))
    ? day
    : undefined
}
