// A server of node:http alone, which holds requests with their bodies: what Node itself needs for each.
import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

const held: [ServerResponse, Buffer[]][] = []
const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => held.push([response, chunks]))
})
server.listen(0, '127.0.0.1', () => process.send!({ port: (server.address() as AddressInfo).port }))
process.on('message', (message) => {
  if (message === 'held') process.send!({ held: held.length })
})
