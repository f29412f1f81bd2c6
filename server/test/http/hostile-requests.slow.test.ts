import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createClient, registerClient } from '../support/client.ts'
import type { Client } from '../support/client.ts'
import { assertDocumented } from '../support/documented-errors.ts'
import { listOperations } from '../support/operations.ts'
import type { Operation } from '../support/operations.ts'
import { startTestServer } from '../support/server.ts'
import type { TestServer } from '../support/server.ts'

// Runs against every operation in the OpenAPI description, so new operations are covered automatically.

let server: TestServer
let client: Client
let operations: Operation[]
beforeAll(async () => {
  server = await startTestServer({ worker: false })
  client = await registerClient(server.url)
  operations = listOperations((await client.get('/openapi.json')).body)
})
afterAll(() => server.close())

const mebibyte = 1024 * 1024
const json = { 'content-type': 'application/json' }

interface Sent {
  path?: string
  body?: string | Buffer | undefined
  headers?: Record<string, string | string[]>
}

const endingSessions = ['/v1/user/logout', '/v1/auth/sessions', '/v1/auth/sessions/{session_id}']

/**
 * Sends exactly these bytes as path and body. Uses a separate session if the operation could end the session.
 */
async function send({ method, path }: Operation, sent: Sent): Promise<{ status: number; text: string }> {
  const own = endingSessions.includes(path) ? await registerClient(server.url) : client
  const answer = await request(server.url + (sent.path ?? fill(path, '1')), {
    method: method as 'POST',
    headers: { cookie: own.cookie(), ...sent.headers },
    body: sent.body ?? null,
  })
  const text = await answer.body.text()
  const isJson = /json/.test(String(answer.headers['content-type']))
  assertDocumented(
    method,
    sent.path ?? path,
    answer.statusCode,
    isJson && text !== '' ? JSON.parse(text) : text,
  )
  return { status: answer.statusCode, text }
}

function fill(path: string, value: string): string {
  return path.replaceAll(/\{[^}]+\}/g, value)
}

function expectClientError(operation: Operation, what: string, answer: { status: number; text: string }) {
  const label = `${operation.method} ${operation.path}, ${what}: ${answer.status} ${answer.text.slice(0, 200)}`
  expect(answer.status >= 400 && answer.status < 500, label).toBe(true)
  expect(answer.text, label).not.toMatch(/ {4}at |node_modules|postgres|SELECT|insert into/)
}

function expectNoServerError(operation: Operation, what: string, answer: { status: number; text: string }) {
  const label = `${operation.method} ${operation.path}, ${what}: ${answer.status} ${answer.text.slice(0, 200)}`
  expect(answer.status, label).toBeGreaterThanOrEqual(200)
  expect(answer.status, label).toBeLessThan(500)
}

describe('bodies', () => {
  const deep = (open: string, middle: string, close: string) =>
    open.repeat(10_000) + middle + close.repeat(10_000)

  const unreadable: [what: string, body: string | Buffer][] = [
    ['a brace', '{'],
    ['a word', 'hello'],
    ['a single-quoted object', "{'a':1}"],
    ['an unclosed nesting of 10,000 levels', '['.repeat(10_000)],
    ['a NUL byte', '\0'],
    ['UTF-16', Buffer.from('{"a":1}', 'utf16le')],
    ['a __proto__ key', '{"__proto__":{"role":"admin"}}'],
    ['a deep __proto__ key', '{"a":[{"b":{"__proto__":null}}]}'],
    ['a constructor.prototype key', '{"constructor":{"prototype":{"role":"admin"}}}'],
  ]
  test.each(unreadable)('%s: a client error', async (what, body) => {
    for (const operation of operations.filter(({ bodyFields }) => bodyFields !== null)) {
      expectClientError(operation, what, await send(operation, { body, headers: json }))
    }
  })

  test('no body: a client error where one is required', async () => {
    for (const operation of operations.filter(({ bodyFields }) => bodyFields !== null)) {
      const expectAnswer = operation.description.requestBody.required
        ? expectClientError
        : expectNoServerError
      expectAnswer(operation, 'no body', await send(operation, { body: '', headers: json }))
    }
  })

  const misshapen: [what: string, body: string | Buffer][] = [
    ['null', 'null'],
    ['true', 'true'],
    ['a number', '1e400'],
    ['a string', '"x"'],
    ['a list', '[]'],
    ['an empty object', '{}'],
    ['10,000 nested lists', deep('[', '', ']')],
    ['10,000 nested objects', deep('{"a":', '1', '}')],
    ['a byte order mark', '\uFEFF{}'],
    ['invalid UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])],
    ['2 MiB of text', `{"a":"${'x'.repeat(2 * mebibyte)}"}`],
    ['50,000 unknown fields', `{${Array.from({ length: 50_000 }, (_, n) => `"k${n}":${n}`).join()}}`],
  ]
  test.each(misshapen)('%s: no server error', async (what, body) => {
    for (const operation of operations.filter(({ method }) => method !== 'GET')) {
      expectNoServerError(operation, what, await send(operation, { body, headers: json }))
    }
  })

  const values: [what: string, value: string][] = [
    ['null', 'null'],
    ['a number', '12345678'],
    ['a huge number', '1e308'],
    ['a boolean', 'true'],
    ['a list', '["a@example.com"]'],
    ['an object', '{"toString":"x","length":9,"__proto":1}'],
    ['an empty string', '""'],
    ['spaces', '"        "'],
    ['NUL', String.raw`"aaaa\u0000@example.com"`],
    ['a lone surrogate', String.raw`"aaaaaaaa\ud83d@example.com"`],
    ['500,000 characters', `"${'x'.repeat(500_000)}"`],
    ['10,000 levels', deep('{"a":', '1', '}')],
  ]
  test.each(values)('%s in every field, and in each field alone: no server error', async (what, value) => {
    for (const operation of operations) {
      const fields = operation.bodyFields ?? []
      const bodies = [fields, ...fields.map((field) => [field])].map(
        (names) => `{${names.map((field) => `${JSON.stringify(field)}:${value}`).join()}}`,
      )
      for (const body of fields.length === 0 ? [] : bodies) {
        expectNoServerError(operation, what, await send(operation, { body, headers: json }))
      }
    }
  })

  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
    'application/json2',
    '/',
    ';;',
  ])('content type %s: a client error', async (type) => {
    for (const operation of operations.filter(({ bodyFields }) => bodyFields !== null)) {
      const answer = await send(operation, { body: '{}', headers: { 'content-type': type } })
      expectClientError(operation, type, answer)
    }
  })

  test('an unexpected content encoding: no server error', async () => {
    for (const operation of operations.filter(({ bodyFields }) => bodyFields !== null)) {
      const headers = { ...json, 'content-encoding': 'gzip' }
      expectNoServerError(operation, 'gzip', await send(operation, { body: '{}', headers }))
    }
  })
})

describe('addresses', () => {
  const hostileText = [
    '%00',
    'a%00b',
    '%ED%A0%BD',
    '%zz',
    '%',
    '%C0%AF',
    '..%2F..%2F',
    "'%3B--",
    '%F0%9F%9A%A2',
  ]
  const numbers = [
    '0',
    '-1',
    '1e9',
    '1e400',
    '0x10',
    '9007199254740993',
    '99999999999999999999',
    '1.5',
    'NaN',
  ]
  const long = 'x'.repeat(12_000)
  const named = (texts: string[]) => texts.map((text): [string, string] => [text.slice(0, 30), text])
  const ids = [...hostileText, ...numbers, long, '__proto__', 'constructor', '%20', '.']

  test.each(named(ids))('an id %s: a client error', async (_name, id) => {
    for (const operation of operations.filter(({ path }) => path.includes('{'))) {
      const path = fill(operation.path, id)
      const answer = await send(operation, {
        path,
        body: operation.bodyFields && '{}',
        headers: json,
      } as Sent)
      expectClientError(operation, path, answer)
    }
  })

  test.each(named([...hostileText, ...numbers, '', 'abc', long]))(
    'a query value %s: no server error',
    async (_name, value) => {
      for (const operation of operations.filter(({ method }) => method === 'GET')) {
        const queries = [
          `unknown=${value}&__proto__=${value}&a[b]=${value}`,
          ...operation.queryParameters.flatMap((name) => [
            `${name}=${value}`,
            `${name}=${value}&${name}=${value}`,
          ]),
        ]
        for (const query of queries) {
          const path = `${fill(operation.path, '1')}?${query}`
          expectNoServerError(operation, path.slice(0, 200), await send(operation, { path }))
        }
      }
    },
  )

  const badPages = ['0', '501', '1e9', '-1', '1e2', '0x10', 'abc', '', '1.5', '%201', '+5', '1%00', '９']
  test.each([
    ...badPages.map((limit) => `limit=${limit}`),
    ...['-1', '9007199254740993', '1e2', '0x10', 'abc', '', '1.0', '99999999999999999999'].map(
      (offset) => `offset=${offset}`,
    ),
    'limit=1&limit=2',
    'limit=1&offset=0&offset=0',
  ])('GET /api/v1/model-deployments?%s: a 422', async (query) => {
    const answer = await client.get(`/api/v1/model-deployments?${query}`)
    expect(answer.status).toBe(422)
    const [field = ''] = /offset$|limit$/.exec(query.slice(0, query.lastIndexOf('='))) ?? []
    expect(answer.body.errors).toMatchObject([{ location: 'query', field }])
  })

  test.each(['limit=1', 'limit=500', 'limit=007', 'offset=0', 'offset=9007199254740991', 'other=1', '&&=&'])(
    'GET /api/v1/model-deployments?%s: a 200',
    async (query) => {
      expect((await client.get(`/api/v1/model-deployments?${query}`)).status).toBe(200)
    },
  )
})

describe('methods', () => {
  test('HEAD returns the same as GET without a body, except where a GET starts something', async () => {
    for (const operation of operations.filter(({ method }) => method === 'GET')) {
      const get = await send(operation, {})
      const head = await send({ ...operation, method: 'HEAD' }, {})
      const status = operation.path.startsWith('/v1/sso/') && head.status === 405 ? 405 : get.status
      expect(head, operation.path).toEqual({ status, text: '' })
    }
  })

  test.each(['OPTIONS', 'TRACE', 'PUT', 'PROPFIND', 'LOCK'])(
    '%s is a 405 where no operation has it',
    async (method) => {
      const taken = new Set(operations.filter((each) => each.method === method).map(({ path }) => path))
      for (const operation of operations.filter(({ path }) => !taken.has(path))) {
        // The tus protocol asks for OPTIONS.
        if (method === 'OPTIONS' && operation.path === '/api/v1/model-uploads') continue
        const answer = await send({ ...operation, method }, {})
        expect(answer.status, operation.path).toBe(405)
      }
    },
  )
})

test('1,000 cookies: no server error', async () => {
  const cookie = Array.from({ length: 1_000 }, (_, index) => `c${index}=%zz`).join('; ')
  const answer = await createClient(server.url).request('GET', '/v1/auth/session', undefined, { cookie })
  expect(answer.status).toBe(401)
})

test('afterwards the server is healthy and its log contains no 500', async () => {
  expect((await client.get('/healthz')).status).toBe(200)
  expect(server.logs.filter((line) => line.includes('"request failed"'))).toEqual([])
})
