import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { modelAlias, startEngine } from './support/engine.ts'
import type { TestEngine } from './support/engine.ts'

const seeds = [1, 2, 3]

let engine: TestEngine
let client: OpenAI
beforeAll(async () => {
  engine = startEngine()
  client = new OpenAI({ baseURL: `${await engine.ready()}/v1`, apiKey: engine.key, maxRetries: 0 })
})
afterAll(() => engine.stop())

const messages = [{ role: 'user' as const, content: 'Fill in the form.' }]
const ajv = new Ajv2020({ strict: false, logger: false, multipleOfPrecision: 6 })
addFormats.default(ajv)

async function fillForm(schema: object, seed: number): Promise<string> {
  const { choices } = await client.chat.completions.create({
    model: modelAlias,
    messages,
    seed,
    temperature: 1,
    response_format: {
      type: 'json_schema',
      json_schema: { name: 'form', schema: { ...schema }, strict: true },
    },
  })
  expect(choices[0]?.finish_reason).toBe('stop')
  return choices[0]!.message.content!
}

async function callTool(schema: object, seed: number): Promise<string> {
  const { choices } = await client.chat.completions.create({
    model: modelAlias,
    messages,
    seed,
    temperature: 1,
    tool_choice: 'required',
    tools: [{ type: 'function', function: { name: 'form', parameters: { ...schema }, strict: true } }],
  })
  expect(choices[0]?.finish_reason).toBe('tool_calls')
  return (choices[0]!.message.tool_calls as OpenAI.ChatCompletionMessageFunctionToolCall[])[0]!.function
    .arguments
}

/** Wraps a schema into an object, as response_format and tools need it. The limits keep answers short. */
const field = (value: object) => ({
  type: 'object',
  properties: { value },
  required: ['value'],
  additionalProperties: false,
})
const short = { type: 'string', maxLength: 5 }

/** The keywords of OpenAI's structured outputs. */
const keywordSchemas: [string, object][] = [
  [
    'string, number, boolean, integer and null',
    {
      type: 'object',
      properties: {
        text: short,
        number: { type: 'number' },
        flag: { type: 'boolean' },
        count: { type: 'integer' },
        nothing: { type: 'null' },
        maybe: { type: ['boolean', 'null'] },
      },
      required: ['text', 'number', 'flag', 'count', 'nothing', 'maybe'],
      additionalProperties: false,
    },
  ],
  ['enum and const', field({ anyOf: [{ enum: ['a "b"', 'c\\d', 1.5, null] }, { const: { a: [true] } }] })],
  ['pattern', field({ type: 'string', pattern: '^@[a-z_]{3,8}$' })],
  ['a pattern with a lookahead', field({ type: 'string', pattern: '^(?!.*aa)[a-c]{4,8}$' })],
  ['a pattern without anchors', field({ type: 'string', pattern: '[0-9]-[0-9]', maxLength: 8 })],
  ...['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid', 'uri'].map(
    (format): [string, object] => [`format ${format}`, field({ type: 'string', format })],
  ),
  ['multipleOf', field({ type: 'number', multipleOf: 0.25 })],
  ['multipleOf within bounds', field({ type: 'integer', multipleOf: 7, minimum: 100, maximum: 5000 })],
  ['minimum and maximum', field({ type: 'integer', minimum: -12, maximum: 123 })],
  ['minimum and maximum of decimals', field({ type: 'number', minimum: -0.5, maximum: 1.25 })],
  [
    'exclusiveMinimum and exclusiveMaximum',
    field({ type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 1 }),
  ],
  ['minItems and maxItems', field({ type: 'array', items: { type: 'boolean' }, minItems: 2, maxItems: 3 })],
  [
    'anyOf of objects',
    field({
      anyOf: [
        field({ type: 'boolean' }),
        {
          type: 'object',
          properties: { n: { type: 'integer' } },
          required: ['n'],
          additionalProperties: false,
        },
      ],
    }),
  ],
  [
    '$ref to $defs',
    {
      ...field({ $ref: '#/$defs/step' }),
      $defs: { step: field({ type: 'integer', maximum: 9 }) },
    },
  ],
  [
    '$ref to the older definitions',
    {
      ...field({ $ref: '#/definitions/step' }),
      definitions: { step: { type: 'boolean' } },
    },
  ],
  [
    '$ref to a property',
    {
      type: 'object',
      properties: { 'a/b': { type: 'integer', minimum: 5, maximum: 7 }, c: { $ref: '#/properties/a~1b' } },
      required: ['a/b', 'c'],
      additionalProperties: false,
    },
  ],
  [
    '$ref to the root',
    {
      type: 'object',
      properties: {
        leaf: { type: 'boolean' },
        children: { type: 'array', items: { $ref: '#' }, maxItems: 1 },
      },
      required: ['leaf', 'children'],
      additionalProperties: false,
    },
  ],
  [
    'allOf',
    {
      ...field({ allOf: [{ $ref: '#/$defs/low' }, { maximum: 12 }] }),
      $defs: { low: { type: 'integer', minimum: 10 } },
    },
  ],
]

const zod = (schema: z.ZodType): object => z.toJSONSchema(z.object({ value: schema }))
const zodSchemas: [string, object][] = [
  ['z.number().int()', zod(z.number().int())],
  ['z.string().email()', zod(z.string().email())],
  ['z.email()', zod(z.email())],
  ['z.uuid()', zod(z.uuid())],
  ['z.iso.date()', zod(z.iso.date())],
  ['z.iso.datetime()', zod(z.iso.datetime())],
  ['z.iso.duration()', zod(z.iso.duration())],
  ['z.ipv4() and z.ipv6()', zod(z.object({ four: z.ipv4(), six: z.ipv6() }))],
  ['z.hostname()', zod(z.hostname())],
  ['z.int().min(1).max(5).optional()', zod(z.int().min(1).max(5).optional())],
  ['z.string().startsWith().endsWith()', zod(z.string().startsWith('a').endsWith('z').max(8))],
  ['z.tuple()', zod(z.tuple([z.boolean(), z.int()]))],
  ['z.record() of an enum', zod(z.record(z.enum(['x', 'y']), z.boolean()))],
  [
    'z.discriminatedUnion()',
    zod(
      z.discriminatedUnion('kind', [
        z.object({ kind: z.literal('a'), on: z.boolean() }),
        z.object({ kind: z.literal('b'), level: z.int().max(9) }),
      ]),
    ),
  ],
]

test.each([
  ['uniqueItems', { type: 'array', items: { type: 'boolean' }, minItems: 2, maxItems: 2, uniqueItems: true }],
  ['not', { type: 'boolean', not: { const: true } }],
  ['format', { type: 'string', maxLength: 3, format: 'iban' }],
])('without strict, "%s" is ignored, and the rest of the schema is kept', async (keyword, value) => {
  const rest = Object.fromEntries(Object.entries(value).filter(([name]) => name !== keyword))
  const { choices } = await client.chat.completions.create({
    model: modelAlias,
    messages,
    seed: 1,
    response_format: { type: 'json_schema', json_schema: { name: 'form', schema: field(value) } },
  })
  const matches = ajv.compile(field(rest))
  expect([matches(JSON.parse(choices[0]!.message.content!)), matches.errors]).toEqual([true, null])
})

describe.each([
  { place: 'response_format', ask: fillForm },
  { place: 'tools', ask: callTool },
])('every answer matches the schema in $place', ({ ask }) => {
  test.each([...keywordSchemas, ...zodSchemas])('%s', async (_, schema) => {
    const matches = ajv.compile(schema)
    const answers = await Promise.all(seeds.map((seed) => ask(schema, seed)))
    for (const answer of answers)
      expect([matches(JSON.parse(answer)), answer, matches.errors]).toEqual([true, answer, null])
  })

  test.each([
    ['uniqueItems', { type: 'array', uniqueItems: true }],
    ['not', { not: { type: 'string' } }],
    ['patternProperties', { type: 'object', patternProperties: {} }],
    ['pattern', { type: 'string', pattern: '(a)\\1' }],
    ['format', { type: 'string', format: 'iban' }],
    ['$ref', { $ref: 'https://example.com/schema' }],
    ['oneOf', { oneOf: [{ type: 'number' }, { type: 'integer' }] }],
  ])('rejects an unsupported "%s" by name', async (keyword, schema) => {
    await expect(ask(field(schema), 1)).rejects.toMatchObject({
      status: 400,
      code: 'invalid_json_schema',
      message: expect.stringContaining(keyword) as string,
    })
  })
})
