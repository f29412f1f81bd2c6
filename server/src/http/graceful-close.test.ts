import { once } from 'node:events'
import { connect } from 'node:net'
import type { AddressInfo } from 'node:net'
import Fastify from 'fastify'
import { expect, onTestFinished, test, vi } from 'vitest'
import { prepareClose } from './graceful-close.ts'

test('a server that stops closes connections without a request, and completes the request in flight', async () => {
  const app = Fastify()
  const arrived = Promise.withResolvers<void>()
  const released = Promise.withResolvers<string>()
  app.get('/held', () => {
    arrived.resolve()
    return released.promise
  })
  app.get('/', () => 'answered')
  const close = prepareClose(app, 600_000)
  await app.listen({ host: '127.0.0.1', port: 0 })
  onTestFinished(() => app.server.closeAllConnections())

  const open = async (request: string) => {
    const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1').setEncoding('utf8')
    let received = ''
    socket.on('data', (text: string) => (received += text))
    await once(socket, 'connect')
    socket.write(request)
    return { socket, closed: once(socket, 'close').then(() => received) }
  }
  const silent = await open('')
  const used = await open('GET / HTTP/1.1\r\nhost: berth\r\n\r\n')
  await once(used.socket, 'data')
  const busy = await open('GET /held HTTP/1.1\r\nhost: berth\r\n\r\n')
  await arrived.promise

  const stopped = close()
  expect(await silent.closed).toBe('')
  expect(await used.closed).toContain('answered')
  released.resolve('held')
  expect(await busy.closed).toContain('held')
  await stopped
})

test('two seconds before a stop closes all connections, open requests can still be answered', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const app = Fastify()
  const arrived = Promise.withResolvers<void>()
  const released = Promise.withResolvers<string>()
  app.get('/held', () => {
    arrived.resolve()
    return released.promise
  })
  const onEnding = vi.fn(() => released.resolve('stopping'))
  const close = prepareClose(app, 30_000, onEnding)
  await app.listen({ host: '127.0.0.1', port: 0 })
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1').setEncoding('utf8')
  let received = ''
  socket.on('data', (text: string) => (received += text))
  socket.write('GET /held HTTP/1.1\r\nhost: berth\r\n\r\n')
  await arrived.promise
  const stopped = close()
  await vi.advanceTimersByTimeAsync(27_999)
  expect(onEnding).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(1)
  expect(onEnding).toHaveBeenCalledOnce()
  await once(socket, 'close')
  expect(received).toContain('stopping')
  await stopped
})
