import { createServer } from 'node:http'
import type { RequestListener } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { expect, onTestFinished, test } from 'vitest'
import { createCertificate } from '../../../test/support/certificate.ts'
import { listen } from '../../../test/support/listen.ts'
import { readProxy } from '../../config/proxy.ts'
import { startForwardProxy } from '../../../test/support/forward-proxy.ts'
import type { ResolveAll } from '../../base/outgoing-addresses.ts'
import { createWriteBatch } from '../../gateway/write-batch.ts'
import { createUpstreamClient } from '../../gateway/upstream-client/client.ts'
import { openOutside } from './open-outside.ts'
import type { OutsideRules } from './open-outside.ts'

const timeouts = { connect: 2_000, firstByte: 2_000, idle: 2_000 }
const proxy = readProxy({})
const loopback = { networks: ['127.0.0.0/8'], certificates: null, proxy }

const always =
  (address: string): ResolveAll =>
  (_hostname, _options, callback) =>
    callback(null, [{ address, family: 4 }])

/** Sends a request, and resolves to the body or the error. */
function ask(origin: string, rules: OutsideRules, ...more: [resolveAll?: ResolveAll]) {
  const client = createUpstreamClient(timeouts, createWriteBatch(), openOutside(rules, ...more))
  onTestFinished(() => client.close())
  const send = () => {
    const { promise, resolve } = Promise.withResolvers<{ body: string } | { error: unknown }>()
    let body = ''
    const request = { path: '/', streams: false, requestId: 'r', traceparent: null, body: '{}' }
    client.send(
      origin,
      { ...request, authorization: 'secret', keyHeader: 'api-key' },
      {
        onHead: () => null,
        onBody: (bytes) => void (body += bytes.toString()),
        onEnd: () => resolve({ body }),
        onError: (error) => resolve({ error: error.cause ?? error }),
      },
    )
    return promise
  }
  return { send }
}

async function serve(
  answer: RequestListener,
  keys?: { key: string; cert: string },
): Promise<{ port: number; seen: unknown[] }> {
  const seen: unknown[] = []
  const listener: RequestListener = (request, response) => {
    seen.push([request.headers['api-key'], request.headers['user-agent'], request.headers.authorization])
    answer(request, response)
  }
  const server = keys === undefined ? createServer(listener) : createHttpsServer(keys, listener)
  const port = await listen(server)
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { port, seen }
}

test('a key goes in its header to an allowed address, by name and by number', async () => {
  const { port, seen } = await serve((_request, response) => response.end('fine'))
  for (const host of ['127.0.0.1', 'localhost']) {
    expect(await ask(`http://${host}:${port}`, loopback).send(), host).toEqual({ body: 'fine' })
  }
  expect(seen).toEqual([
    ['secret', 'Berth', undefined],
    ['secret', 'Berth', undefined],
  ])
})

test('an address that is not allowed gets no connection', async () => {
  const { port, seen } = await serve((_request, response) => response.end())
  const strict = { ...loopback, networks: ['10.0.0.0/8'] }
  for (const host of ['127.0.0.1', 'localhost', '127.1', '[::ffff:127.0.0.1]']) {
    const { origin } = new URL(`http://${host}:${port}`)
    expect(await ask(origin, strict).send(), host).toEqual({
      error: expect.objectContaining({ message: expect.stringContaining('not allowed') }),
    })
  }
  expect(seen).toEqual([])
})

test('each connection goes to the address that was checked, also if the name has another one later', async () => {
  const { port, seen } = await serve((_request, response) =>
    response.writeHead(200, { connection: 'close' }).end('fine'),
  )
  const addresses = ['127.0.0.1', '169.254.169.254']
  const lookups: string[] = []
  const { send } = ask(`http://llm.example.com:${port}`, loopback, (hostname, _options, callback) => {
    lookups.push(hostname)
    callback(null, [{ address: addresses[lookups.length - 1]!, family: 4 }])
  })
  expect(await send()).toEqual({ body: 'fine' })
  expect(await send()).toEqual({
    error: expect.objectContaining({ message: expect.stringContaining('not allowed') }),
  })
  expect([lookups.length, seen.length]).toEqual([2, 1])
})

test('certificates are checked, with those of the operator', async () => {
  const keys = await createCertificate(['localhost'])
  const { port } = await serve((_request, response) => response.end('fine'), keys)
  const origin = `https://localhost:${port}`
  expect(await ask(origin, loopback).send()).toEqual({
    error: expect.objectContaining({ code: 'DEPTH_ZERO_SELF_SIGNED_CERT' }),
  })
  expect(await ask(origin, { ...loopback, certificates: keys.cert }).send()).toEqual({ body: 'fine' })
  const other = await createCertificate(['other.example.com'])
  const { port: otherPort } = await serve((_request, response) => response.end(), other)
  expect(
    await ask(`https://localhost:${otherPort}`, { ...loopback, certificates: other.cert }).send(),
  ).toEqual({
    error: expect.objectContaining({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' }),
  })
})

test('a proxy gets the address that was checked, and the server proves its name', async () => {
  const keys = await createCertificate(['localhost.example.com'])
  const { port, seen } = await serve((_request, response) => response.end('x'.repeat(100_000)), keys)
  const forward = await startForwardProxy({ http: port, https: port })
  onTestFinished(() => forward.close())
  const rules = { ...loopback, certificates: keys.cert, proxy: readProxy({ https: forward.url }) }
  const { send } = ask(`https://localhost.example.com:${port}`, rules, always('127.0.0.1'))
  for (let count = 0; count < 2; count += 1) expect(await send()).toEqual({ body: 'x'.repeat(100_000) })
  expect([new Set(forward.targets), seen.length]).toEqual([new Set([`CONNECT 127.0.0.1:${port}`]), 2])
  await forward.close()
  const { send: sendAgain } = ask(`https://localhost.example.com:${port}`, rules, always('127.0.0.1'))
  expect(await sendAgain()).toEqual({ error: expect.objectContaining({ code: 'ECONNREFUSED' }) })
  const { send: sendInside } = ask(`https://localhost.example.com:${port}`, rules, always('10.0.0.1'))
  expect(await sendInside()).toEqual({
    error: expect.objectContaining({ message: expect.stringContaining('not allowed') }),
  })
})
