import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, readdir, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { EngineObservation } from '../../src/ports/model-runtime.ts'
import type { ModelVariant, WeightSource } from '../../src/ports/model-variant.ts'
import { fetchWeights } from '../../src/adapters/model-runtime/local/weights/fetch-weights.ts'
import { createWeightStore } from '../../src/adapters/model-runtime/local/weights/weights.ts'
import type { WeightStore } from '../../src/adapters/model-runtime/local/weights/weights.ts'
import {
  patient,
  makeFolder,
  makeModelBytes,
  makeSettings,
  makeVariant,
  sendFile,
  sha256,
  startServer,
} from './local-runtime-support.ts'

const modelBytes = makeModelBytes(3_000_000)
const one = 'one'

function openStore(
  settings: Parameters<typeof createWeightStore>[0],
  listNeeded: () => Promise<string[]> = async () => [],
): WeightStore {
  const store = createWeightStore(settings, listNeeded)
  onTestFinished(() => store.close())
  return store
}

/** Waits for a download to finish and returns the path of the file, or the failure. */
async function settle(
  store: WeightStore,
  variant: ModelVariant,
  id = one,
): Promise<string | EngineObservation> {
  return await vi.waitFor(
    async () => {
      const path = await store.ensure(id, variant)
      const seen = store.observe(id)
      if (path === null && seen?.phase !== 'failed') throw new Error(`still ${JSON.stringify(seen)}`)
      return path ?? seen!
    },
    { timeout: 20_000, interval: 10 },
  )
}

async function download(
  weights: WeightSource,
  changes: Parameters<typeof makeSettings>[1] = {},
): Promise<{ folder: string; result: string | EngineObservation }> {
  const folder = await makeFolder()
  const result = await settle(openStore(makeSettings(folder, changes)), makeVariant(weights))
  return { folder, result }
}

/** True if a download succeeded with these bytes. */
async function hasBytes(result: string | EngineObservation, bytes: Buffer): Promise<boolean> {
  if (typeof result !== 'string') throw new Error(`The download failed: ${JSON.stringify(result)}`)
  return (await readFile(result)).equals(bytes)
}

async function listFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map((entry) => entry.name)
}

function failure(code: string, message: RegExp): object {
  return { phase: 'failed', stage: 'model_download', code, message: expect.stringMatching(message) }
}

describe('a download from a URL', () => {
  test('leaves only the complete file under its final name', async () => {
    const server = await startServer((request, response) => sendFile(request, response, modelBytes))
    const url = `${server.origin}/models/tiny.gguf?signature=abc`
    const { folder, result } = await download({ kind: 'url', url, sha256: sha256(modelBytes) })
    expect(result).toMatch(/\/weights\/url\/[0-9a-f]{16}\/tiny\.gguf$/)
    expect(await hasBytes(result, modelBytes)).toBe(true)
    expect(await listFiles(folder)).toEqual(['tiny.gguf'])
  })

  test('resumes where the connection was lost', async () => {
    const server = await startServer((request, response, attempt) =>
      sendFile(
        request,
        response,
        modelBytes,
        attempt < 4 ? { etag: '"v1"', dropAfter: 700_000 } : { etag: '"v1"' },
      ),
    )
    const { result } = await download({ kind: 'url', url: `${server.origin}/tiny.gguf` })
    expect(await hasBytes(result, modelBytes)).toBe(true)
    const [first, ...others] = server.requests
    expect(first?.headers.range).toBeUndefined()
    expect(others).toHaveLength(3)
    for (const { headers } of others) expect(headers).toMatchObject({ 'if-range': '"v1"' })
    expect(others.at(-1)?.headers.range).toMatch(/^bytes=[1-9]\d+-$/)
  })

  test('starts over if the file has changed', async () => {
    const changed = makeModelBytes(2_500_000, 'b')
    const server = await startServer((request, response, attempt) =>
      attempt === 1
        ? sendFile(request, response, modelBytes, { etag: '"v1"', dropAfter: 700_000 })
        : sendFile(request, response, changed, { etag: '"v2"' }),
    )
    const { result } = await download({ kind: 'url', url: `${server.origin}/tiny.gguf` })
    expect(await hasBytes(result, changed)).toBe(true)
  })

  test('starts over if the server ignores If-Range and sends another file', async () => {
    const changed = makeModelBytes(2_500_000, 'b')
    const server = await startServer((request, response, attempt) => {
      delete request.headers['if-range']
      if (attempt === 1) sendFile(request, response, modelBytes, { etag: '"v1"', dropAfter: 700_000 })
      else sendFile(request, response, changed, { etag: '"v2"' })
    })
    const { result } = await download({ kind: 'url', url: `${server.origin}/tiny.gguf` })
    expect(await hasBytes(result, changed)).toBe(true)
    expect(server.requests).toHaveLength(3)
  })

  test('starts over if the file has become shorter, or the server does not support ranges', async () => {
    const changed = makeModelBytes(500_000, 'b')
    const shorter = await startServer((request, response, attempt) => {
      delete request.headers['if-range']
      if (attempt === 1) sendFile(request, response, modelBytes, { etag: '"v1"', dropAfter: 900_000 })
      else sendFile(request, response, changed, { etag: '"v2"' })
    })
    const first = await download({ kind: 'url', url: `${shorter.origin}/tiny.gguf` })
    expect(await hasBytes(first.result, changed)).toBe(true)

    const rangeless = await startServer((request, response, attempt) =>
      sendFile(request, response, modelBytes, {
        etag: '"v1"',
        ignoreRange: true,
        ...(attempt === 1 ? { dropAfter: 900_000 } : {}),
      }),
    )
    const second = await download({ kind: 'url', url: `${rangeless.origin}/tiny.gguf` })
    expect(await hasBytes(second.result, modelBytes)).toBe(true)
  })

  test.each([429, 500, 503])('retries after HTTP %i', async (status) => {
    const server = await startServer((request, response, attempt) => {
      if (attempt === 1) response.writeHead(status, { 'retry-after': '0' }).end()
      else sendFile(request, response, modelBytes)
    })
    const { result } = await download({ kind: 'url', url: `${server.origin}/tiny.gguf` })
    expect(result).toMatch(/tiny\.gguf$/)
  })

  test('waits for Retry-After and reports it', async () => {
    const server = await startServer((_request, response) => {
      response.writeHead(429, { 'retry-after': '120' }).end()
    })
    const store = openStore(makeSettings(await makeFolder()))
    const variant = makeVariant({ kind: 'url', url: `${server.origin}/tiny.gguf` })
    expect(await store.ensure(one, variant)).toBeNull()
    await expect
      .poll(() => store.observe(one))
      .toMatchObject({
        phase: 'downloading',
        message: expect.stringMatching(/HTTP 429.*retrying in 120 s/),
      })
    await store.cancel(one)
    expect(store.observe(one)).toBeNull()
  })

  test('fails after several attempts without progress', async () => {
    const server = await startServer((_request, response) => response.writeHead(502).end())
    const { result } = await download({ kind: 'url', url: `${server.origin}/tiny.gguf` })
    expect(result).toMatchObject(
      failure('download_failed', /temporarily unable to serve tiny\.gguf \(HTTP 502\)/),
    )
    expect(server.requests).toHaveLength(3)
  })

  test('retries when the server stops sending data', async () => {
    const server = await startServer((request, response, attempt) => {
      if (attempt > 1) sendFile(request, response, modelBytes, { etag: '"v1"' })
      else {
        response.writeHead(200, { 'content-length': modelBytes.length, etag: '"v1"' })
        response.write(modelBytes.subarray(0, 500_000))
      }
    })
    const retry = { attempts: 3, baseDelayMs: 1, idleTimeoutMs: 500 }
    const { result } = await download({ kind: 'url', url: `${server.origin}/tiny.gguf` }, { retry })
    expect(await hasBytes(result, modelBytes)).toBe(true)
    expect(server.requests.at(-1)?.headers.range).toBe('bytes=500000-')
  })

  test('reports a missing file, a denied one, and an unreachable host', async () => {
    const server = await startServer((request, response) =>
      response.writeHead(request.url === '/secret.gguf' ? 403 : 404).end(),
    )
    const missing = await download({ kind: 'url', url: `${server.origin}/tiny.gguf` })
    expect(missing.result).toMatchObject(
      failure('model_not_found', /tiny\.gguf was not found on .+ \(HTTP 404\)/),
    )
    const refused = await download({ kind: 'url', url: `${server.origin}/secret.gguf` })
    expect(refused.result).toMatchObject(failure('download_failed', /denied access to secret\.gguf/))
    await new Promise((resolve) => server.server.close(resolve))
    const gone = await download({ kind: 'url', url: `${server.origin}/tiny.gguf` })
    expect(gone.result).toMatchObject(
      failure('download_failed', /Could not reach 127\.0\.0\.1.*set a mirror/),
    )
  })

  test('deletes a file with the wrong checksum', async () => {
    const server = await startServer((request, response) => sendFile(request, response, modelBytes))
    const url = `${server.origin}/tiny.gguf`
    const { folder, result } = await download({ kind: 'url', url, sha256: sha256(Buffer.from('other')) })
    expect(result).toMatchObject(failure('download_failed', /has the SHA-256 [0-9a-f]{64} instead of/))
    expect(await listFiles(folder)).not.toContainEqual(expect.stringMatching(/\.(gguf|partial)$/))
  })

  test('deletes a file that is not a model', async () => {
    const server = await startServer((_request, response) => response.end('<html>sign in</html>'))
    const { folder, result } = await download({ kind: 'url', url: `${server.origin}/tiny.gguf` })
    expect(result).toMatchObject(failure('download_failed', /is not a GGUF file/))
    expect(await listFiles(folder)).not.toContainEqual(expect.stringMatching(/\.(gguf|partial)$/))
  })

  test('follows redirects, but not endlessly and only to HTTP URLs', async () => {
    const server = await startServer((request, response) => {
      if (request.url === '/tiny.gguf') sendFile(request, response, modelBytes)
      else if (request.url === '/file') response.writeHead(302, { location: 'file:///etc/passwd' }).end()
      else {
        const location = request.url === '/moved' ? '/tiny.gguf' : '/circle'
        response.writeHead(307, { location }).end()
      }
    })
    expect((await download({ kind: 'url', url: `${server.origin}/moved` })).result).toMatch(/\/moved$/)
    const circle = await download({ kind: 'url', url: `${server.origin}/circle` })
    expect(circle.result).toMatchObject(failure('download_failed', /redirected more than 10 times/))
    const file = await download({ kind: 'url', url: `${server.origin}/file` })
    expect(file.result).toMatchObject(failure('download_failed', /not allowed/))
  })
})

describe('a download from the hub', () => {
  const hubWeights = (files = ['tiny.gguf'], repo = 'berth/tiny'): WeightSource => ({
    kind: 'huggingface',
    repo,
    revision: 'refs/pr/1',
    files,
  })

  test('verifies the hub’s checksum and sends the token only to the hub', async () => {
    const store = await startServer((request, response) => sendFile(request, response, modelBytes))
    const hub = await startServer((_request, response) => {
      const linked = {
        'x-linked-etag': `"${sha256(modelBytes)}"`,
        'x-linked-size': String(modelBytes.length),
      }
      response.writeHead(302, { location: `${store.origin}/blob`, ...linked }).end()
    })
    const { result } = await download(hubWeights(), {
      huggingFace: { endpoint: hub.origin, token: 'hf_secret' },
    })
    expect(result).toMatch(/\/weights\/huggingface\/berth\/tiny\/refs%2Fpr%2F1\/tiny\.gguf$/)
    expect(hub.requests).toHaveLength(1)
    expect(hub.requests[0]).toMatchObject({
      path: '/berth/tiny/resolve/refs%2Fpr%2F1/tiny.gguf',
      headers: { authorization: 'Bearer hf_secret' },
    })
    expect(store.requests[0]?.headers.authorization).toBeUndefined()
  })

  test.each([
    [
      'the organization’s token instead of the installation’s',
      'hf_of_an_organization',
      'Bearer hf_of_an_organization',
    ],
    ['no token instead of the installation’s', null, undefined],
    ['the installation’s token by default', undefined, 'Bearer hf_of_the_operator'],
  ])('sends %s', async (_what, hubToken, sent) => {
    const hub = await startServer((request, response) => sendFile(request, response, modelBytes))
    const huggingFace = { endpoint: hub.origin, token: 'hf_of_the_operator' }
    const store = openStore(makeSettings(await makeFolder(), { huggingFace }))
    await vi.waitUntil(() => store.ensure(one, makeVariant(hubWeights()), hubToken), patient)
    expect(new Set(hub.requests.map(({ headers }) => headers.authorization))).toEqual(new Set([sent]))
  })

  test('rejects a file that differs from the hub’s description', async () => {
    const other = makeModelBytes(modelBytes.length, 'b')
    const hub = await startServer((request, response) =>
      sendFile(request, response, other, { headers: { 'x-linked-etag': `"${sha256(modelBytes)}"` } }),
    )
    const { result } = await download(hubWeights(), { huggingFace: { endpoint: hub.origin, token: null } })
    expect(result).toMatchObject(failure('download_failed', /has the SHA-256/))
    const short = await startServer((request, response) =>
      sendFile(request, response, modelBytes, { headers: { 'x-linked-size': '17' } }),
    )
    const second = await download(hubWeights(), { huggingFace: { endpoint: short.origin, token: null } })
    expect(second.result).toMatchObject(failure('download_failed', /announced 3000000 bytes instead of 17/))
  })

  test('resumes across the redirect by the hub’s checksum', async () => {
    const store = await startServer((request, response, attempt) =>
      sendFile(request, response, modelBytes, attempt === 1 ? { dropAfter: 700_000 } : {}),
    )
    const hub = await startServer((_request, response, attempt) => {
      const linked = {
        'x-linked-etag': `"${sha256(modelBytes)}"`,
        'x-linked-size': String(modelBytes.length),
      }
      response.writeHead(302, { location: `${store.origin}/blob?signature=${attempt}`, ...linked }).end()
    })
    const { result } = await download(hubWeights(), { huggingFace: { endpoint: hub.origin, token: null } })
    expect(await hasBytes(result, modelBytes)).toBe(true)
    expect(store.requests[1]?.headers.range).toMatch(/^bytes=[1-9]\d+-$/)
  })

  test('reports a gated model, a missing token and a missing model', async () => {
    const hub = await startServer((request, response) => {
      if (request.url?.startsWith('/gated/')) response.writeHead(401, { 'x-error-code': 'GatedRepo' }).end()
      else response.writeHead(401, { 'x-error-code': 'RepoNotFound' }).end()
    })
    const huggingFace = { endpoint: hub.origin, token: null }
    const gated = await download(hubWeights(['tiny.gguf'], 'gated/tiny'), { huggingFace })
    expect(gated.result).toMatchObject(failure('download_failed', /license.*set HF_TOKEN/))
    const missing = await download(hubWeights(['tiny.gguf'], 'nobody/tiny'), { huggingFace })
    expect(missing.result).toMatchObject(failure('model_not_found', /tiny\.gguf was not found.*HF_TOKEN/))
  })

  test('downloads the parts of a split model one after the other', async () => {
    const parts = new Map([
      ['Q8/tiny-00001-of-00002.gguf', makeModelBytes(700_000, 'a')],
      ['Q8/tiny-00002-of-00002.gguf', makeModelBytes(900_000, 'b')],
    ])
    const hub = await startServer((request, response) => {
      const name = request.url?.split('/refs%2Fpr%2F1/')[1] ?? ''
      sendFile(request, response, parts.get(name) ?? Buffer.from('?'))
    })
    const { folder, result } = await download(hubWeights([...parts.keys()]), {
      huggingFace: { endpoint: hub.origin, token: null },
    })
    expect(result).toMatch(/\/Q8\/tiny-00001-of-00002\.gguf$/)
    expect((await listFiles(folder)).toSorted()).toEqual([
      'tiny-00001-of-00002.gguf',
      'tiny-00002-of-00002.gguf',
    ])
  })

  test.each(['../../engines/x.gguf', 'a/../b.gguf', '/etc/passwd', '..', '', 'a\\b.gguf', 'a\0b.gguf'])(
    'rejects the name %j',
    async (name) => {
      const { folder, result } = await download(hubWeights([name]))
      expect(result).toMatchObject(failure('model_not_found', /invalid weight file name/))
      expect(await listFiles(folder)).toEqual([])
    },
  )
})

describe('weights in a local file', () => {
  test('are used in place, relative to the catalog', async () => {
    const folder = await makeFolder()
    await writeFile(join(folder, 'own.gguf'), modelBytes)
    const store = openStore(makeSettings(folder))
    expect(await store.ensure(one, makeVariant({ kind: 'file', path: 'own.gguf' }))).toBe(
      join(folder, 'own.gguf'),
    )
  })

  test('are reported when missing or not a GGUF file', async () => {
    const missing = await download({ kind: 'file', path: 'own.gguf' })
    expect(missing.result).toMatchObject(
      failure(
        'model_not_found',
        /file own\.gguf from the catalog is missing on this host or is not a GGUF file/,
      ),
    )
    const uploaded = await download({ kind: 'upload', sha256: 'a'.repeat(64), fileName: 'mine.gguf' })
    expect(uploaded.result).toMatchObject(
      failure('model_not_found', /^The uploaded file mine\.gguf is missing on this host or is damaged/),
    )
  })
})

describe('concurrent downloads of the same file', () => {
  test('share one request, which is cancelled with its last waiter and keeps its partial file', async () => {
    let release: () => void = () => {}
    const server = await startServer((request, response, attempt) => {
      if (attempt > 1) {
        sendFile(request, response, modelBytes, { etag: '"v1"' })
        return
      }
      response.writeHead(200, { 'content-length': modelBytes.length, etag: '"v1"' })
      response.write(modelBytes.subarray(0, 1_000_000))
      release = () => response.end(modelBytes.subarray(1_000_000))
    })
    const folder = await makeFolder()
    const store = openStore(makeSettings(folder))
    const variant = makeVariant({ kind: 'url', url: `${server.origin}/tiny.gguf` })
    expect(await Promise.all(['one', 'two'].map((id) => store.ensure(id, variant)))).toEqual([null, null])
    for (const id of ['one', 'two']) {
      await expect
        .poll(() => store.observe(id))
        .toEqual({
          phase: 'downloading',
          message: 'Downloading tiny.gguf: 1 of 3 MB (33 %)',
          receivedBytes: 1_000_000,
          totalBytes: 3_000_000,
        })
    }
    await store.cancel('one')
    expect(store.observe('two')).toMatchObject({ phase: 'downloading' })
    await store.cancel('two')
    expect((await listFiles(folder)).toSorted()).toEqual(['tiny.gguf.partial', 'tiny.gguf.partial.json'])
    expect(server.requests).toHaveLength(1)
    release()
    expect(await settle(store, variant, 'three')).toMatch(/tiny\.gguf$/)
    expect(server.requests[1]?.headers.range).toBe('bytes=1000000-')
  })

  test('in two processes: both get the file, whichever is done first', async () => {
    const half = modelBytes.length / 2
    let sendRest = () => {}
    const server = await startServer((request, response, attempt) => {
      if (attempt > 1) return sendFile(request, response, modelBytes, { etag: '"v1"' })
      response.writeHead(200, { 'content-length': modelBytes.length, etag: '"v1"' })
      response.write(modelBytes.subarray(0, half))
      sendRest = () => response.end(modelBytes.subarray(half))
    })
    const settings = makeSettings(await makeFolder())
    const variant = makeVariant({ kind: 'url', url: `${server.origin}/tiny.gguf` })
    const slow = openStore(settings)
    expect(await slow.ensure(one, variant)).toBeNull()
    await vi.waitFor(() => expect(slow.observe(one)).toMatchObject({ receivedBytes: half }), patient)
    const onProgress = vi.fn<(message: string) => void>()
    expect(await fetchWeights(openStore(settings), variant, { hubToken: undefined, onProgress })).toBeNull()
    expect(onProgress).toHaveBeenCalledWith(expect.stringMatching(/^Downloading tiny\.gguf/))
    sendRest()
    expect(await hasBytes(await settle(slow, variant), modelBytes)).toBe(true)
  })

  test('can be retried after clearing a failure', async () => {
    let present = false
    const server = await startServer((request, response) => {
      if (present) sendFile(request, response, modelBytes)
      else response.writeHead(404).end()
    })
    const store = openStore(makeSettings(await makeFolder()))
    const variant = makeVariant({ kind: 'url', url: `${server.origin}/tiny.gguf` })
    expect(await settle(store, variant)).toMatchObject({ phase: 'failed' })
    present = true
    expect(await settle(store, variant)).toMatchObject({ phase: 'failed' })
    await store.cancel(one)
    expect(await settle(store, variant)).toMatch(/tiny\.gguf$/)
  })
})

describe('a process killed during a download', () => {
  test('leaves a partial file that the next process resumes', async () => {
    const server = await startServer((request, response, attempt) => {
      if (attempt > 1) {
        sendFile(request, response, modelBytes, { etag: '"v1"' })
        return
      }
      response.writeHead(200, { 'content-length': modelBytes.length, etag: '"v1"' })
      response.write(modelBytes.subarray(0, 1_000_000))
    })
    const folder = await makeFolder()
    const variant = makeVariant({ kind: 'url', url: `${server.origin}/tiny.gguf` })
    const { logger: _, ...settings } = makeSettings(folder)
    const module = new URL('../../src/adapters/model-runtime/local/weights/weights.ts', import.meta.url).href
    const program = `
      import { createWeightStore } from ${JSON.stringify(module)}
      const store = createWeightStore({ ...${JSON.stringify(settings)}, logger: { info() {}, warn() {} } }, async () => [])
      await store.ensure('one', ${JSON.stringify(variant)})
      setInterval(() => {}, 1000)`
    const child = spawn(process.execPath, ['--input-type=module', '--eval', program], { stdio: 'inherit' })
    const ended = once(child, 'exit')
    onTestFinished(() => void child.kill('SIGKILL'))
    const partial = async (): Promise<number> => {
      const [folderName = ''] = await readdir(join(folder, 'weights', 'url'))
      return (await stat(join(folder, 'weights', 'url', folderName, 'tiny.gguf.partial'))).size
    }
    await vi.waitFor(async () => expect(await partial()).toBe(1_000_000), patient)
    child.kill('SIGKILL')
    await ended

    const result = await settle(openStore(makeSettings(folder)), variant)
    expect(await hasBytes(result, modelBytes)).toBe(true)
    expect(server.requests.at(-1)?.headers.range).toBe('bytes=1000000-')
  })
})

/** Mounts a small disk. Returns false without root privileges; the test is skipped then. */
function mountDisk(folder: string, megabytes: number): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder], { stdio: 'ignore' })
  } catch {
    return false
  }
  onTestFinished(() => void execFileSync('umount', [folder]))
  return true
}

describe('a full disk', () => {
  test('is reported before the download starts', async ({ skip }) => {
    const folder = await makeFolder()
    skip(!mountDisk(folder, 2), 'mounting a small disk requires root on Linux')
    const server = await startServer((request, response) => sendFile(request, response, modelBytes))
    const variant = makeVariant({ kind: 'url', url: `${server.origin}/tiny.gguf` })
    const result = await settle(openStore(makeSettings(folder)), variant)
    expect(result).toMatchObject(
      failure('disk_full', /needs another 3 MB plus a reserve of 268 MB.* 2 MB free/),
    )
    expect(await listFiles(folder)).not.toContain('tiny.gguf.partial')
  })

  test('gets its space back when a download fills it', async ({ skip }) => {
    const folder = await makeFolder()
    skip(!mountDisk(folder, 2), 'mounting a small disk requires root on Linux')
    // Without Content-Length the size is unknown in advance.
    const server = await startServer((_request, response) => {
      response.write(modelBytes.subarray(0, 1_500_000))
      response.end(modelBytes.subarray(1_500_000))
    })
    const variant = makeVariant({ kind: 'url', url: `${server.origin}/tiny.gguf` })
    const result = await settle(openStore(makeSettings(folder)), variant)
    expect(result).toMatchObject(failure('disk_full', /is full: tiny\.gguf needs more than/))
    expect(await listFiles(folder)).not.toContain('tiny.gguf.partial')
  })

  test('does not matter for a cached file', async () => {
    const folder = await makeFolder()
    const variant = makeVariant({
      kind: 'huggingface',
      repo: 'berth/tiny',
      revision: 'main',
      files: ['t.gguf'],
    })
    const path = join(folder, 'weights', 'huggingface', 'berth', 'tiny', 'main', 't.gguf')
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, modelBytes)
    expect(await openStore(makeSettings(folder)).ensure(one, variant)).toBe(path)
  })
})
