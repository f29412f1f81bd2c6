import { request as sendHttp } from 'node:http'
import { request as sendHttps } from 'node:https'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'

/**
 * Opens a way through an HTTP proxy to `target`, such as `192.0.2.1:443`. The socket is the server's once the
 * proxy says so.
 */
export function openThroughProxy(proxy: string, target: string): Promise<Socket> {
  const { protocol, username, password, hostname, port } = new URL(proxy)
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  const { promise, resolve, reject } = Promise.withResolvers<Socket>()
  const isSecure = protocol === 'https:'
  const connecting = (isSecure ? sendHttps : sendHttp)({
    method: 'CONNECT',
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: port === '' ? (isSecure ? 443 : 80) : Number(port),
    path: target,
    agent: false,
    headers: {
      host: target,
      ...(username === ''
        ? {}
        : { 'proxy-authorization': `Basic ${Buffer.from(credentials).toString('base64')}` }),
    },
  })
  connecting
    .once('connect', ({ statusCode }, socket, rest) => {
      if (statusCode !== 200) {
        socket.destroy()
        return reject(new Error(`the proxy responded with ${statusCode}`))
      }
      if (rest.length > 0) socket.unshift(rest)
      resolve(socket)
    })
    // A proxy that does not know the method
    .once('response', (response) => {
      response.destroy()
      reject(new Error(`the proxy responded with ${response.statusCode}`))
    })
    .once('error', reject)
    .end()
  return promise
}

/** A socket that is still being opened. Emits `connect`. */
export class OpeningSocket extends Duplex {
  #socket: Socket | null = null

  constructor(opening: Promise<Socket>) {
    super()
    opening.then(
      (socket) => this.#attach(socket),
      (error: Error) => this.destroy(error),
    )
  }

  #attach(socket: Socket): void {
    if (this.destroyed) return void socket.destroy()
    this.#socket = socket
    socket
      .on('data', (bytes: Buffer) => {
        if (!this.push(bytes)) socket.pause()
      })
      .on('end', () => this.push(null))
      .on('error', (error) => this.destroy(error))
      .on('close', () => this.destroy())
    this.emit('connect')
  }

  #whenOpen(act: (socket: Socket) => void): void {
    const socket = this.#socket
    if (socket !== null) act(socket)
    else this.once('connect', () => act(this.#socket!))
  }

  setNoDelay(): this {
    this.#socket?.setNoDelay(true)
    return this
  }

  override _read(): void {
    this.#socket?.resume()
  }

  override _write(bytes: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#whenOpen((socket) => socket.write(bytes, done))
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#whenOpen((socket) => socket.end(done))
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket?.destroy()
    done(error)
  }
}
