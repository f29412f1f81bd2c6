import type { DeploymentLogLine } from '../../../../server/src/contract.ts'

/** How many lines are kept at most */
export const keptLines = 2_000

/** A line with a number of its own, which it keeps while others come and go. */
export interface NumberedLine extends DeploymentLogLine {
  number: number
}

/** What is known of a log, oldest first. */
export interface LogLines {
  lines: NumberedLine[]
  next: number
}

export const noLines: LogLines = { lines: [], next: 0 }

/** Adds lines at the end; the oldest go. */
export function appendLines({ lines, next }: LogLines, added: readonly DeploymentLogLine[]): LogLines {
  if (added.length === 0) return { lines, next }
  const numbered = added.map((line, index) => ({ ...line, number: next + index }))
  return { lines: [...lines, ...numbered].slice(-keptLines), next: next + added.length }
}

/**
 * Puts what the server remembers of a log in the place of what is known of the same time: lines from before it stay, and those
 * that were lost with a connection come in.
 */
export function replaceLines(known: LogLines, remembered: readonly DeploymentLogLine[]): LogLines {
  const [first] = remembered
  if (!first) return known
  const start = Date.parse(first.at)
  const older = known.lines.filter(({ at }) => Date.parse(at) < start)
  return appendLines({ lines: older, next: known.next }, remembered)
}

/** The lines of `streamed` that are not already the last ones of `remembered`: the stream begins before the answer is made. */
export function dropKnown(
  streamed: readonly DeploymentLogLine[],
  remembered: readonly DeploymentLogLine[],
): DeploymentLogLine[] {
  for (let length = Math.min(streamed.length, remembered.length); length > 0; length--) {
    const end = remembered.slice(-length)
    if (end.every(({ line }, index) => line === streamed[index]?.line)) return streamed.slice(length)
  }
  return [...streamed]
}

/** A log as it is shown, and how it stands with the server. */
export interface FollowedLog {
  log: LogLines
  /** Lines that came since the connection while what was written before it is still being asked for */
  held: DeploymentLogLine[] | null
  isLoading: boolean
  error: unknown
  lost: boolean
}

export const unreadLog: FollowedLog = { log: noLines, held: null, isLoading: true, error: null, lost: false }

export type LogChange =
  | { type: 'connected' | 'lost' }
  /** What the server remembers, oldest first */
  | { type: 'past'; lines: readonly DeploymentLogLine[] }
  | { type: 'failed'; error: unknown }
  | { type: 'line'; line: DeploymentLogLine }

/** What a log is after something came from the server. */
export function changeLog(state: FollowedLog, change: LogChange): FollowedLog {
  const { log, held } = state
  switch (change.type) {
    case 'connected':
      return { ...state, held: held ?? [], lost: false }
    case 'lost':
      return { ...state, lost: true }
    case 'past': {
      const added = dropKnown(held ?? [], change.lines)
      const merged = appendLines(replaceLines(log, change.lines), added)
      return { ...state, log: merged, held: null, isLoading: false, error: null }
    }
    case 'failed':
      return {
        ...state,
        log: appendLines(log, held ?? []),
        held: null,
        isLoading: false,
        error: change.error,
      }
    case 'line':
      return held === null
        ? { ...state, log: appendLines(log, [change.line]) }
        : { ...state, held: [...held, change.line] }
  }
}

/** Lines as they are copied: the time, then the text. */
export function toText(lines: readonly DeploymentLogLine[]): string {
  return lines.map(({ at, line }) => `${at} ${line}`).join('\n')
}
