import { readDay, readText } from '../../routing/search.ts'
import type { RawSearch } from '../../routing/search.ts'

export const statusClasses = ['2xx', '4xx', '5xx'] as const

/** The filters of the list of requests, as they stand in the address. */
export interface RequestSearch {
  model?: string | undefined
  status?: (typeof statusClasses)[number] | undefined
  /** First and last day, as in `2026-01-31`, in the person's time zone */
  from?: string | undefined
  to?: string | undefined
  /** The requests of everybody to this deployment, instead of one's own */
  deployment?: string | undefined
}

export function readRequestSearch({ model, status, from, to, deployment }: RawSearch): RequestSearch {
  return {
    model: readText(model),
    status: statusClasses.find((one) => one === status),
    from: readDay(from),
    to: readDay(to),
    deployment: readText(deployment),
  }
}
