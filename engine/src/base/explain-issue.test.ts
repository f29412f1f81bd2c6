import { expect, test } from 'vitest'
import { z } from 'zod'
import { parseBody } from './parse-body.ts'

const schema = z.object({
  text: z.string().max(3).nullish(),
  whole: z.int().min(1).nullish(),
  part: z.number().positive().max(2).nullish(),
  flag: z.boolean().nullish(),
  list: z
    .array(z.object({ name: z.string() }))
    .max(2)
    .nullish(),
  map: z.record(z.string(), z.unknown()).nullish(),
  mode: z.enum(['auto', 'none', 'required']).nullish(),
  only: z.literal('function').nullish(),
  format: z
    .discriminatedUnion('type', [
      z.object({ type: z.literal('text') }),
      z.object({ type: z.literal('json_object') }),
    ])
    .nullish(),
  either: z.union([z.string(), z.array(z.string())], 'must be a text or a list of texts').nullish(),
})

test.each([
  [{ text: 7 }, 'text: must be a text.'],
  [{ text: 'long' }, 'text: must have at most 3 characters.'],
  [{ whole: 1.5 }, 'whole: must be a whole number.'],
  [{ whole: 'x' }, 'whole: must be a number.'],
  [{ whole: 0 }, 'whole: must be at least 1.'],
  [{ part: 0 }, 'part: must be more than 0.'],
  [{ part: 3 }, 'part: must be at most 2.'],
  [{ flag: 'yes' }, 'flag: must be true or false.'],
  [{ list: {} }, 'list: must be a list.'],
  [{ list: [7] }, 'list.0: must be an object.'],
  [{ list: [{}] }, 'list.0.name: is required.'],
  [{ list: [{ name: 'a' }, { name: 'b' }, { name: 'c' }] }, 'list: must have at most 2 items.'],
  [{ map: [] }, 'map: must be an object.'],
  [{ mode: 'some' }, 'mode: must be auto, none or required.'],
  [{ only: 'custom' }, 'only: must be function.'],
  [{ format: { type: 'xml' } }, 'format.type: must be text or json_object.'],
  [{ format: {} }, 'format.type: must be text or json_object.'],
  [{ either: 7 }, 'either: must be a text or a list of texts.'],
  [7, 'The request body must be a JSON object.'],
])('%j: %s', (body, message) => {
  expect(() => parseBody(schema, body)).toThrow(message)
})
