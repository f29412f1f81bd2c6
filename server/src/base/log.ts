import { hostname } from 'node:os'
import { pino } from 'pino'
import type { Logger, LoggerOptions } from 'pino'
import type { Config } from '../config/config.ts'
import { createOutageFilter } from './repeated-outages.ts'
import { formatForPeople, paintStdout } from './readable-log.ts'

export interface Log extends Logger {
  /**
   * Writes the line of `info(fields, message)` in a third of the time: pino serializes each field by itself.
   * `members` is the JSON of the fields without its braces, and `message` needs no escapes.
   */
  infoMembers(members: string, message: string): void
}

/** Passes each line of JSON to `write`; in an outage, one line for each cause and minute. */
export function createLog(options: LoggerOptions, write: (line: string) => void): Log {
  const judge = createOutageFilter()
  const hooks: LoggerOptions['hooks'] = {
    logMethod(args, method) {
      const fields: unknown = args[0]
      if (typeof fields !== 'object' || fields === null || !('err' in fields)) return method.apply(this, args)
      const { isWritten, leftOut } = judge(fields.err)
      if (!isWritten) return
      const [, ...rest] = args as [unknown, ...string[]]
      method.apply(this, [leftOut === 0 ? fields : { ...fields, left_out: leftOut }, ...rest])
    },
  }
  const base = { pid: process.pid, hostname: hostname(), name: options.name }
  const log = pino({ ...options, base, hooks }, { write })
  const level = pino.levels.values['info']
  const everyLine = JSON.stringify(base).slice(1, -1)
  return Object.assign(log, {
    infoMembers(members: string, message: string): void {
      if (!log.isLevelEnabled('info')) return
      write(`{"level":${level},"time":${Date.now()},${everyLine},${members},"msg":"${message}"}\n`)
    },
  })
}

/** Creates the log of a process on stdout: lines for people on a terminal, otherwise JSON. */
export function openLog({ logLevel }: Pick<Config, 'logLevel'>): Log {
  // The database driver attaches the whole connection to the errors of its pool.
  const options = { level: logLevel, name: 'berth', redact: { paths: ['err.client'], remove: true } }
  const isForPeople = process.stdout.isTTY
  const stdout = pino.destination({ dest: 1, sync: true })
  let writable = true
  stdout.once('close', () => {
    writable = false
  })
  // One write for each of ten lines a second would take a tenth of a busy server's CPU time.
  let lines = ''
  const flush = () => {
    if (lines !== '' && writable) stdout.write(lines)
    lines = ''
  }
  setInterval(flush, 100).unref()
  process.once('exit', flush)
  return createLog(options, (line) => {
    lines += isForPeople ? formatForPeople(line, paintStdout) : line
    if (lines.length >= 32_768) flush()
  })
}
