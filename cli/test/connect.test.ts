import { request } from 'node:http'
import type { IncomingHttpHeaders } from 'node:http'
import OpenAI from 'openai'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { registerClient } from '../../server/test/support/client.ts'
import type { Client } from '../../server/test/support/client.ts'
import { deploy } from '../../server/test/support/deployments.ts'
import { answerJson } from '../../server/test/support/recording-engine.ts'
import { node, openShell } from './support/command.ts'
import type { Running, Shell } from './support/command.ts'
import { chunk, startServerWithEngine, streamed } from './support/engine.ts'
import type { ServerWithEngine } from './support/engine.ts'
import { startRelay } from './support/relay.ts'
import type { Relay } from './support/relay.ts'

const messages = [{ role: 'user' as const, content: 'Hello!' }]
const chatPath = '/v1/chat/completions'

let served: ServerWithEngine
let relay: Relay
let client: Client
let shell: Shell
let running: Running
let url: string
let key: string

/** Starts `berth connect` and returns what it prints first. */
async function connected(...options: string[]): Promise<{ running: Running; base_url: string; key: string }> {
  const running = shell.start(['connect', '--port', '0', '--json', ...options])
  return vi.waitFor(() => ({ running, ...JSON.parse(running.output.stdout) }), { timeout: 20_000 })
}

async function stop({ child, result }: Running): Promise<void> {
  child.kill('SIGINT')
  expect((await result).code).toBe(130)
}

beforeAll(async () => {
  served = await startServerWithEngine()
  relay = await startRelay(served.server.url)
  client = await registerClient(served.server.url)
  await deploy(client)
  shell = await openShell({ BERTH_URL: relay.url }, client)
  const connection = await connected()
  running = connection.running
  key = connection.key
  url = connection.base_url.replace('/v1', '')
})

afterAll(async () => {
  if (running) await stop(running)
  await shell.close()
  await relay.stop()
  await served.close()
})

function answerAtOnce(): void {
  const completion = { id: 'c', object: 'chat.completion', created: 1, model: 'm', choices: [] }
  served.engine.answer((response) => answerJson(response, JSON.stringify(completion)))
}

interface Sent {
  status: number
  headers: IncomingHttpHeaders
  body: string
}

/** Unlike fetch(), sends any header. */
function send(path: string, headers: Record<string, string>, method = 'POST', at = url): Promise<Sent> {
  return new Promise((resolve, reject) => {
    const outgoing = request(at + path, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
    })
    outgoing.once('error', reject)
    outgoing.once('response', (response) => {
      let body = ''
      response.setEncoding('utf8').on('data', (text: string) => (body += text))
      response.once('end', () => resolve({ status: response.statusCode!, headers: response.headers, body }))
    })
    outgoing.end(method === 'POST' ? JSON.stringify({ model: 'berth-tiny', messages }) : undefined)
  })
}

test('the openai package streams through the connection, chunk by chunk', async () => {
  const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 })
  let end = () => {}
  served.engine.answer((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(chunk('Hel'))
    end = () => response.end(streamed('lo'))
  })
  let text = ''
  for await (const { choices } of await openai.chat.completions.create({
    model: 'berth-tiny',
    messages,
    stream: true,
  })) {
    text += choices[0]?.delta.content ?? ''
    // The engine goes on only after the first piece has arrived.
    if (text === 'Hel') end()
  }
  expect(text).toBe('Hello')
  expect((await openai.models.list()).data.map(({ id }) => id)).toContain('berth-tiny')
})

test('a program that leaves stops the engine', async () => {
  served.engine.answer((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(chunk('Once'))
  })
  const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 })
  for await (const _ of await openai.chat.completions.create({ model: 'berth-tiny', messages, stream: true }))
    break
  await vi.waitFor(() => expect(served.engine.last().aborted).toBe(true), { timeout: 10_000 })
})

test.each([
  ['Bearer', () => ({ authorization: `Bearer ${key}` })],
  ['x-api-key', () => ({ 'x-api-key': key })],
  ['api-key', () => ({ 'api-key': key })],
])('the key is accepted as %s', async (_, headers) => {
  answerAtOnce()
  expect((await send(chatPath, headers())).status).toBe(200)
})

test('without the key, or with another host, nothing reaches the server', async () => {
  const before = served.engine.requests.length
  const wrong = await send(chatPath, { authorization: 'Bearer sk-wrong' })
  expect(wrong).toMatchObject({ status: 401, body: expect.stringContaining('"authentication_error"') })
  expect(JSON.parse((await send('/v1/messages', {})).body)).toMatchObject({ type: 'error' })
  const rebound = await send(chatPath, { 'x-api-key': key, host: 'evil.example:80' })
  expect(rebound.status).toBe(403)
  const foreign = await send(chatPath, { 'x-api-key': key, origin: 'https://evil.example' })
  expect(foreign.status).toBe(403)
  expect(foreign.headers['access-control-allow-origin']).toBeUndefined()
  expect(served.engine.requests.length).toBe(before)
})

test('only inference is served', async () => {
  for (const path of [
    '/v1/auth/session',
    '/api/v1/model-deployments',
    '/v1/models/../user/profile',
    '//v1/user',
    '/x',
  ]) {
    expect(await send(path, { 'x-api-key': key }, 'GET')).toMatchObject({ status: 404 })
  }
  expect(await send('/v1/user/logout', { 'x-api-key': key })).toMatchObject({ status: 404 })
  expect(await send(chatPath, { 'x-api-key': key }, 'GET')).toMatchObject({
    status: 405,
    headers: { allow: 'POST' },
  })
  expect((await send('/', {}, 'HEAD')).status).toBe(200)
  expect((await send('/v1/models/berth-tiny', { 'x-api-key': key }, 'GET')).status).toBe(200)
  expect(await send('/v1/models/acme/qwen:7b', { 'x-api-key': key }, 'GET')).toMatchObject({
    status: 404,
    body: expect.stringContaining('acme/qwen:7b'),
  })
})

test('load tools find /health and /version without a key, and /tokenize with it', async () => {
  expect(JSON.parse((await send('/health', {}, 'GET')).body)).toEqual({ status: 'ok' })
  expect(JSON.parse((await send('/version', {}, 'GET')).body)).toEqual({ version: expect.any(String) })
  expect((await send('/tokenize', {})).status).toBe(401)
  served.engine.answer((response) => answerJson(response, '{"count":1,"max_model_len":8,"tokens":[7]}'))
  expect(await send('/tokenize', { 'x-api-key': key })).toMatchObject({
    status: 200,
    body: expect.stringContaining('"count":1'),
  })
  for (const path of ['/rerank', '/v2/rerank']) {
    expect(await send(path, { 'x-api-key': key })).toMatchObject({
      status: 400,
      body: expect.stringContaining('is a chat model'),
    })
  }
})

test('local pages may call it; the server sees neither their origin nor the key, and nobody sees the session', async () => {
  answerAtOnce()
  const origin = 'http://localhost:5173'
  const asked = {
    origin,
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization',
  }
  const preflight = await send(chatPath, asked, 'OPTIONS')
  expect(preflight.status).toBe(204)
  expect(preflight.headers).toMatchObject({
    'access-control-allow-origin': origin,
    'access-control-allow-headers': 'authorization',
  })
  // The server refuses state-changing requests of other sites.
  const page = {
    origin,
    'sec-fetch-site': 'cross-site',
    'sec-fetch-mode': 'cors',
    authorization: `Bearer ${key}`,
  }
  const answer = await send(chatPath, { ...page, cookie: 'berth_session=other' })
  expect(answer.status).toBe(200)
  expect(answer.headers['access-control-allow-origin']).toBe(origin)
  expect(answer.headers['set-cookie']).toBeUndefined()
  const { headers } = served.engine.last()
  expect(JSON.stringify(headers)).not.toContain(key)
  expect(headers.cookie).toBeUndefined()
})

test('a request waits for a server that restarts', async () => {
  answerAtOnce()
  await relay.stop()
  const answer = send(chatPath, { 'x-api-key': key })
  await vi.waitFor(() => expect(running.output.stderr).toContain('Requests wait'), { timeout: 20_000 })
  await relay.start()
  expect((await answer).status).toBe(200)
})

test('--no-key needs no key; --for prints settings; a used port is named', async () => {
  answerAtOnce()
  const open = await connected('--no-key')
  expect(open.key).toBeNull()
  expect((await send(chatPath, {}, 'POST', open.base_url.replace('/v1', ''))).status).toBe(200)
  const port = new URL(open.base_url).port
  expect(await shell.berth(['connect', '--port', port])).toMatchObject({
    code: 1,
    stderr: `Port ${port} is in use. Choose another with --port, or 0 for any.\n`,
  })
  await stop(open.running)
  const settings = shell.start(['connect', '--port', '0', '--for', 'codex', '--key', 'sk-own'])
  await vi.waitFor(() => expect(settings.output.stdout).toContain('wire_api = "responses"'), {
    timeout: 20_000,
  })
  expect(settings.output.stdout).toContain('BERTH_KEY=sk-own')
  expect(settings.output.stdout).toContain('model = "berth-tiny"')
  await stop(settings)
  expect(await shell.berth(['connect', '--for', 'emacs'])).toMatchObject({ code: 2 })
})

test('a model that is not running ends connect before it serves anybody', async () => {
  const refused = await shell.berth(['connect', '--port', '0', '--for', 'codex', '--model', 'nope'])
  expect(refused).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining('nope is not running'),
  })
  const program = shell.start(['connect', '--port', '0', '--json', '--for', 'codex'])
  const { settings } = await vi.waitFor(() => JSON.parse(program.output.stdout), { timeout: 20_000 })
  expect(settings).toContain('wire_api = "responses"')
  await stop(program)
})

test('a container reaches loopback by the name of its host, but only with the key', async () => {
  answerAtOnce()
  for (const name of ['host.docker.internal', 'host.containers.internal']) {
    const host = `${name}:11435`
    expect((await send(chatPath, { host, 'x-api-key': key })).status).toBe(200)
    expect((await send(chatPath, { host })).status).toBe(401)
  }
  const open = await connected('--no-key')
  const at = open.base_url.replace('/v1', '')
  const refused = await send(chatPath, { host: 'host.docker.internal' }, 'POST', at)
  expect(refused).toMatchObject({ status: 403, body: expect.stringContaining('--host') })
  await stop(open.running)
})

test('--host listens beyond loopback, and then needs a key that nobody guesses', async () => {
  answerAtOnce()
  const open = await connected('--host', '0.0.0.0')
  const at = open.base_url.replace('/v1', '')
  expect(new URL(at).hostname).toBe('127.0.0.1')
  await vi.waitFor(() => expect(open.running.output.stderr).toContain('not encrypted'), { timeout: 20_000 })
  // Any name of a network of containers may lead there.
  expect((await send(chatPath, { host: 'berth:11435', 'x-api-key': open.key }, 'POST', at)).status).toBe(200)
  expect((await send(chatPath, { host: 'berth:11435' }, 'POST', at)).status).toBe(401)
  const page = { host: 'berth:11435', origin: 'http://berth:11435', 'x-api-key': open.key }
  expect((await send(chatPath, page, 'POST', at)).status).toBe(403)
  await stop(open.running)
  for (const wrong of [
    ['--host', '0.0.0.0', '--no-key'],
    ['--host', '0.0.0.0', '--key', 'guessable'],
    ['--host', 'docker0'],
  ]) {
    expect(await shell.berth(['connect', '--port', '0', ...wrong])).toMatchObject({ code: 2, stdout: '' })
  }
  expect(await shell.berth(['connect', '--port', '0', '--host', '192.0.2.1'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('has no address 192.0.2.1'),
  })
})

test('run passes the connection, the output, the exit code and signals', async () => {
  answerAtOnce()
  const script =
    'const {OPENAI_BASE_URL: url, OPENAI_API_KEY: key, BERTH_SESSION: session, ANTHROPIC_BASE_URL: other} = process.env;' +
    "fetch(url + '/models', {headers: {authorization: 'Bearer ' + key}}).then(async (answer) => {" +
    "console.log(answer.status, session, url === other + '/v1'); process.exit(7)})"
  const result = await shell.berth(['run', '--', node, '-e', script])
  expect(result).toMatchObject({ code: 7, stdout: '200 undefined true\n' })
  for (const missing of ['no-such-program', './no-such-program']) {
    expect(await shell.berth(['run', '--', missing])).toMatchObject({
      code: 127,
      stderr: `${missing} is not installed, or its folder is not in PATH.\n`,
    })
  }
  expect(await shell.berth(['run', '--', '/dev/null'])).toMatchObject({ code: 126 })
  const waiting = shell.start([
    'run',
    '--',
    node,
    '-e',
    "process.on('SIGTERM', () => process.exit(9)); console.log('up'); setInterval(() => {}, 1000)",
  ])
  await vi.waitFor(() => expect(waiting.output.stdout).toBe('up\n'), { timeout: 20_000 })
  waiting.child.kill('SIGTERM')
  expect((await waiting.result).code).toBe(9)
})

test('without a session, connect and run end with 4', async () => {
  const visitor = await openShell({ BERTH_URL: relay.url })
  expect(await visitor.berth(['connect'])).toMatchObject({ code: 4 })
  expect(await visitor.berth(['run', '--', 'true'])).toMatchObject({ code: 4 })
  await visitor.close()
})
