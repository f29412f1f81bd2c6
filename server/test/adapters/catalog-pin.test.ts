import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { readCatalogFile } from '../../src/features/catalog/sources/file.ts'
import { commit, runCatalogTool, startHub } from './hub-double.ts'
import type { HubRepository } from './hub-double.ts'

/** What the double of the Hub has: repositories and their revisions. */
const repositories: Record<string, HubRepository> = {
  'a/chat-GGUF@main': { digit: '1', files: { 'chat-q4_0.gguf': 1, 'chat-q8_0.gguf': 1, 'eyes.gguf': 1 } },
  'a/chat@main': { digit: '2', files: { 'config.json': 1, 'model.safetensors': 1 } },
  'a/chat-Int4@v2': { digit: '3', files: { 'config.json': 1, 'model.safetensors': 1 } },
  'a/chat-Int8@v2': { digit: '4', files: { 'config.json': 1, 'model.safetensors': 1 } },
  'a/block@main': { digit: '5', files: { 'config.json': 1, 'pytorch_model.bin': 1 } },
  'a/empty@main': { digit: '6', files: { 'config.json': 1 } },
  'a/other-GGUF@main': { digit: '7', files: { 'other.gguf': 1 } },
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
  const hub = await startHub(repositories, { fails: (attempt) => attempt === 1 })
  const run = await runCatalogTool('catalog-pin', text, hub.origin)
  return { hub, ...run, pinned: await readFile(run.file, 'utf8') }
}

test('npm run catalog:pin: pins repositories that have their files, names the others, changes nothing else, and retries', async () => {
  const { hub, file, run, pinned } = await runPin(catalog)
  expect(run).toMatchObject({ code: 1, stdout: expect.stringContaining('Pinned 4 of 7 sources') })
  expect(run.stderr).toContain('a/empty has no weights.')
  expect(run.stderr).toContain('a/other-GGUF has no missing.gguf, eyes.gguf.')
  expect(run.stderr).toContain(
    'a/gated: the Hub answered 401. It does not exist, or HF_TOKEN must be of a user who accepted its license.',
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
