import { request as httpRequest } from 'node:http'
import type { ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { registerClient } from '../../../support/client.ts'
import type { Client } from '../../../support/client.ts'
import { deploy } from '../../../support/deployments.ts'
import { answerJson, startRecordingEngine } from '../../../support/recording-engine.ts'
import type { RecordingEngine } from '../../../support/recording-engine.ts'
import { createScriptedRuntime } from '../../../support/scripted-runtime.ts'
import { startTestServer } from '../../../support/server.ts'
import type { TestServer } from '../../../support/server.ts'

const path = '/v1/chat/completions'
const patience = { timeout: 20_000 }
const mebibyte = 1024 * 1024
const settings = { INFERENCE_BODY_LIMIT: '4MiB' }
const config = { inference: { bodies: { perUser: 4 * mebibyte, perProcess: 64 * mebibyte } } }

let engine: RecordingEngine
let server: TestServer
let held: ServerResponse[] = []
beforeAll(async () => {
  engine = await startRecordingEngine()
  server = await startTestServer({ runtime: createScriptedRuntime(engine.url), settings, config })
})
afterEach(() => engine.answer((response) => answerJson(response, '{}')))
afterAll(async () => {
  await server.close()
  await engine.close()
})

async function register(): Promise<{ person: Client; id: string }> {
  const person = await registerClient(server.url)
  const { id } = await deploy(person)
  return { person, id }
}

const bodyOf = (model: string, bytes: number) => ({ model, x: 'x'.repeat(bytes) })

/** Makes the engine hold its responses, and waits until `count` requests have reached it. */
function holdResponses() {
  held = []
  engine.answer((response) => held.push(response))
  return {
    reached: (count: number) => vi.waitFor(() => expect(held).toHaveLength(count), patience),
    release: () => held.forEach((response) => answerJson(response, '{}')),
  }
}

test('bytes of bodies in flight above the share of a user are a 429 until requests end', async () => {
  const [one, two, three] = [await register(), await register(), await register()]
  const send = ({ person, id }: typeof one, bytes: number) => person.post(path, bodyOf(id, bytes))
  const { reached, release } = holdResponses()
  const first = send(one, 3 * mebibyte)
  await reached(1)
  const refused = await send(one, 2 * mebibyte)
  expect([refused.status, refused.body.error.code, refused.headers.get('retry-after')]).toEqual([
    429,
    'rate_limited',
    '1',
  ])
  const second = send(two, 3 * mebibyte)
  await reached(2)
  const full = await send(three, 3 * mebibyte)
  expect([full.status, full.body.error.message]).toEqual([429, expect.stringMatching(/^The server holds/)])
  const short = send(three, 1_000)
  await reached(3)
  release()
  expect(await Promise.all([first, second, short].map(async (each) => (await each).status))).toEqual([
    200, 200, 200,
  ])
  engine.answer((response) => answerJson(response, '{}'))
  for (const each of [one, two, three]) expect((await send(each, 3 * mebibyte)).status).toBe(200)
})

test('many accounts without a deployment leave room for others', async () => {
  const { person, id } = await register()
  expect((await person.post(path, bodyOf(id, mebibyte))).status).toBe(200)
  const strangers = await Promise.all(Array.from({ length: 25 }, () => registerClient(server.url)))
  const sent = strangers.map(async (stranger) => {
    const headers = {
      cookie: stranger.cookie(),
      'content-type': 'application/json',
      'content-length': 3 * mebibyte,
    }
    const request = httpRequest(server.url + path, { method: 'POST', headers })
    request.on('error', () => undefined)
    request.write('{"x":"')
    const refused = new Promise<boolean>((resolve) => request.on('response', () => resolve(true)))
    const begun = new Promise<boolean>((resolve) => setTimeout(resolve, 500, false))
    return { request, isRefused: await Promise.race([refused, begun]) }
  })
  const open = await Promise.all(sent)
  expect(open.filter(({ isRefused }) => isRefused).length).toBeGreaterThan(15)
  expect((await person.post(path, bodyOf(id, 3 * mebibyte))).status).toBe(200)
  const newcomer = await register()
  expect((await newcomer.person.post(path, bodyOf(newcomer.id, mebibyte))).status).toBe(200)
  for (const { request } of open) request.destroy()
})

test('a long body that names an unknown model is refused after its first bytes', async () => {
  const stranger = await registerClient(server.url)
  const begin = (headers: Record<string, string | number>, ...start: string[]) => {
    const { promise, resolve } = Promise.withResolvers<number>()
    const request = httpRequest(server.url + path, {
      method: 'POST',
      headers: { cookie: stranger.cookie(), 'content-type': 'application/json', ...headers },
    })
    request.on('error', () => undefined)
    request.on('response', ({ statusCode }) => resolve(statusCode!))
    for (const bytes of start) request.write(bytes)
    onTestFinished(() => void request.destroy())
    return { request, status: promise }
  }
  const known = { 'content-length': 3 * mebibyte }
  expect(await begin(known, '{"model":"nope","x":"').status).toBe(404)
  expect(await begin(known, '{"mod', 'el":"nope",', '"x":"y').status).toBe(404)
  expect(await begin({ 'transfer-encoding': 'chunked' }, '{"model":"nope","x":"').status).toBe(404)
  const { id } = await deploy(stranger)
  const body = JSON.stringify(bodyOf(id, mebibyte))
  const { request, status } = begin({ 'content-length': body.length }, body.slice(0, 100))
  request.end(body.slice(100))
  expect(await status).toBe(200)
})

test('a caller who leaves, an invalid body and an error give the bytes back', async () => {
  const { person, id } = await register()
  const { reached } = holdResponses()
  for (const count of [1, 2]) {
    const leaving = new AbortController()
    const call = fetch(server.url + path, {
      method: 'POST',
      signal: leaving.signal,
      headers: { cookie: person.cookie(), 'content-type': 'application/json' },
      body: JSON.stringify(bodyOf(id, 3 * mebibyte)),
    })
    await reached(count)
    leaving.abort()
    await expect(call).rejects.toThrow('abort')
    // Until then the server may not know that the caller left.
    await expect.poll(() => engine.last().aborted).toBe(true)
  }
  engine.answer((response) => answerJson(response, '{}'))
  const long = 'x'.repeat(3 * mebibyte)
  const expectStatus = (body: string, status: number) =>
    vi.waitFor(async () => expect((await person.request('POST', path, body)).status).toBe(status), patience)
  await expectStatus(`{"model":"${id}","x":"${long}"`, 400)
  await expectStatus(`{"model":"none","x":"${long}"}`, 404)
  await expectStatus(`{"model":"${id}","x":"${long}"}`, 200)
})

test('callers who leave while their body is unpacked give the bytes back', async () => {
  const { person, id } = await register()
  const packed = gzipSync(JSON.stringify(bodyOf(id, 3 * mebibyte)))
  const headers = {
    cookie: person.cookie(),
    'content-type': 'application/json',
    'content-encoding': 'gzip',
    'content-length': packed.length,
  }
  for (let milliseconds = 0; milliseconds < 20; milliseconds += 1) {
    const request = httpRequest(server.url + path, { method: 'POST', headers })
    request.on('error', () => undefined)
    await new Promise<void>((resolve) => request.end(packed, resolve))
    await delay(milliseconds)
    request.destroy()
  }
  const ask = async () => (await person.post(path, bodyOf(id, 3 * mebibyte))).status
  await vi.waitFor(async () => expect(await ask()).toBe(200), patience)
})

test('a chunked body counts as it arrives', async () => {
  const { person, id } = await register()
  const { reached, release } = holdResponses()
  const first = person.post(path, bodyOf(id, 3 * mebibyte))
  await reached(1)
  const status = await new Promise<number | undefined>((resolve, reject) => {
    const headers = { cookie: person.cookie(), 'content-type': 'application/json' }
    const request = httpRequest(server.url + path, { method: 'POST', headers }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
    request.on('error', reject)
    request.write('x'.repeat(2 * mebibyte))
  })
  expect(status).toBe(429)
  release()
  expect((await first).status).toBe(200)
})

test('a long body reaches the engine unchanged, with `model` replaced behind escapes', async () => {
  const { person, id } = await register()
  const rest = `"x":"${'\\"é'.repeat(300_000)}","big":1e400,"mod\\u0065l" : "`
  expect((await person.request('POST', path, `{${rest}${id}"}`)).status).toBe(200)
  expect(engine.last().body === `{${rest}berth-tiny"}`).toBe(true)
})
