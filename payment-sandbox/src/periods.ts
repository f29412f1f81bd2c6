/** The day of the month and the time of day (UTC) on which the periods of a subscription begin. */
export interface BillingCycleAnchor {
  /** 1 to 31; in a shorter month its last day */
  day_of_month: number
  hour: number
  minute: number
  second: number
}

/** The anchor of a subscription whose periods begin at the time of `moment`, in seconds since 1970. */
export function anchorOf(moment: number): BillingCycleAnchor {
  const date = new Date(moment * 1000)
  return {
    day_of_month: date.getUTCDate(),
    hour: date.getUTCHours(),
    minute: date.getUTCMinutes(),
    second: date.getUTCSeconds(),
  }
}

/** The end of the period from `start`: the anchor's next occurrence. Both are in seconds since 1970. */
export function periodEnd(anchor: BillingCycleAnchor, start: number): number {
  const begun = new Date(start * 1000)
  const [year, month] = [begun.getUTCFullYear(), begun.getUTCMonth()]
  const inThisMonth = occurrenceIn(anchor, year, month)
  return inThisMonth > start ? inThisMonth : occurrenceIn(anchor, year, month + 1)
}

function occurrenceIn(anchor: BillingCycleAnchor, year: number, month: number): number {
  const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate()
  const day = Math.min(anchor.day_of_month, lastDay)
  return Date.UTC(year, month, day, anchor.hour, anchor.minute, anchor.second) / 1000
}
