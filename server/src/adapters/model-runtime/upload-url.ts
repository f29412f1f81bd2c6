import { modelFilesRoute } from '../../base/model-files.ts'
import type { EngineSpec } from '../../ports/model-runtime.ts'

/** The URL of an uploaded file, with its deployment's name and password; null for other weights. */
export function toUploadUrl(
  { deploymentId, fileKey, variant: { weights } }: EngineSpec,
  serverUrl: string,
): string | null {
  if (weights.kind !== 'upload' || fileKey === undefined) return null
  const url = new URL(`${serverUrl}${modelFilesRoute}/${weights.sha256}.gguf`)
  url.username = deploymentId
  url.password = fileKey
  return url.href
}
