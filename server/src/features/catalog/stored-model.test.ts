import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { readCatalogFile } from './sources/file.ts'
import { parseStoredModel, parseStoredVariant, serializeModel, serializeVariant } from './stored-model.ts'

const { models } = readCatalogFile(fileURLToPath(new URL('../../../../catalog/models.yaml', import.meta.url)))
const id = 'some-id'
const { gated: _gated, ...variant } = models[0]!.default
const stored = JSON.parse(serializeVariant(variant)) as object

test('every model of the shipped catalog survives storage, and so does its default variant', () => {
  for (const model of models) {
    expect(parseStoredModel({ id, entry: JSON.parse(serializeModel(model)) })).toEqual(model)
    const { gated: _, ...chosen } = model.default
    expect(parseStoredVariant({ id, variant: JSON.parse(serializeVariant(chosen)) })).toEqual(chosen)
  }
})

test('fields that the server doesn’t know are dropped', () => {
  expect(parseStoredVariant({ id, variant: { ...stored, color: 'blue' } })).toEqual(variant)
})

test('a newer version is an error that names the row', () => {
  const newer = { ...stored, version: 2, weights: 'elsewhere' }
  const message = 'has version 2, but this server reads up to version 1. Start the release that wrote it.'
  expect(() => parseStoredVariant({ id, variant: newer })).toThrow(
    `the variant of the deployment some-id ${message}`,
  )
  expect(() => parseStoredModel({ id, entry: newer })).toThrow(`the entry of the model some-id ${message}`)
})

test.each([
  ['a missing field', { ...stored, format: undefined }, 'format'],
  ['a field of another type', { ...stored, weights: { kind: 'file', path: 1 } }, 'weights.path'],
  ['no version', { ...stored, version: undefined }, 'version'],
  ['no object', 'text', 'expected object'],
])('%s is an error that names the row and the field', (_case, invalid, field) => {
  const parse = () => parseStoredVariant({ id, variant: invalid })
  expect(parse).toThrow('the variant of the deployment some-id is invalid:')
  expect(parse).toThrow(field)
})
