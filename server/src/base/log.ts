import { pino } from 'pino'
import type { Logger, LoggerOptions } from 'pino'
import type { Config } from '../config/config.ts'
import { formatForPeople, paintStdout } from './readable-log.ts'

/** Creates a log that passes each line of JSON to `write`. */
export function createLog(options: LoggerOptions, write: (line: string) => void): Logger {
  return pino(options, { write })
}

/** Creates the log of a process on stdout: lines for people on a terminal, otherwise JSON, unless `LOG_FORMAT` says which. */
export function openLog({ logLevel, logFormat }: Pick<Config, 'logLevel' | 'logFormat'>): Logger {
  // The database driver attaches the whole connection to the errors of its pool.
  const options = { level: logLevel, name: 'berth', redact: { paths: ['err.client'], remove: true } }
  const isForPeople = logFormat === 'auto' ? process.stdout.isTTY : logFormat === 'text'
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
    lines += isForPeople ? formatForPeople(line, paintStdout) : line
    if (lines.length >= 8_192) flush()
  })
}
