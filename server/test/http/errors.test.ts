import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectDatabase } from '../../src/database/connect.ts'
import { buildServer } from '../../src/process/server.ts'
import { createClient, registerClient } from '../support/client.ts'
import type { Answer, Client } from '../support/client.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

let server: TestServer
let client: Client
let stranger: Client
beforeAll(async () => {
  server = await startTestServer({ worker: false })
  client = await registerClient(server.url)
  stranger = createClient(server.url)
})
afterAll(() => server.close())

const deployments = '/api/v1/model-deployments'
const uuid = '01890a5d-ac96-774b-bcce-b302099a8057'

/** Checks that a response is an RFC 9457 problem with exactly our fields. */
function expectProblem(answer: Answer, status: number, code: string) {
  expect(answer.status).toBe(status)
  expect(answer.headers.get('content-type')).toMatch(/^application\/json/)
  const { errors: _errors, ...rest } = answer.body
  expect(rest).toEqual({
    type: 'about:blank',
    title: expect.stringMatching(/^[A-Z]/),
    status,
    detail: expect.stringMatching(/\.$/),
    code,
    request_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
  })
  expect(answer.body.request_id).toBe(answer.headers.get('x-request-id'))
}

test('400 malformed_json: a body that is not valid JSON', async () => {
  for (const body of [
    '{',
    '{"a":1',
    'null x',
    '{"a":01}',
    "{'a':1}",
    '\u0000',
    '{"a":"\ud83d',
    '[1,]',
    'NaN',
  ]) {
    expectProblem(await client.request('POST', deployments, body), 400, 'malformed_json')
  }
})

test('400 malformed_json: a missing body, with and without a content type', async () => {
  const headers = { 'content-type': 'application/json' }
  for (const path of [deployments, '/v1/user/signin', '/v1/user/register']) {
    expectProblem(await client.request('POST', path, '', headers), 400, 'malformed_json')
    expectProblem(await client.request('POST', path), 400, 'malformed_json')
  }
})

test('401 not_authenticated: no session on a protected route', async () => {
  for (const path of [
    '/v1/auth/session',
    deployments,
    `${deployments}/${uuid}`,
    '/api/v1/deployable-models',
  ]) {
    expectProblem(await stranger.get(path), 401, 'not_authenticated')
  }
})

test('404 not_found: an unknown path or id', async () => {
  for (const path of [
    '/v1',
    '/v1/',
    '/nothing',
    '/v1/user/Register',
    '/api/v1/deployable-models/nothing/here',
  ]) {
    expectProblem(await client.get(path), 404, 'not_found')
  }
  for (const id of [
    uuid,
    'x',
    '0',
    '%00',
    '%F0%9F%9A%A2',
    'a'.repeat(10_000),
    '..%2F..%2Fetc',
    "'%20OR%201=1",
  ]) {
    expectProblem(await client.get(`${deployments}/${id}`), 404, 'not_found')
    expectProblem(await client.delete(`${deployments}/${id}`), 404, 'not_found')
  }
})

test('400 malformed_request: a path with invalid percent-encoding', async () => {
  for (const path of [
    `${deployments}/%zz`,
    `${deployments}/%E0%A4%A`,
    '/%',
    '/api/v1/deployable-models/%ff',
  ]) {
    expectProblem(await client.get(path), 400, 'malformed_request')
  }
})

test('404 not_found: a path with a trailing slash', async () => {
  expectProblem(await client.get('/v1/auth/session/'), 404, 'not_found')
})

test.each([
  ['GET', '/v1/user/register', 'POST'],
  ['DELETE', '/v1/auth/session', 'GET, HEAD'],
  ['PUT', deployments, 'GET, HEAD, POST'],
  ['PUT', `${deployments}/${uuid}`, 'GET, HEAD, PATCH, DELETE'],
  ['POST', '/healthz', 'GET, HEAD'],
  ['OPTIONS', '/v1/user/signin', 'POST'],
])('405 with Allow: %s %s', async (method, path, allow) => {
  const answer = await client.request(method, path)
  expectProblem(answer, 405, 'method_not_allowed')
  expect(answer.headers.get('allow')).toBe(allow)
})

test.each([
  ['POST', '/v1/user/signin', 401],
  ['POST', '/v1/auth/password-reset/request', 200],
  ['POST', '/v1/invitations/register', 422],
  ['PATCH', '/v1/user/profile', 200],
  ['PATCH', '/v1/organization', 200],
])(
  '413 body_too_large: %s %s with a body over 64 KiB; a body of 64 KiB is accepted',
  async (method, path, status) => {
    const bodyOf = (bytes: number) => {
      const start = '{"email":"nobody@example.com","password":"a wrong password","x":"'
      return `${start}${'x'.repeat(bytes - start.length - 2)}"}`
    }
    expectProblem(await client.request(method, path, bodyOf(64 * 1024 + 1)), 413, 'body_too_large')
    expect((await client.request(method, path, bodyOf(64 * 1024))).status).toBe(status)
  },
)

test('413 body_too_large: a body over 1 MiB; a body of 1 MiB is accepted', async () => {
  const mebibyte = 1024 * 1024
  const bodyOf = (bytes: number) => `{"model_name":"${'x'.repeat(bytes - 17)}"}`
  expectProblem(await client.request('POST', deployments, bodyOf(2 * mebibyte)), 413, 'body_too_large')
  expectProblem(await client.request('POST', deployments, bodyOf(mebibyte + 1)), 413, 'body_too_large')
  expectProblem(await client.request('POST', deployments, bodyOf(mebibyte)), 422, 'model_not_deployable')
})

test('errors are JSON, and application/problem+json if Accept names it', async () => {
  const accept = 'application/json, application/problem+json;q=0.9'
  const answer = await client.request('GET', `${deployments}/${uuid}`, undefined, { accept })
  expect(answer.headers.get('content-type')).toBe('application/problem+json')
  expect(answer.body.code).toBe('not_found')
})

test('an empty body is no body, whatever its content type says', async () => {
  for (const type of ['text/plain', 'application/x-www-form-urlencoded']) {
    const headers = { 'content-type': type }
    expectProblem(
      await client.request('DELETE', `${deployments}/${uuid}`, undefined, headers),
      404,
      'not_found',
    )
    expectProblem(await client.request('POST', deployments, undefined, headers), 400, 'malformed_json')
  }
})

test('a compressed body is read within the same limit, another coding is a 415 with Accept-Encoding', async () => {
  const send = (body: Buffer, encoding: string) =>
    client.request('POST', deployments, body, {
      'content-type': 'application/json',
      'content-encoding': encoding,
    })
  const text = '{"model_name":"no-such-model"}'
  const packers = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync, zstd: zstdCompressSync }
  for (const [encoding, pack] of Object.entries(packers)) {
    expectProblem(await send(pack(text), encoding), 422, 'model_not_deployable')
    expectProblem(await send(pack(Buffer.alloc(2 ** 25)), encoding), 413, 'body_too_large')
    expectProblem(await send(Buffer.from(text), encoding), 400, 'malformed_json')
    expectProblem(await send(Buffer.concat([pack(text), pack(text)]), encoding), 400, 'malformed_json')
  }
  const other = await send(Buffer.from(text), 'compress')
  expectProblem(other, 415, 'unsupported_encoding')
  expect(other.headers.get('accept-encoding')).toBe('gzip, deflate, br, zstd')
  const signIn = gzipSync('{"email":"nobody@example.com","password":"a wrong password"}')
  const encoded = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
  expectProblem(await client.request('POST', '/v1/user/signin', signIn, encoded), 401, 'invalid_credentials')
})

test('415 unsupported_media_type: a body that is not JSON', async () => {
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/xml',
    'application/jsonp',
    'nonsense',
  ]) {
    const answer = await client.request('POST', deployments, '{"model_name":"berth-tiny"}', {
      'content-type': type,
    })
    expectProblem(answer, 415, 'unsupported_media_type')
  }
})

test('422 validation_failed: every invalid field with its location', async () => {
  const body = await client.post(deployments, { model_name: '', quantization: 7, gpu: 1 })
  expectProblem(body, 422, 'validation_failed')
  const places = body.body.errors.map((error: any) => [error.location, error.field])
  expect(places.toSorted()).toEqual([
    ['body', 'gpu'],
    ['body', 'model_name'],
    ['body', 'quantization'],
  ])
  for (const error of body.body.errors) {
    expect(error).toEqual({
      location: 'body',
      field: expect.any(String),
      message: expect.stringMatching(/\w/),
      code: expect.stringMatching(/^[a-z_]+$/),
    })
  }
  const query = await client.get(`${deployments}?limit=0&offset=-1`)
  expectProblem(query, 422, 'validation_failed')
  expect(query.body.errors).toMatchObject([
    { location: 'query', field: 'limit' },
    { location: 'query', field: 'offset' },
  ])
})

test('422 validation_failed: a body that is not an object', async () => {
  for (const body of ['[]', '"text"', '1', 'true', 'null']) {
    expectProblem(await client.request('POST', deployments, body), 422, 'validation_failed')
  }
})

test('checks run in the order CSRF, session, role, body, state', async () => {
  const crossSite = { 'sec-fetch-site': 'cross-site' }
  expectProblem(await stranger.request('POST', deployments, '{', crossSite), 403, 'csrf_rejected')
  expectProblem(await stranger.request('POST', deployments, '{'), 401, 'not_authenticated')
  const viewer = await registerClient(server.url)
  const { user } = (await viewer.get('/v1/auth/session')).body
  const { db } = server.application
  await db.updateTable('memberships').set({ role: 'viewer' }).where('user_id', '=', user.id).execute()
  for (const [body, headers] of [
    ['{', {}],
    ['{}', { 'content-type': 'text/plain' }],
    ['x'.repeat(2 * 1024 * 1024), {}],
  ] as [string, Record<string, string>][]) {
    expectProblem(await viewer.request('POST', deployments, body, headers), 403, 'forbidden')
  }
  for (const method of ['PATCH', 'DELETE'])
    expectProblem(await viewer.request(method, `${deployments}/${uuid}`, {}), 404, 'not_found')
  expectProblem(await viewer.get(`${deployments}/${uuid}`), 404, 'not_found')
  expectProblem(await client.post(deployments, { model_name: 'nothing', gpu: 1 }), 422, 'validation_failed')
  expectProblem(await client.post(deployments, { model_name: 'nothing' }), 422, 'model_not_deployable')
})

test('x-request-id: a generated id in every response, never the caller’s', async () => {
  const first = await client.request('GET', '/healthz', undefined, { 'x-request-id': 'mine' })
  const second = await client.get('/healthz')
  const ids = [first, second].map(({ headers }) => headers.get('x-request-id'))
  for (const id of ids) expect(id).toMatch(/^[0-9a-f-]{36}$/)
  expect(ids[0]).not.toBe(ids[1])
})

test('500 internal_error: the internal error is logged with the request id and not in the response', async () => {
  const { db } = server.application
  await sql`ALTER TABLE deployable_models RENAME TO models_gone_for_a_while`.execute(db)
  const answer = await client.get('/api/v1/deployable-models')
  await sql`ALTER TABLE models_gone_for_a_while RENAME TO deployable_models`.execute(db)
  expectProblem(answer, 500, 'internal_error')
  expect(JSON.stringify(answer.body)).not.toMatch(/deployable_models|relation|select/i)
  const line = server.logs.find((each) => each.includes(answer.body.request_id) && each.includes('"err"'))
  expect(line).toMatch(/relation .*deployable_models/)
  expect((await client.get('/api/v1/deployable-models')).status).toBe(200)
})

test('503 database_unavailable: without a database, the response does not reveal its address', async () => {
  const url = 'postgres://somebody:a-secret@127.0.0.1:1/nowhere'
  const away = connectDatabase(url, 2, () => {})
  const app = await buildServer({ ...server.application, db: away.db })
  const ask = (path: string) => app.inject({ url: path, headers: { cookie: client.cookie() } })
  for (const path of [
    '/v1/auth/session',
    deployments,
    '/v1/models',
    '/healthz',
    '/readyz?database=required',
  ]) {
    const answer = await ask(path)
    expect(answer.statusCode).toBe(503)
    expect(answer.headers['retry-after']).toBe('5')
    expect(answer.headers['content-type']).toMatch(/json/)
    expect(answer.body).not.toMatch(/a-secret|somebody|nowhere|ECONN|127\.0|:1\b/)
  }
  expect((await ask('/readyz')).json()).toEqual({
    status: 'degraded',
    database: expect.stringMatching(/^unreachable since \d{4}-/),
  })
  await app.close()
  await away.close()
})
