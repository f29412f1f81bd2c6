import { pino } from 'pino'
import type { Logger } from 'pino'
import type { Config } from './config.ts'

/** Writes JSON lines to stdout. */
export function createLog({ logLevel }: Config): Logger {
  // The driver hangs the whole connection on the errors of its pool.
  const options = { level: logLevel, name: 'berth', redact: { paths: ['err.client'], remove: true } }
  const stdout = pino.destination({ dest: 1, sync: true })
  let writable = true
  stdout.once('close', () => {
    writable = false
  })
  // Lines go out together, ten times a second: one write for each would cost a busy server a tenth of its time.
  let lines = ''
  const write = () => {
    if (lines !== '' && writable) stdout.write(lines)
    lines = ''
  }
  setInterval(write, 100).unref()
  process.once('exit', write)
  const gather = (line: string) => {
    lines += line
    if (lines.length >= 8_192) write()
  }
  return pino(options, { write: gather })
}
