import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import type { RuntimeEngine } from '../../ports/runtime-engine.ts'
import { engines } from '../../../test/support/engines.ts'
import { readCatalogFile } from './sources/file.ts'
import { findEngineIncompatibility, listServedTags } from './engine-choice.ts'

const { models } = readCatalogFile(fileURLToPath(new URL('../../../../catalog/models.yaml', import.meta.url)))
const vision = models.filter(({ tags }) => tags.includes('vision'))
const { vllm, llamaCpp, embedded } = engines

test('vision is claimed only where an engine accepts images: vLLM, and llama-server with a projector', () => {
  const claiming = (engines: RuntimeEngine[]) =>
    vision.filter((model) => listServedTags(model, engines).includes('vision')).map(({ id }) => id)
  expect(vision).toHaveLength(16)
  expect(claiming([embedded])).toEqual([])
  expect(claiming([llamaCpp])).toEqual(['qwen3.6', 'qwen3.5', 'qwen3-vl-instruct', 'gemma-4', 'gemma-3-it'])
  expect(claiming([vllm, llamaCpp])).toEqual(vision.map(({ id }) => id))
  for (const model of vision) {
    expect(listServedTags(model, [embedded])).toEqual(model.tags.filter((tag) => tag !== 'vision'))
  }
})

test.each([
  ['0.16.9', '0.17.0', false],
  ['0.17.0', '0.17.0', true],
  ['0.100.0', '0.17.0', true],
  ['1.0.0', '0.17.0', true],
  [null, '0.17.0', true],
])('vLLM %s for a model that needs %s: %s', (version, minimumVersion, fits) => {
  const variant = { ...vision[0]!.default, engines: { vllm: { minimumVersion } } }
  const reason = findEngineIncompatibility(variant, { ...vllm, version })
  expect(reason).toBe(
    fits ? null : `vLLM ${version} is too old for this model, which needs ${minimumVersion} or later`,
  )
})

test('llama.cpp has build numbers', () => {
  const variant = { ...vision[0]!.default, engines: { llamaCpp: { minimumVersion: '10964' } } }
  expect(findEngineIncompatibility(variant, llamaCpp)).toBeNull()
  expect(findEngineIncompatibility(variant, { ...llamaCpp, version: '9128' })).toBe(
    'llama.cpp b9128 is too old for this model, which needs b10964 or later',
  )
})
