import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { readCatalogFile } from './catalog-file.ts'

it('reads the catalog that comes with Berth', () => {
  const path = fileURLToPath(new URL('../../../../catalog/models.yaml', import.meta.url))
  expect(readCatalogFile(path).models[0]?.modelName).toBe('berth-tiny')
})
