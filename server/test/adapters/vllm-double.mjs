// Follows `vllm serve`: it listens only after it has loaded the folder of weights and compiled for it.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

const text = { type: 'string' }
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    'served-model-name': text,
    host: text,
    port: text,
    'max-model-len': text,
    'max-num-seqs': text,
    'tensor-parallel-size': text,
    'gpu-memory-utilization': text,
    'allowed-media-domains': text,
    dtype: text,
    quantization: text,
    'enable-prompt-tokens-details': { type: 'boolean' },
  },
})
const [command, model] = positionals
if (command !== 'serve') throw new Error(`unknown command ${command}`)
JSON.parse(readFileSync(join(model, 'config.json'), 'utf8'))
if (!readdirSync(model).some((name) => name.endsWith('.safetensors'))) throw new Error('no weights found')
const cache = join(process.env.VLLM_CACHE_ROOT, 'torch_compile_cache')
console.log(existsSync(cache) ? 'Directly load the compiled graph from the cache' : 'Compiling a graph')
console.log(`offline ${process.env.HF_HUB_OFFLINE}, GPUs ${process.env.CUDA_VISIBLE_DEVICES}`)
mkdirSync(cache, { recursive: true })
writeFileSync(join(cache, 'graph'), 'compiled')

createServer((request, response) => {
  const isOpen = request.url === '/health'
  const isAllowed = isOpen || request.headers.authorization === `Bearer ${process.env.VLLM_API_KEY}`
  response.writeHead(isAllowed ? 200 : 401, { 'content-type': 'application/json' })
  response.end(
    isOpen ? '' : JSON.stringify({ data: [{ id: values['served-model-name'] }], args: process.argv }),
  )
}).listen(Number(values.port), values.host)
