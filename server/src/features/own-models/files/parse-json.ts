import { InvalidFileError } from './byte-cursor.ts'

/** Deeper than any published configuration */
const maxDepth = 64

/** Parses the JSON of a file whose size is limited. Throws InvalidFileError. */
export function parseJson(bytes: Uint8Array): unknown {
  try {
    requireShallow(bytes)
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as unknown
  } catch (error) {
    if (error instanceof InvalidFileError) throw error
    throw new InvalidFileError('The file is not valid JSON.', { cause: error })
  }
}

/** Throws InvalidFileError for too many levels. Counting brackets outside of strings needs no parser. */
function requireShallow(bytes: Uint8Array): void {
  let depth = 0
  let isText = false
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === 0x22) isText = !isText
    else if (byte === 0x5c && isText) at++
    else if (isText) continue
    else if (byte === 0x7b || byte === 0x5b) depth++
    else if (byte === 0x7d || byte === 0x5d) depth--
    if (depth > maxDepth) throw new InvalidFileError('The file has too many levels.')
  }
}
