// Node's HTTP server alone: responds directly. Arguments: port, response file.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'

const [, , port, file = ''] = process.argv
const body = readFileSync(file)
const head = { 'content-type': 'application/json', 'content-length': body.length }

createServer((request, response) => {
  request.resume().once('end', () => response.writeHead(200, head).end(body))
}).listen(Number(port), '127.0.0.1')
