/** Writes one log line. Prompts, answers and keys must never reach it. */
export type Log = (line: string) => void

/** Logs to standard output. A broken pipe is no error: the engine outlives the process that reads it. */
export function createLog(): Log {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
  return (line) => {
    const text = line.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ').trimEnd()
    if (text !== '') process.stdout.write(`${new Date().toISOString()} ${text}\n`)
  }
}
