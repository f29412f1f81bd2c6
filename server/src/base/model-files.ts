import { join } from 'node:path'

/** The route where engines on other machines download uploaded model files. */
export const modelFilesRoute = '/api/v1/model-files'

/** The folder of uploaded model files in `DATA_DIR`. */
export function locateModelFolder(dataDirectory: string): string {
  return join(dataDirectory, 'models')
}

/** The name of the uploaded model file whose content has this SHA-256, in hexadecimal. */
export function nameModelFile(sha256: string): string {
  if (!/^[0-9a-f]{64}$/.test(sha256)) throw new RangeError('A SHA-256 must have 64 hexadecimal digits.')
  return `${sha256}.gguf`
}

/** The SHA-256 in the name of an uploaded model file; null for other names. */
export function readModelFileName(name: string): string | null {
  return /^([0-9a-f]{64})\.gguf$/.exec(name)?.[1] ?? null
}

/** The path of the uploaded model file whose content has this SHA-256, in hexadecimal. */
export function locateModelFile(dataDirectory: string, sha256: string): string {
  return join(locateModelFolder(dataDirectory), nameModelFile(sha256))
}
