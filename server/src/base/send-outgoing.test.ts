import { createServer as createHttpServer } from 'node:http'
import type { RequestListener } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { expect, onTestFinished, test } from 'vitest'
import { createCertificate } from '../../test/support/certificate.ts'
import { listen } from '../../test/support/listen.ts'
import { readProxy } from '../config/proxy.ts'
import { UnreachableAddressError } from './outgoing-addresses.ts'
import { sendOutgoing } from './send-outgoing.ts'

const loopback = ['127.0.0.0/8', '::1/128']

async function serve(answer: RequestListener, keys?: { key: string; cert: string }): Promise<URL> {
  const server = keys === undefined ? createHttpServer(answer) : createHttpsServer(keys, answer)
  const port = await listen(server)
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return new URL(`${keys === undefined ? 'http' : 'https'}://localhost:${port}/`)
}

const send = (
  url: URL,
  more: { certificates?: string; networks?: string[]; timeoutMilliseconds?: number },
) => {
  const { networks = loopback, timeoutMilliseconds = 5_000, ...rest } = more
  const request = { url, method: 'GET', headers: {}, networks, maxBytes: 1_000, ...rest } as const
  return sendOutgoing(request, { proxy: readProxy({}), timeoutMilliseconds })
}

test('a redirect is an answer, and is not followed', async () => {
  const seen: unknown[] = []
  const url = await serve((request, response) => {
    seen.push(request.url)
    response.writeHead(302, { location: '/secret' }).end()
  })
  expect(await send(url, {})).toMatchObject({ status: 302, end: 'complete' })
  expect(seen).toEqual(['/'])
})

test('loopback, by name and by address, gets no request without its network', async () => {
  const seen: unknown[] = []
  const url = await serve((request, response) => {
    seen.push(request.url)
    response.end()
  })
  for (const host of ['localhost', '127.0.0.1', '127.1', '[::ffff:127.0.0.1]']) {
    const target = new URL(`http://${host}:${url.port}/`)
    await expect(send(target, { networks: ['10.0.0.0/8'] }), host).rejects.toBeInstanceOf(
      UnreachableAddressError,
    )
  }
  expect(seen).toEqual([])
  expect(await send(url, {})).toMatchObject({ status: 200 })
})

test('a certificate that nobody vouches for ends the connection, unless the operator trusts it', async () => {
  const keys = await createCertificate(['localhost'])
  const url = await serve((_request, response) => response.end('fine'), keys)
  await expect(send(url, {})).rejects.toMatchObject({ code: 'DEPTH_ZERO_SELF_SIGNED_CERT' })
  const { body } = await send(url, { certificates: keys.cert })
  expect(body.toString()).toBe('fine')
  const other = new URL(`https://127.0.0.1:${url.port}/`)
  await expect(send(other, { certificates: keys.cert })).rejects.toMatchObject({
    code: 'ERR_TLS_CERT_ALTNAME_INVALID',
  })
})

test('a long, a slow and a broken body end within the limits', async () => {
  const long = await serve((_request, response) => response.end('x'.repeat(1_000_000)))
  const cut = await send(long, {})
  expect([cut.end, cut.body.length]).toEqual(['too_long', 1_000])
  const slow = await serve((_request, response) => {
    response.write('a')
  })
  expect(await send(slow, { timeoutMilliseconds: 300 })).toMatchObject({ end: 'broken' })
  const broken = await serve((request, response) => {
    response.writeHead(200, { 'content-length': 10 }).write('half')
    setImmediate(() => request.socket.destroy())
  })
  expect(await send(broken, {})).toMatchObject({ status: 200, end: 'broken' })
})
