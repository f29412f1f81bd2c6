import { formatRelative } from '../../format.ts'
import { text } from '../../text/index.ts'

/** When somebody was last active. The server tells only the hour. */
export function describeActivity(at: string | null): string {
  if (at === null) return text.people.neverActive
  return Date.now() - Date.parse(at) < 3_600_000 ? text.people.thisHour : formatRelative(at)
}
