import { fstatSync } from 'node:fs'
import { text } from 'node:stream/consumers'

/** After this long, in milliseconds, a person learns what the command waits for. */
const patience = 2_000

/** Reads stdin from a pipe or a file; undefined for a terminal, and for a service without stdin. */
export async function readPipe(note: (text: string) => void): Promise<string | undefined> {
  let stdin
  try {
    stdin = fstatSync(0)
  } catch {
    return undefined
  }
  if (!stdin.isFIFO() && !stdin.isFile() && !stdin.isSocket()) return undefined
  const timer = setTimeout(() => note('Reading stdin until it ends. Use < /dev/null for none.'), patience)
  try {
    return await text(process.stdin)
  } finally {
    clearTimeout(timer)
  }
}
