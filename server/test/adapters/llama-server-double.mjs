// Follows the command line, the routes and the output of llama-server, as its README documents them.
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { parseArgs } from 'node:util'

if (process.argv.includes('--version')) {
  process.stderr.write('version: 10964 (0123abc)\nbuilt with a double\n')
  process.exit(0)
}
const text = { type: 'string' }
const flag = { type: 'boolean' }
const { values } = parseArgs({
  options: {
    model: text,
    mmproj: text,
    'no-mmproj': flag,
    alias: text,
    'ctx-size': text,
    parallel: text,
    'n-gpu-layers': text,
    device: text,
    threads: text,
    host: text,
    port: text,
    metrics: flag,
    embeddings: flag,
    'batch-size': text,
    'ubatch-size': text,
    'cache-ram': text,
    jinja: flag,
    'reasoning-format': text,
  },
})
const key = process.env.LLAMA_API_KEY
process.stderr.write(
  `load_model: loading model '${String(values.model)}' on ${process.env.CUDA_VISIBLE_DEVICES ?? 'any GPU'}\n`,
)
if (readFileSync(values.model).toString('latin1', 0, 4) !== 'GGUF' || values.model.endsWith('/bad.gguf')) {
  process.stderr.write(`error loading model: invalid magic\n`)
  process.exit(1)
}
if (values.model.endsWith('/stubborn.gguf')) process.on('SIGTERM', () => {})
if (values.model.endsWith('/worker.gguf')) {
  const worker = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { env: {}, stdio: 'ignore' })
  process.stderr.write(`worker ${worker.pid}\n`)
}
if (values.model.endsWith('/no-gpu.gguf')) {
  process.stderr.write('warning: no usable GPU found, --gpu-layers option will be ignored\n')
}
let isLoading = true
setTimeout(() => (isLoading = false), 100)

createServer((request, response) => {
  const send = (status, body) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  if (isLoading)
    return send(503, { error: { code: 503, message: 'Loading model', type: 'unavailable_error' } })
  if (request.url === '/health') return send(200, { status: 'ok' })
  if (request.headers.authorization !== `Bearer ${key}`) {
    return send(401, { error: { code: 401, message: 'Invalid API Key', type: 'authentication_error' } })
  }
  if (request.url === '/v1/models') return send(200, { object: 'list', data: [{ id: values.alias }] })
  if (request.url === '/exit') process.exit(9)
  send(200, {
    model: values.alias,
    choices: [{ message: { role: 'assistant', content: `pid ${process.pid}` } }],
  })
}).listen(Number(values.port), values.host)
