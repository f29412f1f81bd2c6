import { isUnavailableState } from './sqlstates.ts'

/** Node's codes of connections that are lost or refused, and of local shortages */
const networkCodes =
  /^(ECONN[A-Z]+|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|E[MN]FILE|ENOMEM|ENOBUFS)$/
/** Messages of the PostgreSQL driver's errors without a code */
const outageMessages =
  /^(Connection terminated|Client has encountered a connection error|timeout exceeded when trying to connect|the database did not respond|Query read timeout)/
const quietMilliseconds = 60_000

/** Whether a line of an outage is written. */
interface Verdict {
  isWritten: boolean
  /** Lines with this cause that were left out since the last one */
  leftOut: number
}

/** Judges log lines: an outage fails dozens of queries a second, so each cause is written once a minute. */
export function createOutageFilter(now: () => number = () => performance.now()): (error: unknown) => Verdict {
  const causes = new Map<string, { since: number; leftOut: number }>()
  return (error) => {
    const cause = findCause(error)
    if (cause === null) return { isWritten: true, leftOut: 0 }
    const known = causes.get(cause)
    if (known !== undefined && now() - known.since < quietMilliseconds) {
      known.leftOut += 1
      return { isWritten: false, leftOut: 0 }
    }
    causes.set(cause, { since: now(), leftOut: 0 })
    return { isWritten: true, leftOut: known?.leftOut ?? 0 }
  }
}

/** Names the cause of an outage; null for other errors. */
function findCause(error: unknown): string | null {
  if (typeof error !== 'object' || error === null) return null
  const { code, message, address, port } = error as Record<string, unknown>
  if (typeof code === 'string' && (networkCodes.test(code) || isUnavailableState(code))) {
    return [code, address, port].join(' ')
  }
  return typeof message === 'string' ? (outageMessages.exec(message)?.[0] ?? null) : null
}
