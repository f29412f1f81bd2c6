/**
 * A local server that speaks the Hub's protocol: descriptions, files, redirects to a CDN, access and limits.
 */

import { createHash, randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http'
import { listen } from '../listen.ts'

export interface HubRepository {
  /** 40 hexadecimal digits */
  commit: string
  /** Branches and tags at the commit; default `main` */
  revisions?: readonly string[]
  /** The content of each file, or the size of a file that nobody reads */
  files: Readonly<Record<string, Buffer | number>>
  gated?: 'manual' | 'auto'
  isPrivate?: boolean
  license?: string
  task?: string
  /** What the Hub says about the GGUF files */
  gguf?: { context_length: number }
}

export interface HubOptions {
  /** Tokens of accounts that may read gated and private repositories */
  tokens?: readonly string[]
  /** Old names of repositories, which redirect to the new ones */
  renamed?: Readonly<Record<string, string>>
  /** Answers a request, counted from 1, instead of the hub; true if it did */
  intercept?: (request: IncomingMessage, response: ServerResponse, attempt: number) => boolean
  /** Where files of LFS and Xet redirect to; default the CDN of this hub */
  locate?: (signed: string) => string
}

export interface HubServer {
  origin: string
  /** The origin of the CDN, which knows no tokens */
  cdn: string
  requests: { path: string; method: string; headers: IncomingHttpHeaders }[]
  cdnRequests: { path: string; method: string; headers: IncomingHttpHeaders }[]
  repositories: Record<string, HubRepository>
  close(): Promise<void>
}

/** Files from this size on are in LFS, as the Hub requires for large ones. */
const lfsBytes = 64 * 1024

/** Starts a hub with repositories by name. Their entries may change while it runs. */
export async function startHubServer(
  repositories: Record<string, HubRepository>,
  options: HubOptions = {},
): Promise<HubServer> {
  const requests: HubServer['requests'] = []
  const cdnRequests: HubServer['requests'] = []
  const signed = new Map<string, Buffer>()
  const note = (list: HubServer['requests'], { url, method, headers }: IncomingMessage) =>
    list.push({ path: url ?? '', method: method ?? '', headers })
  const cdnServer = createServer((request, response) => {
    note(cdnRequests, request)
    const content = signed.get(request.url ?? '')
    // A signature is only for one request: a client that keeps the URL fails.
    signed.delete(request.url ?? '')
    if (content === undefined) return void response.writeHead(403).end('Signature expired')
    sendBytes(request, response, content, { etag: `"${sha256(content)}"` })
  })
  const cdn = `http://127.0.0.1:${await listen(cdnServer)}`
  function sign(content: Buffer): string {
    const path = `/repos/${sha256(content)}?Expires=${Date.now() + 60_000}&Signature=${randomUUID()}`
    signed.set(path, content)
    return (options.locate ?? ((at: string) => cdn + at))(path)
  }
  const hubServer = createServer((request, response) => {
    note(requests, request)
    if (options.intercept?.(request, response, requests.length)) return
    answer({ request, response, repositories, options, sign })
  })
  const origin = `http://127.0.0.1:${await listen(hubServer)}`
  const close = async () => void (await Promise.all([hubServer, cdnServer].map(closeServer)))
  return { origin, cdn, requests, cdnRequests, repositories, close }
}

async function closeServer(server: Server): Promise<void> {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
}

interface Call {
  request: IncomingMessage
  response: ServerResponse
  repositories: Record<string, HubRepository>
  options: HubOptions
  sign: (content: Buffer) => string
}

function answer(call: Call): void {
  const { request, response, repositories, options } = call
  const { pathname } = new URL(request.url ?? '/', 'http://hub')
  if (pathname === '/api/models') return void response.end('[]')
  const described = /^\/api\/models\/([^/]+\/[^/]+)(?:\/(revision|tree)\/([^/]+))?$/.exec(pathname)
  const resolved = /^\/([^/]+\/[^/]+)\/resolve\/([^/]+)\/(.+)$/.exec(pathname)
  const name = decodeURIComponent(described?.[1] ?? resolved?.[1] ?? '')
  const renamed = options.renamed?.[name]
  if (renamed !== undefined) {
    return void response.writeHead(307, { location: (request.url ?? '').replace(name, renamed) }).end()
  }
  const repository = repositories[name]
  const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1]
  const isTrusted = token !== undefined && (options.tokens ?? []).includes(token)
  if (repository === undefined || (repository.isPrivate && !isTrusted)) {
    return fail(response, isTrusted ? 404 : 401, 'RepoNotFound')
  }
  const revision = decodeURIComponent(described?.[3] ?? resolved?.[2] ?? 'main')
  if (revision !== repository.commit && !(repository.revisions ?? ['main']).includes(revision)) {
    return fail(response, 404, 'RevisionNotFound')
  }
  if (described?.[2] === 'tree') return sendJson(response, listTree(repository))
  if (described !== null) return sendJson(response, describe(name, repository))
  if (repository.gated !== undefined && !isTrusted) {
    return fail(response, token === undefined ? 401 : 403, 'GatedRepo')
  }
  sendFile(call, repository, decodeURIComponent(resolved?.[3] ?? ''))
}

function describe(name: string, repository: HubRepository) {
  const { commit, gated = false, isPrivate = false, license, task, gguf } = repository
  return {
    _id: createHash('md5').update(name).digest('hex').slice(0, 24),
    id: name,
    modelId: name,
    sha: commit,
    gated,
    private: isPrivate,
    disabled: false,
    downloads: 1,
    likes: 0,
    tags: license === undefined ? [] : [`license:${license}`],
    lastModified: '2026-01-02T03:04:05.000Z',
    createdAt: '2026-01-02T03:04:05.000Z',
    pipeline_tag: task,
    cardData: license === undefined ? undefined : { license },
    gguf,
    siblings: Object.entries(repository.files).map(([rfilename, content]) => ({
      rfilename,
      ...describeFile(content),
    })),
  }
}

function describeFile(content: Buffer | number) {
  const size = typeof content === 'number' ? content : content.length
  const bytes = typeof content === 'number' ? Buffer.from(String(content)) : content
  const lfs = { sha256: sha256(bytes), size, pointerSize: 134 }
  return { size, blobId: gitHash(bytes), ...(size >= lfsBytes ? { lfs } : {}) }
}

function listTree({ files }: HubRepository) {
  return Object.entries(files).map(([path, content]) => {
    const { size, blobId: oid, lfs } = describeFile(content)
    return { type: 'file', path, size, oid, ...(lfs ? { lfs: { ...lfs, oid: lfs.sha256 } } : {}) }
  })
}

function sendFile({ request, response, sign }: Call, { files, commit }: HubRepository, path: string): void {
  const content = Object.hasOwn(files, path) ? files[path] : undefined
  if (content === undefined) return fail(response, 404, 'EntryNotFound', commit)
  if (typeof content === 'number') return void response.writeHead(403).end()
  const common = { 'x-repo-commit': commit, 'accept-ranges': 'bytes' }
  if (content.length < lfsBytes) {
    return sendBytes(request, response, content, { ...common, etag: `"${gitHash(content)}"` })
  }
  response
    .writeHead(302, {
      ...common,
      location: sign(content),
      etag: `"${sha256(content)}"`,
      'x-linked-size': content.length,
      'x-linked-etag': `"${sha256(content)}"`,
      'x-xet-hash': sha256(Buffer.from(sha256(content))),
      link: '</api/xet>; rel="xet-auth"',
    })
    .end()
}

/** Sends a whole body or the part that `Range` names (RFC 9110, section 14). */
function sendBytes(
  request: IncomingMessage,
  response: ServerResponse,
  content: Buffer,
  headers: Record<string, string>,
): void {
  const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '')
  const isFresh = request.headers['if-range'] === undefined || request.headers['if-range'] === headers['etag']
  const start = range !== null && isFresh ? Number(range[1]) : 0
  const end = range?.[2] && isFresh ? Math.min(Number(range[2]) + 1, content.length) : content.length
  if (start > 0 && start >= content.length) {
    return void response.writeHead(416, { 'content-range': `bytes */${content.length}` }).end()
  }
  const isPart = range !== null && isFresh
  response.writeHead(isPart ? 206 : 200, {
    ...headers,
    'content-length': end - start,
    ...(isPart ? { 'content-range': `bytes ${start}-${end - 1}/${content.length}` } : {}),
  })
  response.end(request.method === 'HEAD' ? undefined : content.subarray(start, end))
}

function sendJson(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}

function fail(response: ServerResponse, status: number, code: string, commit?: string): void {
  const headers = { 'x-error-code': code, 'x-error-message': code, 'content-type': 'application/json' }
  const repository = commit === undefined ? {} : { 'x-repo-commit': commit }
  response.writeHead(status, { ...headers, ...repository }).end(JSON.stringify({ error: code }))
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** The id of a blob in git */
function gitHash(bytes: Buffer): string {
  return createHash('sha1').update(`blob ${bytes.length}\0`).update(bytes).digest('hex')
}
