import { readFileSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { readGgufFileInfo } from 'node-llama-cpp'
import { expect, test } from 'vitest'
import { parse } from 'yaml'

interface CatalogEntry {
  id: string
  context_length: number
  sizes: { billions: number; architecture: Record<string, number> }[]
}

const pathOf = (name: string): string =>
  fileURLToPath(new URL(`../../../catalog/weights/${name}.gguf`, import.meta.url))
const catalog = parse(readFileSync(new URL('../../../catalog/models.yaml', import.meta.url), 'utf8')) as {
  models: CatalogEntry[]
}

test('both files together are smaller than 8 MiB', () => {
  const sizes = ['berth-tiny', 'berth-tiny-embedding'].map((name) => statSync(pathOf(name)).size)
  expect(sizes[0]! + sizes[1]!).toBeLessThan(8 * 1024 * 1024)
})

test.each(['berth-tiny', 'berth-tiny-embedding'])('the catalog knows what %s is', async (name) => {
  const { metadata, fullTensorInfo } = await readGgufFileInfo(pathOf(name))
  const { tokenizer } = metadata
  const llama = metadata.llama!
  const sizes = fullTensorInfo!.map(({ dimensions }) => dimensions.map(Number))
  const entry = catalog.models.find(({ id }) => id === name)!
  expect(entry.context_length).toBe(llama.context_length)
  expect(entry.sizes[0]!.architecture).toEqual({
    parameters: sizes.reduce((sum, shape) => sum + shape.reduce((product, size) => product * size, 1), 0),
    layers: llama.block_count,
    hidden_size: llama.embedding_length,
    attention_heads: llama.attention.head_count,
    kv_heads: llama.attention.head_count_kv,
    head_dim: llama.rope.dimension_count,
    vocabulary_size: tokenizer.ggml.tokens.length,
  })
})

test('berth-tiny has a context of 1024 tokens or more and a chat template with tools', async () => {
  const { metadata } = await readGgufFileInfo(pathOf('berth-tiny'))
  expect(metadata.llama!.context_length).toBeGreaterThanOrEqual(1024)
  expect(metadata.tokenizer.chat_template).toContain('tools')
})
