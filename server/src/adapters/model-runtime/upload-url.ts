import { modelFilesRoute } from '../../base/model-files.ts'
import type { EngineSpec } from '../../ports/model-runtime.ts'

/**
 * Where an engine downloads its uploaded file, with the name and password of its deployment; null for other
 * weights.
 */
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
