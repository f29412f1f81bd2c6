import { pino } from 'pino'
import type { Logger, LoggerOptions } from 'pino'
import type { Config } from './config.ts'

/** A pino logger that also takes finished lines. */
export interface Log extends Logger {
  /** Writes a finished line of JSON, including its line feed. */
  writeLine(line: string): void
}

export function createLog(options: LoggerOptions, write: (line: string) => void): Log {
  return Object.assign(pino(options, { write }), { writeLine: write })
}

/** Creates the log of a process: JSON lines on stdout. */
export function openLog({ logLevel }: Config): Log {
  // The database driver attaches the whole connection to the errors of its pool.
  const options = { level: logLevel, name: 'berth', redact: { paths: ['err.client'], remove: true } }
  const stdout = pino.destination({ dest: 1, sync: true })
  let writable = true
  stdout.once('close', () => {
    writable = false
  })
  // Lines are written ten times a second: a write for each line would take a tenth of a busy server's CPU time.
  let lines = ''
  const flush = () => {
    if (lines !== '' && writable) stdout.write(lines)
    lines = ''
  }
  setInterval(flush, 100).unref()
  process.once('exit', flush)
  return createLog(options, (line) => {
    lines += line
    if (lines.length >= 8_192) flush()
  })
}
