import type { DeploymentLogLine } from '../../contract.ts'

/** The maximum number of lines to keep. */
export const maxLines = 2_000

/** A line with a stable number. */
export interface NumberedLine extends DeploymentLogLine {
  number: number
}

/** The known lines of a log, oldest first. */
export interface LogLines {
  lines: NumberedLine[]
  next: number
}

export const noLines: LogLines = { lines: [], next: 0 }

/** Appends lines and drops the oldest ones above the maximum. */
export function appendLines({ lines, next }: LogLines, added: readonly DeploymentLogLine[]): LogLines {
  if (added.length === 0) return { lines, next }
  const numbered = added.map((line, index) => ({ ...line, number: next + index }))
  return { lines: [...lines, ...numbered].slice(-maxLines), next: next + added.length }
}

/** Merges the server's history: it replaces all but older lines, and adds those missed while disconnected. */
export function replaceLines(known: LogLines, history: readonly DeploymentLogLine[]): LogLines {
  const [first] = history
  if (!first) return known
  const start = Date.parse(first.at)
  const older = known.lines.filter(({ at }) => Date.parse(at) < start)
  return appendLines({ lines: older, next: known.next }, history)
}

/** Drops streamed lines at the end of the history: the stream starts before the history is read. */
export function dropDuplicates(
  streamed: readonly DeploymentLogLine[],
  history: readonly DeploymentLogLine[],
): DeploymentLogLine[] {
  for (let length = Math.min(streamed.length, history.length); length > 0; length--) {
    const end = history.slice(-length)
    if (end.every(({ line }, index) => line === streamed[index]?.line)) return streamed.slice(length)
  }
  return [...streamed]
}

export interface FollowedLog {
  log: LogLines
  /** Lines streamed while the history loads; null once it has loaded. */
  buffered: DeploymentLogLine[] | null
  isLoading: boolean
  error: unknown
  disconnected: boolean
}

export const initialLog: FollowedLog = {
  log: noLines,
  buffered: null,
  isLoading: true,
  error: null,
  disconnected: false,
}

export type LogChange =
  | { type: 'connected' | 'disconnected' }
  /** The server's history, oldest first. */
  | { type: 'history'; lines: readonly DeploymentLogLine[] }
  | { type: 'failed'; error: unknown }
  | { type: 'line'; line: DeploymentLogLine }

export function changeLog(state: FollowedLog, change: LogChange): FollowedLog {
  const { log, buffered } = state
  switch (change.type) {
    case 'connected':
      return { ...state, buffered: buffered ?? [], disconnected: false }
    case 'disconnected':
      return { ...state, disconnected: true }
    case 'history': {
      const added = dropDuplicates(buffered ?? [], change.lines)
      const merged = appendLines(replaceLines(log, change.lines), added)
      return { ...state, log: merged, buffered: null, isLoading: false, error: null }
    }
    case 'failed':
      return {
        ...state,
        log: appendLines(log, buffered ?? []),
        buffered: null,
        isLoading: false,
        error: change.error,
      }
    case 'line':
      return buffered === null
        ? { ...state, log: appendLines(log, [change.line]) }
        : { ...state, buffered: [...buffered, change.line] }
  }
}

/** Formats lines for the clipboard: time, then text. */
export function toText(lines: readonly DeploymentLogLine[]): string {
  return lines.map(({ at, line }) => `${at} ${line}`).join('\n')
}
