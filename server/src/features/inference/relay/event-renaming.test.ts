import fc from 'fast-check'
import { expect, test } from 'vitest'
import { EventRenaming } from './event-renaming.ts'
import { ModelRenaming } from './model-renaming.ts'

const name = 'Qwen "2"'
const open = (path: [string, ...string[]] = ['model']) =>
  new EventRenaming(new ModelRenaming('dep-1', name, path), 'delta"')
const toEvents = (documents: readonly string[]) => documents.map((each) => `data: ${each}\n\n`).join('')

/** The orders in which engines write the members of an event. */
const shapes = {
  'vLLM, SGLang': (text: string, created: number) =>
    JSON.stringify({ id: 'a', created, model: 'dep-1', choices: [{ delta: { content: text } }] }),
  'llama-server': (text: string, created: number) =>
    JSON.stringify({ choices: [{ delta: { content: text } }], created, model: 'dep-1', object: 'chunk' }),
}

test.each(Object.entries(shapes))(
  'the model is renamed in each event of %s, and the events are counted',
  (_engine, compose) => {
    const texts = ['a', '"model":"dep-1"', '},"model":"dep-1"}\n', 'data: {"id":"a"', 'b'.repeat(99)]
    const documents = texts.flatMap((text) => [compose(text, 1), compose(text, 1), compose(text, 2)])
    const expected = documents.map((each) => ({ ...JSON.parse(each), model: name }))
    for (const size of [1, 2, documents.length]) {
      const renaming = open()
      const renamed = Array.from({ length: Math.ceil(documents.length / size) }, (_, index) =>
        renaming.inEvents(toEvents(documents.slice(index * size, (index + 1) * size))),
      ).join('')
      expect(parse(renamed)).toEqual(expected)
      expect(renaming.chunks).toBe(documents.length)
    }
  },
)

test('a member of an inner object keeps its name, also where the text around it is the same', () => {
  const documents = [
    '{"model":"dep-1","a":{}}',
    '{"a":{"model":"dep-1"},"model":"dep-1"}',
    '{"a":{"a":[],"model":"dep-1"},"b":{"model":"dep-1"}}',
    '{"a":[],"model":"dep-1"}',
    '{"a":[{"a":[],"model":"dep-1"}]}',
  ]
  const expected = documents.map((each) => {
    const document = JSON.parse(each) as { model?: string }
    return document.model === undefined ? document : { ...document, model: name }
  })
  for (const order of [documents, documents.toReversed()]) {
    const renaming = open()
    const renamed = order.map((each) => renaming.inEvents(toEvents([each]))).join('')
    expect(parse(renamed)).toEqual(order === documents ? expected : expected.toReversed())
    expect(parse(open().inEvents(toEvents(order)))).toEqual(parse(renamed))
  }
})

test('anchors change nothing of what a search for each name gives', () => {
  const value = fc.oneof(
    fc.constantFrom<unknown>('dep-1', '"model":"dep-1"', { model: 'dep-1' }, [{}]),
    fc.jsonValue(),
  )
  const document = fc.dictionary(fc.constantFrom('model', 'id', 'x', 'a"model'), value, { maxKeys: 3 })
  const event = fc.oneof(
    fc
      .tuple(document, fc.nat(2))
      .map(([each, indent]) => `data: ${JSON.stringify(each, null, indent).replaceAll('\n', ' ')}`),
    fc.constantFrom(
      ': "model":"dep-1"',
      'data: [DONE]',
      'data: {"model":"dep-1"',
      'event: x\ndata: {"model":"dep-1"}',
    ),
  )
  const paths = fc.constantFrom<[string, ...string[]]>(['model'], ['x', 'model'])
  fc.assert(
    fc.property(paths, fc.array(fc.array(event, { maxLength: 5 }), { maxLength: 5 }), (path, batches) => {
      const renaming = open(path)
      const plain = new ModelRenaming('dep-1', name, path)
      for (const batch of batches) {
        const events = batch.map((each) => `${each}\n\n`).join('')
        expect(renaming.inEvents(events)).toBe(plain.inEvents(events))
      }
    }),
  )
})

function parse(events: string): unknown[] {
  return events
    .trimEnd()
    .split('\n\n')
    .map((event) => JSON.parse(event.slice('data: '.length)))
}
