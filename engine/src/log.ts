/** Writes one line for the operator; never given a prompt, an answer or the key. */
export type Log = (line: string) => void

/**
 * A log on standard output. The process outlives whoever reads its output, so a broken pipe there is not an error.
 */
export function createLog(): Log {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
  return (line) => {
    const text = line.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ').trimEnd()
    if (text !== '') process.stdout.write(`${new Date().toISOString()} ${text}\n`)
  }
}
