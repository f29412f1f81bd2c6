import { fstatSync } from 'node:fs'
import { text } from 'node:stream/consumers'

/** Reads stdin if it is a pipe or a file; undefined for a terminal, and where a service manager gives none. */
export async function readPipe(): Promise<string | undefined> {
  let stdin
  try {
    stdin = fstatSync(0)
  } catch {
    return undefined
  }
  return stdin.isFIFO() || stdin.isFile() || stdin.isSocket() ? text(process.stdin) : undefined
}
