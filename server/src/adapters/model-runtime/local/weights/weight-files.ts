import { createHash } from 'node:crypto'
import { isAbsolute, join, resolve } from 'node:path'
import { locateModelFile, nameModelFile } from '../../../../base/model-files.ts'
import type { ModelVariant, WeightSource } from '../../../../ports/model-variant.ts'
import { DownloadError } from './download-errors.ts'
import type { DownloadSource } from './fetch-bytes.ts'
import type { LocalRuntimeSettings } from '../settings.ts'
import type { SnapshotFile } from './snapshot.ts'

/** A weight file and its source, which is null for a local file, which must already exist. */
export interface WeightFile {
  path: string
  name: string
  source: DownloadSource | null
  /** null when unknown */
  bytes: number | null
  /** True for a file that an organization uploaded; absent for others */
  isUpload?: true
}

/** A whole Hugging Face repository, in a folder. */
export interface WeightFolder {
  folder: string
  /** The address of the repository in the Hub's API */
  source: DownloadSource
  toFile: (file: SnapshotFile) => WeightFile
}

type HubWeights = Extract<WeightSource, { kind: 'huggingface' }>
type UploadedWeights = Extract<WeightSource, { kind: 'upload' }>
/** A model, or a LoRA, which has no settings of engines. */
export type LocatedModel = Pick<ModelVariant, 'weights' | 'format'> & Partial<Pick<ModelVariant, 'engines'>>
type WeightLocations = Pick<
  LocalRuntimeSettings,
  'dataDirectory' | 'catalogDirectory' | 'huggingFace' | 'llamaServerCommand' | 'modelStore'
>

/** Returns the repository of a model whose weights are a whole repository; null for named files. */
export function locateRepository(
  { weights, format }: LocatedModel,
  locations: WeightLocations,
): WeightFolder | null {
  if (weights.kind !== 'huggingface' || weights.files.length > 0 || format === 'ggufv2') return null
  const { repo, revision } = weights
  const { folder, base, hub } = locateHub(weights, locations)
  const url = `${base}/api/models/${repo.split('/').map(encodeURIComponent).join('/')}/revision/${encodeURIComponent(revision)}?blobs=true`
  return {
    folder,
    source: { name: repo, url, sha256: null, isGguf: false, hub },
    toFile: ({ file, bytes, sha256 }) => {
      const located = locateHubFile(weights, file, locations)
      return { ...located, bytes, source: { ...located.source, isGguf: false, sha256 } }
    },
  }
}

/** Lists a model's weight files; engines get the first. Throws DownloadError for invalid names. */
export function locateWeights({ weights, engines }: LocatedModel, locations: WeightLocations): WeightFile[] {
  if (weights.kind === 'file') {
    const path = isAbsolute(weights.path) ? weights.path : resolve(locations.catalogDirectory, weights.path)
    return [{ path, name: weights.path, source: null, bytes: null }]
  }
  if (weights.kind === 'upload') return [locateUpload(weights, locations)]
  if (weights.kind === 'endpoint') return []
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
    const source = { name, url: weights.url, sha256, isGguf: true, hub: null }
    return [{ path: join(cacheFolder(locations), 'url', folder, name), name, source, bytes: null }]
  }
  if (weights.files.length === 0) throw invalidName(weights.repo)
  const projector = engines?.llamaCpp?.projector
  // Berth's own engine can't see images, so it needs no projector.
  const withProjector = projector !== undefined && (locations.llamaServerCommand ?? null) !== null
  return [...weights.files, ...(withProjector ? [projector] : [])].map((file) =>
    locateHubFile(weights, file, locations),
  )
}

function locateUpload({ sha256, fileName: name }: UploadedWeights, locations: WeightLocations): WeightFile {
  const { dataDirectory, modelStore: store = null } = locations
  if (store === null) {
    const own = locateModelFile(dataDirectory, sha256)
    return { path: own, name, source: null, bytes: null, isUpload: true }
  }
  const path = join(cacheFolder(locations), 'uploads', nameModelFile(sha256))
  const source = { name, url: `model-store:${sha256}`, sha256, isGguf: true, hub: null, store }
  return { path, name, source, bytes: null }
}

/** The path of a model's projector; null if the model or the engine has none. */
export function locateProjector(variant: LocatedModel, locations: WeightLocations): string | null {
  if (variant.weights.kind !== 'huggingface' || variant.engines?.llamaCpp?.projector === undefined)
    return null
  return locateWeights(variant, locations)[variant.weights.files.length]?.path ?? null
}

/** The paths of weight files or their folder; none for invalid names, which fail the download. */
export function listWeightPaths(variant: LocatedModel, locations: WeightLocations): string[] {
  try {
    const repository = locateRepository(variant, locations)
    return repository === null
      ? locateWeights(variant, locations).map(({ path }) => path)
      : [repository.folder]
  } catch (error) {
    if (error instanceof DownloadError) return []
    throw error
  }
}

function cacheFolder({ dataDirectory }: WeightLocations): string {
  return join(dataDirectory, 'weights')
}

function locateHub({ repo, revision }: HubWeights, locations: WeightLocations) {
  const parts = repo.split('/')
  if (parts.length !== 2) throw invalidName(repo)
  const { endpoint, token } = locations.huggingFace
  const base = endpoint.replace(/\/+$/, '')
  const segments = [...parts, encodeURIComponent(revision)].map(requireSegment)
  return {
    folder: join(cacheFolder(locations), 'huggingface', ...segments),
    base,
    hub: { origin: new URL(base).origin, token },
  }
}

function locateHubFile(weights: HubWeights, file: string, locations: WeightLocations) {
  const { folder, base, hub } = locateHub(weights, locations)
  const segments = file.split('/').map(requireSegment)
  const url = [base, ...weights.repo.split('/').map(encodeURIComponent), 'resolve']
    .concat(encodeURIComponent(weights.revision), segments.map(encodeURIComponent))
    .join('/')
  const name = segments.at(-1) ?? file
  const source = { name, url, sha256: null, isGguf: /\.gguf$/i.test(name), hub }
  return { path: join(folder, ...segments), name, source, bytes: null }
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
