import { createHash } from 'node:crypto'
import { isAbsolute, join, resolve } from 'node:path'
import type { WeightSource } from '../../../ports/model-runtime.ts'
import { DownloadError } from './download-errors.ts'
import type { DownloadSource } from './fetch-bytes.ts'
import type { LocalRuntimeSettings } from './settings.ts'

/** A weight file of a model: where it is kept, and where it comes from, null when it must be there already. */
export interface WeightFile {
  path: string
  name: string
  source: DownloadSource | null
}

type Places = Pick<LocalRuntimeSettings, 'dataDirectory' | 'catalogDirectory' | 'huggingFace'>

/** The files of a model, the one that the engine is given first. Throws DownloadError for names that can't be right. */
export function locateWeights(weights: WeightSource, places: Places): WeightFile[] {
  const cache = join(places.dataDirectory, 'weights')
  if (weights.kind === 'file') {
    const path = isAbsolute(weights.path) ? weights.path : resolve(places.catalogDirectory, weights.path)
    return [{ path, name: weights.path, source: null }]
  }
  if (weights.kind === 'url') {
    const url = URL.parse(weights.url)
    if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
      throw new DownloadError('model_not_found', `The catalog's address of the weights is not a web address.`)
    }
    const sha256 = weights.sha256?.toLowerCase() ?? null
    // The checksum is part of the place: the same address with another checksum is another file.
    const folder = createHash('sha256')
      .update(`${weights.url}\n${sha256 ?? ''}`)
      .digest('hex')
      .slice(0, 16)
    const name = readableName(url)
    const source = { name, url: weights.url, sha256, hub: null }
    return [{ path: join(cache, 'url', folder, name), name, source }]
  }
  return locateHubFiles(weights, cache, places.huggingFace)
}

function locateHubFiles(
  weights: Extract<WeightSource, { kind: 'huggingface' }>,
  cache: string,
  { endpoint, token }: LocalRuntimeSettings['huggingFace'],
): WeightFile[] {
  const { repo, revision, files } = weights
  const repoParts = repo.split('/')
  if (repoParts.length !== 2 || files.length === 0) throw badName(repo)
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

/** A part of a path that names something in its folder and nothing else, on every file system. */
function requireSegment(segment: string): string {
  const plain = /^[A-Za-z0-9_%+@=(),-][A-Za-z0-9_%+@=(),. -]{0,199}$/.test(segment)
  if (!plain || /\.partial(\.json)?$/.test(segment)) throw badName(segment)
  return segment
}

function badName(name: string): DownloadError {
  return new DownloadError(
    'model_not_found',
    `The catalog's name ${JSON.stringify(name)} can't be a weight file.`,
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
