import { expect, it } from 'vitest'
import type { Deployment } from '../../contract.ts'
import { listTargets, nameTargets, toDeploymentId, toSampleModel } from './targets.ts'

const toDeployment = (fields: Partial<Deployment>) =>
  ({
    id: 'mdep-1',
    model_name: 'tiny',
    alias: null,
    model_format: 'ggufv2',
    model_size_in_billions: 7,
    quantization: 'Q4_K_M',
    inference_model_uid: 'uid-1',
    status: 'running',
    owner: { user_id: '1', name: 'Ada', email: 'ada@example.com' },
    adapters: [
      { model_id: 'a', model_name: 'polite', rank: 4, weight_bytes: 1, ready: true },
      { model_id: 'b', model_name: 'terse', rank: 4, weight_bytes: 1, ready: false },
    ],
    ...fields,
  }) as Deployment

it('lists each adapter after its deployment; one that the engine lacks is starting', () => {
  const listed = listTargets([toDeployment({}), toDeployment({ id: 'mdep-2', status: 'sleeping' })])
  expect(listed.map(({ id, status }) => [id, status])).toEqual([
    ['mdep-1', 'running'],
    ['mdep-1:polite', 'running'],
    ['mdep-1:terse', 'deploying'],
    ['mdep-2', 'sleeping'],
    ['mdep-2:polite', 'sleeping'],
    ['mdep-2:terse', 'sleeping'],
  ])
  expect(listed.slice(0, 2).map(toSampleModel)).toEqual(['uid-1', 'uid-1:polite'])
  expect(listed.slice(0, 2).map(({ id }) => toDeploymentId(id))).toEqual(['mdep-1', 'mdep-1'])
})

it('names an adapter after its base, with the owner and a shortened id where they are needed', () => {
  const one = toDeployment({})
  expect(nameTargets(listTargets([one]), 1).get('mdep-1:polite')).toBe('tiny:polite · 7B GGUF Q4_K_M')
  const other = toDeployment({ id: 'mdep-2' })
  expect(nameTargets(listTargets([one, other]), 2).get('mdep-1:polite')).toBe(
    'tiny:polite · 7B GGUF Q4_K_M · shared by Ada · …mdep-1',
  )
  const named = listTargets([toDeployment({ alias: 'assistant' })])
  expect(nameTargets(named, 1).get('mdep-1:polite')).toBe('assistant:polite · tiny · 7B GGUF Q4_K_M')
  expect(named.slice(0, 2).map(toSampleModel)).toEqual(['assistant', 'assistant:polite'])
})
