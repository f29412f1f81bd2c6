import { expect, test } from 'vitest'
import { describeDeployment, findIdSuffixes, nameDeployment, toRequestModel } from './names.ts'

const variant = { model_format: 'ggufv2', model_size_in_billions: 0.5, quantization: 'Q4_K_M' }
const one = { ...variant, id: '0199-aaaa11', model_name: 'one', alias: null }

test('only deployments of the same name and variant get an id suffix', () => {
  const names = findIdSuffixes([
    one,
    { ...one, id: '0199-bbbb22' },
    { ...one, id: '0199-cccc33', quantization: 'Q8_0' },
    { ...one, id: '0199-dddd44', model_name: 'other' },
    { ...one, id: '0199-eeee55', alias: 'assistant' },
  ])
  expect([...names.values()]).toEqual(['…aaaa11', '…bbbb22', '', '', ''])
})

test('an alias is the name of a deployment and the model of requests; its model is then told beside it', () => {
  const uid = { inference_model_uid: 'dep-1' }
  expect([nameDeployment(one), describeDeployment(one), toRequestModel({ ...one, ...uid })]).toEqual([
    'one',
    '0.5B GGUF Q4_K_M',
    'dep-1',
  ])
  const named = { ...one, alias: 'assistant' }
  expect([nameDeployment(named), describeDeployment(named), toRequestModel({ ...named, ...uid })]).toEqual([
    'assistant',
    'one · 0.5B GGUF Q4_K_M',
    'assistant',
  ])
})
