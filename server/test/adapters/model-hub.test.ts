import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createHuggingFaceHub } from '../../src/adapters/model-hub/hugging-face.ts'
import type { HubSession } from '../../src/ports/model-hub.ts'
import { startHubServer } from '../support/hub/hub-server.ts'
import type { HubOptions, HubRepository } from '../support/hub/hub-server.ts'
import { commitOf, makeRepositories } from '../support/hub/test-repositories.ts'
import { listen } from '../support/listen.ts'

async function openHub(
  options: HubOptions & { token?: string; sessionTimeoutMs?: number } = {},
  repositories: Record<string, HubRepository> = makeRepositories(),
) {
  const server = await startHubServer(repositories, options)
  const { sessionTimeoutMs } = options
  const hub = createHuggingFaceHub({ endpoint: server.origin, sessionTimeoutMs })
  onTestFinished(async () => {
    await hub.close()
    await server.close()
  })
  return { server, session: hub.open(options.token ?? null) }
}

async function readFile(session: HubSession, name: string, path: string, start: number, end: number) {
  const repository = await session.describe(name, 'main')
  const file = repository.files.find((each) => each.path === path)!
  return session.read(repository, file, start, end)
}

describe('a description', () => {
  test('names the commit, the license, the task, and every file with its size', async () => {
    const { session } = await openHub()
    const repository = await session.describe('acme/Small-GGUF', 'main')
    const { files } = makeRepositories()['acme/Small-GGUF']!
    expect(repository).toEqual({
      name: 'acme/Small-GGUF',
      commit: commitOf('1'),
      isGated: false,
      license: 'apache-2.0',
      task: 'text-generation',
      files: Object.entries(files).map(([path, content]) => ({ path, bytes: (content as Buffer).length })),
    })
    expect(await session.describe('acme/Small-GGUF', commitOf('1'))).toEqual(repository)
  })

  test('follows the new name of a repository', async () => {
    const { session } = await openHub({ renamed: { 'acme/Old': 'acme/Small' } })
    expect(await session.describe('acme/Old', 'main')).toMatchObject({ name: 'acme/Small' })
  })

  test.each([
    ['../../etc/passwd'],
    ['a/../b.gguf'],
    ['/absolute.gguf'],
    ['a//b.gguf'],
    ['a\\b.gguf'],
    ['\ud800.gguf'],
  ])('with the path %j is refused', async (path) => {
    const { session } = await openHub({}, { 'a/b': { commit: commitOf('a'), files: { [path]: 5 } } })
    await expect(session.describe('a/b', 'main')).rejects.toMatchObject({
      failure: 'invalid',
      message: expect.stringMatching(/file with an impossible path/),
    })
  })

  test.each<[string, string]>([
    ['HTML', '<html>'],
    ['no commit', '{"siblings":[]}'],
    ['a commit that is a path', '{"sha":"../../etc","siblings":[]}'],
    ['a negative size', `{"sha":"${commitOf('a')}","siblings":[{"rfilename":"a","size":-1}]}`],
  ])('with %s is refused', async (_name, body) => {
    const { session } = await openHub({ intercept: (_request, response) => Boolean(response.end(body)) })
    await expect(session.describe('a/b', 'main')).rejects.toMatchObject({ failure: 'invalid' })
  })

  test('of 100 MB is refused after a few', async () => {
    let sent = 0
    const piece = Buffer.alloc(65_536, ' ')
    const { session } = await openHub({
      intercept(_request, response) {
        const send = () => {
          while (sent < 100e6 && response.write(piece)) sent += piece.length
          if (sent < 100e6) response.once('drain', send)
          else response.end()
        }
        send()
        return true
      },
    })
    await expect(session.describe('a/b', 'main')).rejects.toMatchObject({ message: 'a/b is too large.' })
    expect(sent).toBeLessThan(30e6)
  })
})

describe('a part of a file', () => {
  test('has exactly the bytes, from the hub or from its CDN, with another signature each time', async () => {
    const { server, session } = await openHub()
    const { files } = makeRepositories()['acme/Small-GGUF']!
    const large = 'Small-Q8_0-00001-of-00002.gguf'
    for (const [path, start, end] of [
      ['Small-Q4_K_M.gguf', 0, 100],
      [large, 0, 10],
      [large, 150_000, 250_000],
    ] as const) {
      const bytes = await readFile(session, 'acme/Small-GGUF', path, start, end)
      expect(Buffer.from(bytes).equals((files[path] as Buffer).subarray(start, end))).toBe(true)
    }
    const signatures = server.cdnRequests.map(({ path }) => path)
    expect(signatures).toHaveLength(2)
    expect(new Set(signatures).size).toBe(2)
    expect(server.cdnRequests.some(({ headers }) => headers.authorization !== undefined)).toBe(false)
  })

  test('the token goes to the hub and not to the CDN', async () => {
    const { server, session } = await openHub({ token: 'hf_secret', tokens: ['hf_secret'] })
    await readFile(session, 'acme/Licensed', 'Licensed-Q4_K_M.gguf', 0, 4)
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual(
      server.requests.map(() => 'Bearer hf_secret'),
    )
  })

  test.each<[string, string, HubOptions & { token?: string }]>([
    ['gated', 'acme/Licensed', {}],
    ['gated', 'acme/Licensed', { token: 'hf_of_another' }],
    ['not_found', 'acme/Private', {}],
    ['not_found', 'acme/Absent', { token: 'hf_secret', tokens: ['hf_secret'] }],
  ])('%s: %s', async (failure, name, options) => {
    const { session } = await openHub(options)
    await expect(readFile(session, name, `${name.slice(5)}-Q4_K_M.gguf`, 0, 4)).rejects.toMatchObject({
      failure,
    })
  })
})

describe('a hub with problems', () => {
  test('waits as Retry-After says, a few times', async () => {
    const { server, session } = await openHub({
      intercept(_request, response, attempt) {
        if (attempt < 3) response.writeHead(429, { 'retry-after': '0' }).end()
        return attempt < 3
      },
    })
    await session.describe('acme/Small', 'main')
    expect(server.requests).toHaveLength(3)
  })

  test.each<[string, (response: ServerResponse) => unknown]>([
    ['asks to wait for an hour', (response) => response.writeHead(429, { 'retry-after': '3600' }).end()],
    ['always fails', (response) => response.writeHead(503, { 'retry-after': '0' }).end()],
    ['closes the connection', (response) => response.destroy()],
    [
      'stops in the middle',
      (response) => response.writeHead(200, { 'content-length': 100 }).write('{', () => response.destroy()),
    ],
  ])('%s: unreachable', async (_name, misbehave) => {
    const { session } = await openHub({
      intercept(_request, response) {
        misbehave(response)
        return true
      },
    })
    await expect(session.describe('acme/Small', 'main')).rejects.toMatchObject({ failure: 'unreachable' })
  })

  test('that never answers is unreachable when the time of the session is over', async () => {
    const { session } = await openHub({ intercept: () => true, sessionTimeoutMs: 200 })
    await expect(session.describe('acme/Small', 'main')).rejects.toMatchObject({
      failure: 'unreachable',
      message: expect.stringMatching(/took too long/),
    })
  })
})

describe('a redirect', () => {
  test('that never ends is refused', async () => {
    const { session } = await openHub({
      intercept: (_request, response) => Boolean(response.writeHead(302, { location: '/again' }).end()),
    })
    await expect(session.describe('acme/Small', 'main')).rejects.toMatchObject({
      message: expect.stringMatching(/redirected more than 5 times/),
    })
  })

  test('of a file to another server on this machine gets no token', async () => {
    const seen: IncomingMessage['headers'][] = []
    const other = createServer((request, response) => {
      seen.push(request.headers)
      response.writeHead(206).end('abcd')
    })
    const port = await listen(other)
    onTestFinished(() => void other.close())
    const { session } = await openHub({
      token: 'hf_secret',
      tokens: ['hf_secret'],
      locate: () => `http://127.0.0.1:${port}/elsewhere`,
    })
    await readFile(session, 'acme/Small-GGUF', 'Small-Q8_0-00002-of-00002.gguf', 0, 4)
    expect(seen).toHaveLength(1)
    expect(seen[0]!.authorization).toBeUndefined()
  })
})
