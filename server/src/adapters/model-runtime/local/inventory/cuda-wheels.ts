import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { fetch as send } from 'undici'
import type { Dispatcher } from 'undici'
import { openProxyAgent } from '../../../../base/proxy.ts'
import { formatFileSize } from '../../../../base/format-bytes.ts'
import type { LocalRuntimeSettings } from '../settings.ts'
import { compareVersionTexts } from './installations.ts'
import { readPipSettings } from './pip-settings.ts'
import { InstallationError } from './python-environment.ts'
import type { CudaLibrary } from './types.ts'
import { unpackLibraries } from './unpack-wheel.ts'

/** The packages that have CUDA's runtime and its library for matrices */
export const cudaPackages: Readonly<Record<CudaLibrary, readonly [string, string]>> = {
  'cuda-12': ['nvidia-cuda-runtime-cu12', 'nvidia-cublas-cu12'],
  'cuda-13': ['nvidia-cuda-runtime', 'nvidia-cublas'],
}

/** A wheel of the index. */
export interface Wheel {
  name: string
  version: string
  url: string
  sha256: string
}

const processors: Readonly<Record<string, string>> = { x64: 'x86_64', arm64: 'aarch64' }
const jsonType = 'application/vnd.pypi.simple.v1+json'

/** The index of pip's settings. */
export interface PackageIndex {
  /** The newest wheel of a package for this host, with `version` if given. Throws an InstallationError. */
  find(name: string, version?: string): Promise<Wheel>
  /** Downloads a wheel, compares its SHA-256 and unpacks its libraries into a folder. */
  unpack(wheel: Wheel, folder: string, onProgress: (line: string) => void): Promise<void>
  close(): Promise<void>
}

export async function openPackageIndex({
  environment,
  proxy,
}: Pick<LocalRuntimeSettings, 'environment' | 'proxy'>): Promise<PackageIndex> {
  const { indexUrl, certificates } = await readPipSettings(environment)
  const connect = certificates === null ? {} : { ca: await readFile(certificates) }
  const noProxy = { http: null, https: null, exceptions: null }
  const dispatcher = openProxyAgent(proxy ?? noProxy, { connect })
  return {
    find: (name, version) => findWheel(indexUrl, name, version, dispatcher),
    unpack: (wheel, folder, onProgress) => downloadWheel(wheel, folder, dispatcher, onProgress),
    close: () => dispatcher.close(),
  }
}

async function findWheel(
  indexUrl: string,
  name: string,
  version: string | undefined,
  dispatcher: Dispatcher,
): Promise<Wheel> {
  const url = `${indexUrl.replace(/\/$/, '')}/${name}/`
  const response = await request(url, dispatcher, { accept: `${jsonType}, text/html;q=0.1` })
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.includes('json') === true
  const files = isJson ? readJsonFiles(text) : readHtmlFiles(text)
  const processor = processors[process.arch] ?? process.arch
  const wheels = files.flatMap(({ filename, link, sha256 }): Wheel[] => {
    const found = /^[^-]+-(\d+(?:\.\d+)*)-py3-none-(manylinux[\w.]+)\.whl$/.exec(filename)
    if (found === null || sha256 === null || !found[2]!.endsWith(`_${processor}`)) return []
    return [{ name, version: found[1]!, url: new URL(link, response.url).href, sha256 }]
  })
  const wanted = wheels
    .filter((wheel) => version === undefined || wheel.version === version)
    .toSorted((one, other) => compareVersionTexts(other.version, one.version))
  if (wanted[0] !== undefined) return wanted[0]
  throw new InstallationError(
    files.length === 0
      ? `The package index has no ${name}. Check pip's settings (PIP_INDEX_URL).`
      : `The package index has ${name} for other machines only, not for ${process.platform} on ${processor}${version === undefined ? '' : `, or not in version ${version}`}.`,
  )
}

interface IndexFile {
  filename: string
  link: string
  sha256: string | null
}

/** Reads PEP 691. */
function readJsonFiles(text: string): IndexFile[] {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    throw new InstallationError('The package index printed no valid JSON. Check PIP_INDEX_URL.')
  }
  const { files = [] } = body as {
    files?: { filename: string; url: string; hashes?: Record<string, string>; yanked?: string | boolean }[]
  }
  return files
    .filter(({ yanked = false }) => yanked === false)
    .map(({ filename, url, hashes }) => ({ filename, link: url, sha256: hashes?.['sha256'] ?? null }))
}

/** Reads PEP 503, for mirrors without JSON. */
function readHtmlFiles(text: string): IndexFile[] {
  return [...text.matchAll(/<a [^>]*href="([^"]+)"[^>]*>([^<]+)<\/a>/gi)].map(([, href, filename]) => ({
    filename: filename!.trim(),
    link: href!.replaceAll('&amp;', '&'),
    sha256: /#sha256=([0-9a-f]{64})/.exec(href!)?.[1] ?? null,
  }))
}

async function downloadWheel(
  { name, version, url, sha256 }: Wheel,
  folder: string,
  dispatcher: Dispatcher,
  onProgress: (line: string) => void,
): Promise<void> {
  const response = await request(url, dispatcher, {})
  const total = Number(response.headers.get('content-length') ?? 0)
  const size = total > 0 ? ` (${formatFileSize(total)})` : ''
  onProgress(`Downloading ${name} ${version}${size}`)
  await mkdir(folder, { recursive: true })
  const path = join(folder, 'download.whl')
  const hash = createHash('sha256')
  let received = 0
  let told = 0
  const count = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk)
      received += chunk.length
      if (total > 0 && received / total >= told + 0.1) {
        told = Math.floor((received / total) * 10) / 10
        onProgress(`  ${Math.round(told * 100)} % of ${name}`)
      }
      done(null, chunk)
    },
  })
  try {
    if (response.body === null) throw new InstallationError(`The package index sent an empty ${name}.`)
    await pipeline(response.body, count, createWriteStream(path))
    if (hash.digest('hex') !== sha256) {
      throw new InstallationError(`${name} has arrived damaged: its SHA-256 differs. Run the command again.`)
    }
    await unpackLibraries(path, folder)
  } catch (error) {
    if (error instanceof InstallationError || isDiskError(error)) throw error
    throw new InstallationError(
      `${name} could not be downloaded and unpacked: ${describe(error)}. Run the command again.`,
    )
  } finally {
    await rm(path, { force: true })
  }
}

function isDiskError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT')
}

async function request(url: string, dispatcher: Dispatcher, headers: Record<string, string>) {
  const response = await send(url, { dispatcher, headers }).catch((error: unknown) => {
    throw new InstallationError(
      `The package index can't be reached (${describe(error)}). Check the network, pip's settings (PIP_INDEX_URL) and HTTPS_PROXY, then run the command again.`,
    )
  })
  if (response.ok) return response
  throw new InstallationError(
    `The package index ${new URL(url).host} returned ${response.status} for ${new URL(url).pathname}. Check pip's settings (PIP_INDEX_URL).`,
  )
}

function describe(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  return cause instanceof Error ? ('code' in cause ? String(cause.code) : cause.message) : String(cause)
}
