import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { readCatalogFile } from '../../src/features/catalog/sources/file.ts'
import { makeFolder, startServer } from './local-runtime-support.ts'
import { rm } from 'node:fs/promises'

const commit = (digit: string) => digit.repeat(40)

/** What the double of the Hub has: files by repository and revision, whose commit is made of one digit. */
const repositories: Record<string, { digit: string; files: string[] }> = {
  'a/chat-GGUF/revision/main': { digit: '1', files: ['chat-q4_0.gguf', 'chat-q8_0.gguf', 'eyes.gguf'] },
  'a/chat/revision/main': { digit: '2', files: ['config.json', 'model.safetensors'] },
  'a/chat-Int4/revision/v2': { digit: '3', files: ['config.json', 'model.safetensors'] },
  'a/chat-Int8/revision/v2': { digit: '4', files: ['config.json', 'model.safetensors'] },
  'a/block/revision/main': { digit: '5', files: ['config.json', 'pytorch_model.bin'] },
  'a/empty/revision/main': { digit: '6', files: ['config.json'] },
  'a/other-GGUF/revision/main': { digit: '7', files: ['other.gguf'] },
}

const catalog = `models:
  - id: chat
    model_name: chat
    display_name: Chat
    provider: A
    family: chat
    model_type: LLM
    description: A model. # keep this comment
    license: mit
    context_length: 4096
    engines: { llama_cpp: { projector: eyes.gguf } }
    sizes:
      - billions: 1
        variants:
          - format: ggufv2
            quantizations: [Q4_0, Q8_0]
            weights: { huggingface: a/chat-GGUF, file: "chat-{quantization_lower}.gguf" }
          - { format: pytorch, quantizations: [none], weights: { huggingface: a/chat, revision: "${commit('0')}" } }
          - { format: gptq, quantizations: [Int4, Int8], weights: { huggingface: "a/chat-{quantization}", revision: v2 } }
          - format: awq
            quantizations: [Int4]
            weights:
              huggingface: a/block
              gated: true
          - { format: fp8, quantizations: [fp8], weights: { huggingface: a/empty } }
      - billions: 2
        variants:
          - { format: ggufv2, quantizations: [Q8_0], weights: { huggingface: a/other-GGUF, file: missing.gguf } }
      - billions: 3
        variants:
          - { format: pytorch, quantizations: [none], weights: { huggingface: a/gated } }
    default: { format: pytorch, billions: 1, quantization: none }
`

async function runPin(text: string) {
  const hub = await startServer((request, response) => {
    if (hub.requests.length === 1) return void response.writeHead(503).end()
    const found = repositories[(request.url ?? '').replace('/api/models/', '')]
    if (found === undefined) return void response.writeHead(401).end()
    const siblings = found.files.map((rfilename) => ({ rfilename }))
    response.end(JSON.stringify({ sha: commit(found.digit), siblings }))
  })
  const folder = await makeFolder()
  onTestFinished(() => rm(folder, { recursive: true }))
  const file = join(folder, 'models.yaml')
  await writeFile(file, text)
  const program = resolve(import.meta.dirname, '../../../scripts/catalog-pin.ts')
  const env = {
    PATH: process.env.PATH ?? '',
    HF_ENDPOINT: hub.origin,
    HF_TOKEN: 'hf_secret',
    CATALOG_FILE: file,
  }
  const run = await promisify(execFile)(process.execPath, [program], { env, timeout: 60_000 }).catch(
    (error: unknown) => error as { code: number; stdout: string; stderr: string },
  )
  return { hub, file, run, pinned: await readFile(file, 'utf8') }
}

test('npm run catalog:pin: pins repositories that have their files, names the others, changes nothing else, and retries', async () => {
  const { hub, file, run, pinned } = await runPin(catalog)
  expect(run).toMatchObject({ code: 1, stdout: expect.stringContaining('Pinned 4 of 7 sources') })
  expect(run.stderr).toContain('a/empty has no weights.')
  expect(run.stderr).toContain('a/other-GGUF has no missing.gguf, eyes.gguf.')
  expect(run.stderr).toContain(
    'a/gated: the Hub answered 401. Accept its license on the Hub, and set HF_TOKEN.',
  )
  expect(hub.requests.every(({ headers }) => headers.authorization === 'Bearer hf_secret')).toBe(true)
  const expected = catalog
    .replace('a/chat-GGUF,', `a/chat-GGUF, revision: "${commit('1')}",`)
    .replace(`"${commit('0')}"`, `"${commit('2')}"`)
    .replace('revision: v2', `revision: { "Int4": "${commit('3')}", "Int8": "${commit('4')}" }`)
    .replace('a/block\n', `a/block\n              revision: "${commit('5')}"\n`)
  expect(pinned).toBe(expected)
  const { variants } = readCatalogFile(file).models[0]!
  expect(variants.map(({ weights }) => weights.kind === 'huggingface' && weights.revision[0])).toEqual([
    '1',
    '1',
    '2',
    '3',
    '4',
    '5',
    'm',
    'm',
    'm',
  ])
})

test('npm run catalog:pin: leaves a catalog with mistakes and one without answers alone', async () => {
  const broken = await runPin(catalog.replace('license: mit', 'licence: mit'))
  expect(broken.run).toMatchObject({ code: 1, stderr: expect.stringContaining('licence') })
  expect(broken.hub.requests).toEqual([])
  const text = catalog.replaceAll('a/', 'unknown/')
  const unknown = await runPin(text)
  expect(unknown.run).toMatchObject({ code: 1, stdout: expect.stringContaining('Pinned 0 of 7 sources') })
  expect(unknown.pinned).toBe(text)
})
