import { expect, test } from 'vitest'
import { variants } from '../../console/src/text/variants.ts'
import { formatNames } from '../../server/src/base/format-names.ts'

test('the server and the console call model formats by the same names', () => {
  expect(variants.formatNames).toEqual(formatNames)
})
