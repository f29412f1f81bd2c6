import { createHash } from 'node:crypto'
import { isAbsolute, join, resolve } from 'node:path'
import type { WeightSource } from '../../../ports/model-runtime.ts'
import { DownloadError } from './download-errors.ts'
import type { DownloadSource } from './fetch-bytes.ts'
import type { LocalRuntimeSettings } from './settings.ts'

/** A weight file: its local path and its source. `source` is null for a local file, which must already exist. */
export interface WeightFile {
  path: string
  name: string
  source: DownloadSource | null
}

type WeightLocations = Pick<LocalRuntimeSettings, 'dataDirectory' | 'catalogDirectory' | 'huggingFace'>

/** Lists the weight files of a model. The first one is passed to the engine. Throws DownloadError for invalid names. */
export function locateWeights(weights: WeightSource, locations: WeightLocations): WeightFile[] {
  const cache = join(locations.dataDirectory, 'weights')
  if (weights.kind === 'file') {
    const path = isAbsolute(weights.path) ? weights.path : resolve(locations.catalogDirectory, weights.path)
    return [{ path, name: weights.path, source: null }]
  }
  if (weights.kind === 'url') {
    const url = URL.parse(weights.url)
    if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
      throw new DownloadError(
        'model_not_found',
        'The weights URL in the catalog must be an http or https URL.',
      )
    }
    const sha256 = weights.sha256?.toLowerCase() ?? null
    // The checksum is part of the path, because a URL with another checksum is another file.
    const folder = createHash('sha256')
      .update(`${weights.url}\n${sha256 ?? ''}`)
      .digest('hex')
      .slice(0, 16)
    const name = readableName(url)
    const source = { name, url: weights.url, sha256, hub: null }
    return [{ path: join(cache, 'url', folder, name), name, source }]
  }
  return locateHubFiles(weights, cache, locations.huggingFace)
}

/** The paths of a model's weight files; none for invalid names, which fail the download. */
export function listWeightPaths(weights: WeightSource, locations: WeightLocations): string[] {
  try {
    return locateWeights(weights, locations).map(({ path }) => path)
  } catch (error) {
    if (error instanceof DownloadError) return []
    throw error
  }
}

function locateHubFiles(
  weights: Extract<WeightSource, { kind: 'huggingface' }>,
  cache: string,
  { endpoint, token }: LocalRuntimeSettings['huggingFace'],
): WeightFile[] {
  const { repo, revision, files } = weights
  const repoParts = repo.split('/')
  if (repoParts.length !== 2 || files.length === 0) throw invalidName(repo)
  const base = endpoint.replace(/\/+$/, '')
  const folder = [...repoParts, encodeURIComponent(revision)].map(requireSegment)
  return files.map((file) => {
    const segments = file.split('/').map(requireSegment)
    const url = [base, ...repoParts.map(encodeURIComponent), 'resolve', encodeURIComponent(revision)]
      .concat(segments.map(encodeURIComponent))
      .join('/')
    const name = segments.at(-1) ?? file
    const hub = { origin: new URL(base).origin, token }
    return {
      path: join(cache, 'huggingface', ...folder, ...segments),
      name,
      source: { name, url, sha256: null, hub },
    }
  })
}

/** Checks that a path segment is a plain file name on every file system. Throws DownloadError. */
function requireSegment(segment: string): string {
  const isPlain = /^[A-Za-z0-9_%+@=(),-][A-Za-z0-9_%+@=(),. -]{0,199}$/.test(segment)
  if (!isPlain || /\.partial(\.json)?$/.test(segment)) throw invalidName(segment)
  return segment
}

function invalidName(name: string): DownloadError {
  return new DownloadError(
    'model_not_found',
    `The catalog contains an invalid weight file name: ${JSON.stringify(name)}.`,
  )
}

function readableName(url: URL): string {
  const last = url.pathname.split('/').at(-1) ?? ''
  const name = last
    .replace(/[^A-Za-z0-9_.-]+/g, '_')
    .replace(/^\.+/, '')
    .slice(-120)
  return name === '' || /\.partial(\.json)?$/.test(name) ? 'model.gguf' : name
}
