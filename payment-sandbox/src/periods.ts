/** The moment `months` after `anchor` (seconds since 1970), on the anchor's day or the last one that the month has. */
export function addMonths(anchor: number, months: number): number {
  const from = new Date(anchor * 1000)
  const first = new Date(Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + months, 1))
  const lastDay = new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1, 0)).getUTCDate()
  const to = new Date(from)
  to.setUTCFullYear(first.getUTCFullYear(), first.getUTCMonth(), Math.min(from.getUTCDate(), lastDay))
  return to.getTime() / 1000
}

/** The end of the monthly period that begins at `start`, counted from the anchor so that the 31st stays the 31st. */
export function periodEnd(anchor: number, start: number): number {
  const a = new Date(anchor * 1000)
  const s = new Date(start * 1000)
  let months = (s.getUTCFullYear() - a.getUTCFullYear()) * 12 + s.getUTCMonth() - a.getUTCMonth()
  while (addMonths(anchor, months) <= start) months++
  return addMonths(anchor, months)
}
