import { mkdir, readFile, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createLocalRuntime } from '../../src/adapters/model-runtime/local/runtime.ts'
import { createWeightStore } from '../../src/adapters/model-runtime/local/weights/weights.ts'
import type { WeightStore } from '../../src/adapters/model-runtime/local/weights/weights.ts'
import type { EngineObservation } from '../../src/ports/model-runtime.ts'
import type { ModelVariant } from '../../src/ports/model-variant.ts'
import {
  patient,
  tinyModel,
  makeFolder,
  makeModelBytes,
  makeSettings,
  makeSpec,
  makeVariant,
  sendFile,
  sha256,
  startServer,
} from './local-runtime-support.ts'
import type { FileServer } from './local-runtime-support.ts'

const megabyte = 1_000_000
const modelBytes = makeModelBytes(3 * megabyte)

/** A server of one model at any URL. */
function serveModel(): Promise<FileServer> {
  return startServer((request, response) => sendFile(request, response, modelBytes))
}

function modelAt(server: FileServer, name: string): ModelVariant {
  return makeVariant({ kind: 'url', url: `${server.origin}/${name}.gguf` })
}

function openCache(
  folder: string,
  maxWeightBytes: number,
  listNeeded: () => Promise<string[]> = async () => [],
): WeightStore {
  const store = createWeightStore(makeSettings(folder, { maxWeightBytes }), listNeeded)
  onTestFinished(() => store.close())
  return store
}

/** Waits for a download and returns the path of the file, or the failure. */
async function settle(
  store: WeightStore,
  variant: ModelVariant,
  id = variant.weights.kind === 'url' ? variant.weights.url : 'hub',
): Promise<string | EngineObservation> {
  return await vi.waitFor(
    async () => {
      const path = await store.ensure(id, variant)
      const seen = store.observe(id)
      if (path === null && seen?.phase !== 'failed') throw new Error(`still ${JSON.stringify(seen)}`)
      return path ?? seen!
    },
    { timeout: 90_000, interval: 10 },
  )
}

async function getPath(store: WeightStore, variant: ModelVariant): Promise<string> {
  const result = await settle(store, variant)
  if (typeof result !== 'string') throw new Error(`The download failed: ${JSON.stringify(result)}`)
  return result
}

async function listFiles(folder: string): Promise<string[]> {
  const found = await readdir(join(folder, 'weights'), { recursive: true, withFileTypes: true })
  return found
    .filter((each) => each.isFile())
    .map(({ name }) => name)
    .toSorted()
}

/** Sets the time of the last use, because two downloads in a test may share a millisecond. */
async function setUsed(path: string, minutesAgo: number): Promise<void> {
  const at = new Date(Date.now() - minutesAgo * 60_000)
  await utimes(path, at, at)
}

test('a weight cache lists what it has, and prunes what no deployment needs', async () => {
  const folder = await makeFolder()
  const server = await serveModel()
  const needed: string[] = []
  const store = openCache(folder, 100 * megabyte, async () => needed)
  for (const [index, name] of ['a', 'b', 'c'].entries()) {
    await setUsed(await getPath(store, modelAt(server, name)), 30 - index)
  }
  needed.push(await getPath(store, modelAt(server, 'b')))
  await setUsed(needed[0]!, 10)
  const name = (file: string) => expect.stringMatching(new RegExp(`^url/[0-9a-f]{16}/${file}\\.gguf$`))
  const usedAt = expect.any(Date)
  const [a, c, b] = [
    { name: name('a'), bytes: 3 * megabyte, usedAt, isNeeded: false },
    { name: name('c'), bytes: 3 * megabyte, usedAt, isNeeded: false },
    { name: name('b'), bytes: 3 * megabyte, usedAt, isNeeded: true },
  ]
  expect(await store.cache.list()).toEqual([a, c, b])
  expect(await store.cache.list(needed)).toEqual([b])
  expect(await store.cache.prune()).toEqual([a, c])
  expect(await listFiles(folder)).toEqual(['b.gguf'])
})

describe('a full weight cache', () => {
  test('evicts the least recently used weights for a download', async () => {
    const folder = await makeFolder()
    const server = await serveModel()
    const store = openCache(folder, 10 * megabyte)
    for (const [index, name] of ['a', 'b', 'c'].entries()) {
      await setUsed(await getPath(store, modelAt(server, name)), 30 - index)
    }
    expect(await store.cache.measure()).toEqual({ bytes: 9 * megabyte, limitBytes: 10 * megabyte })
    await settle(store, modelAt(server, 'a'))
    expect(await settle(store, modelAt(server, 'd'))).toMatch(/d\.gguf$/)
    expect(await listFiles(folder)).toEqual(['a.gguf', 'c.gguf', 'd.gguf'])
  })

  test('evicts partial files that no deployment waits for', async () => {
    const folder = await makeFolder()
    const server = await startServer((request, response) =>
      request.url === '/a.gguf'
        ? sendFile(request, response, modelBytes, {
            dropAfter: 2 * megabyte,
            etag: '"v1"',
            ignoreRange: true,
          })
        : sendFile(request, response, modelBytes),
    )
    const store = openCache(folder, 4 * megabyte)
    expect(await settle(store, modelAt(server, 'a'))).toMatchObject({ code: 'download_failed' })
    expect(await settle(store, modelAt(server, 'b'))).toMatch(/b\.gguf$/)
    expect(await listFiles(folder)).toEqual(['b.gguf'])
  })

  test('never evicts weights that a deployment needs, and refuses the download before it starts', async () => {
    const folder = await makeFolder()
    const server = await serveModel()
    const needed: string[] = []
    const store = openCache(folder, 8 * megabyte, async () => needed)
    needed.push(await getPath(store, modelAt(server, 'a')))
    await setUsed(needed[0]!, 60)
    await settle(store, modelAt(server, 'b'))
    needed.push(await getPath(store, modelAt(server, 'b')))
    const refused = await settle(store, modelAt(server, 'c'))
    expect(refused).toEqual({
      phase: 'failed',
      stage: 'model_download',
      code: 'disk_full',
      message:
        'c.gguf needs another 3 MB, but the weight cache has only 2 MB free: other deployments need the rest of the 8 MB that ' +
        'WEIGHTS_LIMIT allows. Terminate a deployment, choose a smaller model or raise the limit.',
    })
    expect(await listFiles(folder)).toEqual(['a.gguf', 'b.gguf'])
  })

  test('evicts nothing for a model that could not fit anyway', async () => {
    const folder = await makeFolder()
    const server = await startServer((request, response) =>
      sendFile(request, response, request.url === '/large.gguf' ? makeModelBytes(9 * megabyte) : modelBytes),
    )
    const store = openCache(folder, 8 * megabyte)
    await settle(store, modelAt(server, 'a'))
    expect(await settle(store, modelAt(server, 'large'))).toMatchObject({ code: 'disk_full' })
    expect(await listFiles(folder)).toEqual(['a.gguf'])
  })

  test('counts downloads in progress by their announced size', async () => {
    const folder = await makeFolder()
    const server = await startServer((request, response) => {
      if (request.url === '/b.gguf') return sendFile(request, response, modelBytes)
      response.writeHead(200, { 'content-length': modelBytes.length })
      response.write(modelBytes.subarray(0, megabyte))
    })
    const waiting: string[] = []
    const store = openCache(folder, 5 * megabyte, async () => waiting)
    await store.ensure('a', modelAt(server, 'a'))
    await expect.poll(() => store.observe('a')).toMatchObject({ receivedBytes: megabyte })
    waiting.push(join(folder, 'weights'))
    expect(await settle(store, modelAt(server, 'b'))).toMatchObject({
      code: 'disk_full',
      message: expect.stringContaining('only 2 MB free'),
    })
  })

  test('refuses a model of several files before the first one is downloaded', async () => {
    const folder = await makeFolder()
    const hub = await startServer((request, response) => sendFile(request, response, modelBytes))
    const store = createWeightStore(
      makeSettings(folder, {
        maxWeightBytes: 5 * megabyte,
        huggingFace: { endpoint: hub.origin, token: null },
      }),
      async () => [],
    )
    onTestFinished(() => store.close())
    const files = ['m-00001-of-00002.gguf', 'm-00002-of-00002.gguf']
    const variant = makeVariant({ kind: 'huggingface', repo: 'berth/m', revision: 'main', files })
    expect(await settle(store, variant)).toMatchObject({
      code: 'disk_full',
      message: expect.stringMatching(
        /^m-00001-of-00002\.gguf \(2 files\) needs another 6 MB, .* only 5 MB free/,
      ),
    })
    expect(await listFiles(folder)).toEqual([])
    expect(hub.methods).toEqual(['HEAD', 'HEAD'])
  })

  test('keeps weights that another process starts to need during the eviction', async () => {
    const folder = await makeFolder()
    const server = await serveModel()
    const first = await getPath(openCache(folder, 5 * megabyte), modelAt(server, 'a'))
    let looks = 0
    const store = openCache(folder, 5 * megabyte, async () => (++looks === 1 ? [] : [first]))
    await settle(store, modelAt(server, 'b'))
    expect((await readFile(first)).equals(modelBytes)).toBe(true)
  })

  test('deletes what a process left behind that was killed during an eviction', async () => {
    const folder = await makeFolder()
    const server = await serveModel()
    const old = join(folder, 'weights', 'url', 'old')
    await mkdir(old, { recursive: true })
    await writeFile(join(old, 'x.gguf.evicted'), modelBytes)
    const store = openCache(folder, 5 * megabyte)
    expect(await settle(store, modelAt(server, 'a'))).toMatch(/a\.gguf$/)
    expect(await listFiles(folder)).toEqual(['a.gguf'])
  })
})

test('a repository that has changed at the Hub is never mixed from two versions, and its listing is requested again after an error', async () => {
  const folder = await makeFolder()
  let version = '1'
  let failures = 1
  const read = (name: string) => Buffer.from(`${name} version ${version}`)
  const hub = await startServer((request, response) => {
    const siblings = ['config.json', 'model.safetensors'].map((rfilename) => {
      const digest = sha256(read(rfilename))
      const lfs = rfilename === 'model.safetensors' ? { lfs: { sha256: digest } } : {}
      return { rfilename, size: read(rfilename).length, blobId: digest, ...lfs }
    })
    const isListing = request.url?.startsWith('/api/') === true
    if (isListing && failures-- > 0) response.writeHead(503).end()
    else if (isListing) response.end(JSON.stringify({ siblings }))
    else sendFile(request, response, read(request.url?.split('/main/')[1] ?? ''))
  })
  const huggingFace = { endpoint: hub.origin, token: null }
  const store = createWeightStore(makeSettings(folder, { huggingFace }), async () => [])
  onTestFinished(() => store.close())
  const variant = makeVariant(
    { kind: 'huggingface', repo: 'berth/m', revision: 'main', files: [] },
    { format: 'pytorch' },
  )
  const path = await getPath(store, variant)
  version = '2'
  expect(await getPath(store, variant)).toBe(path)
  expect(await readFile(join(path, 'config.json'), 'utf8')).toBe('config.json version 1')

  await rm(join(path, 'model.safetensors'))
  expect(await getPath(store, variant)).toBe(path)
  for (const name of ['config.json', 'model.safetensors']) {
    expect(await readFile(join(path, name), 'utf8')).toBe(`${name} version 2`)
  }
})

test('the weights of a running engine stay in a full cache until its deployment is released', async () => {
  const folder = await makeFolder()
  const model = await readFile(tinyModel)
  const server = await startServer((request, response) => sendFile(request, response, model))
  const runtime = await createLocalRuntime(
    makeSettings(folder, { maxWeightBytes: Math.floor(model.length * 1.5) }),
  )
  const [one, two] = ['one', 'two'].map((name) => makeSpec(modelAt(server, name)))
  if (one === undefined || two === undefined) throw new Error('no specs')
  onTestFinished(async () => {
    for (const id of await runtime.listEngineIds()) await vi.waitUntil(() => runtime.release(id), patient)
    await runtime.close()
  })
  const reach = (spec: typeof one, phase: EngineObservation['phase']) =>
    expect.poll(() => runtime.ensureEngine(spec), { timeout: 90_000 }).toMatchObject({ phase })

  await reach(one, 'ready')
  const path = join(folder, 'weights', 'url')
  const [kept = ''] = await readdir(path)
  await reach(two, 'failed')
  expect(await runtime.observeEngine(two.engineId)).toMatchObject({ code: 'disk_full' })
  expect((await stat(join(path, kept, 'one.gguf'))).size).toBe(model.length)
  expect(await runtime.observeEngine(one.engineId)).toMatchObject({ phase: 'ready' })

  await vi.waitUntil(() => runtime.release(one.engineId), patient)
  await vi.waitUntil(() => runtime.stopEngine(two.engineId), patient)
  await reach(two, 'ready')
  expect(await listFiles(folder)).toEqual(['two.gguf'])
}, 300_000)
