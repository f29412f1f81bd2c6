import { expect, test } from 'vitest'
import { findMisfit } from './lora-misfit.ts'
import type { BaseShapes } from './lora-misfit.ts'

type Shape = readonly [columns: number, rows: number]

const at = 'model.layers.1.self_attn'
const base: BaseShapes = new Map([
  ['model.embed_tokens.weight', [64, 1000]],
  [`${at}.q_proj.weight`, [64, 128]],
  [`${at}.k_proj.weight`, [64, 32]],
  ['model.layers.1.mlp.gate.qweight', null],
  ['model.layers.1.mlp.gate.scales', [64, 1]],
  ['vision_tower.encoder.layers.1.self_attn.q_proj.weight', [48, 48]],
])

/** The matrices of a LoRA of rank 4 of these modules, as PEFT writes them. */
function makeLora(modules: Record<string, Shape>, ending = '.weight') {
  return new Map<string, Shape>(
    Object.entries(modules).flatMap(([name, [columns, rows]]): [string, Shape][] => [
      [`base_model.model.${name}.lora_A${ending}`, [columns, 4]],
      [`base_model.model.${name}.lora_B${ending}`, [4, rows]],
    ]),
  )
}

test.each([
  ['other matrices of the same layer', { [`${at}.q_proj`]: [64, 128], [`${at}.k_proj`]: [64, 32] }],
  [
    'a path before the layers that a library names differently',
    {
      'language_model.model.layers.1.self_attn.q_proj': [64, 128],
    },
  ],
  ['a matrix of the vision tower', { 'model.vision_tower.layers.1.self_attn.q_proj': [48, 48] }],
  ['a packed matrix', { 'model.layers.1.mlp.gate': [64, 99] }],
  ['experts, which libraries join', { 'model.layers.1.mlp.experts.0.up_proj': [64, 99] }],
  ['a head that is the embeddings', { lm_head: [64, 1000] }],
] as [string, Record<string, Shape>][])('a LoRA fits with %s', (_, modules) => {
  expect(findMisfit(makeLora(modules), base)).toBeNull()
  expect(findMisfit(makeLora(modules, '.default.weight'), base)).toBeNull()
})

test.each([
  [
    'more layers',
    { 'model.layers.2.self_attn.q_proj': [64, 128] },
    'the model has no layers.2.self_attn.q_proj',
  ],
  ['a matrix that the model lacks', { [`${at}.qkv_proj`]: [64, 128] }, 'has no layers.1.self_attn.qkv_proj'],
  ['other rows', { [`${at}.k_proj`]: [64, 128] }, 'a matrix of 64 × 128, but the model’s is 64 × 32'],
  ['other columns', { [`${at}.q_proj`]: [48, 128] }, 'a matrix of 48 × 128, but the model’s is 64 × 128'],
] as [string, Record<string, Shape>, string][])('a LoRA of %s does not fit', (_, modules, reason) => {
  const fitting = { [`${at}.q_proj`]: [64, 128] as Shape }
  expect(findMisfit(makeLora({ ...fitting, ...modules }), base)).toContain(reason)
})

test('a LoRA whose matrices do not belong together does not fit', () => {
  const lora = makeLora({ [`${at}.q_proj`]: [64, 128] })
  const b = `base_model.model.${at}.q_proj.lora_B.weight`
  expect(findMisfit(new Map(lora).set(b, [8, 128]), base)).toMatch(/different ranks/)
  lora.delete(b)
  expect(findMisfit(lora, base)).toMatch(/no lora_B of model\.layers\.1/)
})

test('GPT-2 stores its matrices the other way around', () => {
  const tensors: BaseShapes = new Map([['h.0.attn.c_attn.weight', [192, 64]]])
  expect(findMisfit(makeLora({ 'transformer.h.0.attn.c_attn': [64, 192] }), tensors)).toBeNull()
})
