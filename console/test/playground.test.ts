import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  lastChunk,
  startMisbehavingEngine,
  streamHead,
  toChunk,
} from '../../server/test/support/misbehaving-engine.ts'
import type { MisbehavingEngine } from '../../server/test/support/misbehaving-engine.ts'
import { createScriptedRuntime } from '../../server/test/support/scripted-runtime.ts'
import { startTestServer } from '../../server/test/support/server.ts'
import { useConsole } from './support/console.ts'
import { deployByApi, createPerson, registerByApi, see } from './support/steps.ts'

let engine: MisbehavingEngine
beforeAll(async () => {
  engine = await startMisbehavingEngine()
})
afterAll(() => engine.close())

const site = useConsole(() => startTestServer({ runtime: createScriptedRuntime(engine.url) }))

const piece = (content: string) =>
  toChunk(`data: ${JSON.stringify({ choices: [{ delta: { content }, finish_reason: null }] })}\n\n`)

const finish =
  toChunk(`data: ${JSON.stringify({ choices: [{ delta: {}, finish_reason: 'stop' }] })}\n\n`) + lastChunk

async function openPlayground() {
  const visitor = await site.visit()
  const { page } = visitor
  await registerByApi(page, createPerson())
  const id = await deployByApi(page)
  await page.goto(`/playground?deployment=${id}`)
  await page.getByRole('textbox', { name: 'Message' }).fill('Tell me a story.')
  return { ...visitor, send: () => page.getByRole('button', { name: 'Send' }).click() }
}

test('stopping an answer keeps the received text and cancels the request at the engine', async () => {
  const { page, send } = await openPlayground()
  engine.answer((socket) => socket.write(streamHead + piece('Once upon ') + piece('a time')))
  await send()
  await see(page.getByText('Once upon a time'))
  await page.getByRole('button', { name: 'Stop' }).click()
  await see(page.getByText('Stopped.', { exact: true }))
  await see(page.getByText('about 2 tokens out'))
  await see(page.getByRole('status').getByText('The answer was stopped.'))
  await see(page.getByText('Once upon a time'))
  await expect.poll(() => engine.last().ended).toBe(true)
  expect(JSON.parse(engine.last().body)).toMatchObject({ stream: true })

  engine.answer((socket) => socket.write(`${streamHead}${piece('Another story.')}${finish}`))
  await page.getByRole('button', { name: 'Regenerate' }).click()
  await see(page.getByText('Another story.'))
  expect(await page.getByText('Once upon a time').count()).toBe(0)
})

test('a long conversation scrolls inside its box, never the page', async () => {
  const { page, send } = await openPlayground()
  const message = page.getByRole('textbox', { name: 'Message' })
  for (let turn = 1; turn <= 10; turn += 1) {
    const answer = Array.from({ length: 10 }, (_, line) => `Line ${line} of answer ${turn}.`).join('\n\n')
    engine.answer((socket) => socket.write(streamHead + piece(answer) + finish))
    await message.fill(`Question ${turn}`)
    await send()
    await see(page.getByText(`Line 9 of answer ${turn}.`))
  }
  const overflow = await page.evaluate(() => document.documentElement.scrollHeight - innerHeight)
  expect(overflow).toBe(0)
})

test('an answer that ends early keeps the received text and offers a retry', async () => {
  const { page, send, allowPageErrors } = await openPlayground()
  allowPageErrors(/ERR_INCOMPLETE_CHUNKED_ENCODING|status of 50\d/)
  let breakOff = () => {}
  engine.answer((socket) => {
    socket.write(streamHead + piece('Once upon '))
    breakOff = () => socket.end()
  })
  await send()
  await see(page.getByText('Once upon'))
  breakOff()
  await see(page.getByText('The connection was lost before the answer finished.'))
  await see(page.getByText('Once upon'))
  engine.answer((socket) => socket.write(`${streamHead}${piece('All of it.')}${finish}`))
  await page.getByRole('button', { name: 'Try again' }).click()
  await see(page.getByText('All of it.'))
})

test('a reload keeps the conversation and the draft, and another person does not see them', async () => {
  const { page, send } = await openPlayground()
  engine.answer((socket) => socket.write(`${streamHead}${piece('Once upon a time')}`))
  await send()
  await see(page.getByText('Once upon a time'))
  await page.getByRole('textbox', { name: 'Message' }).fill('And then?')
  await page.reload()
  await see(page.getByText('Tell me a story.'))
  await see(page.getByText('Once upon a time'))
  expect(await page.getByRole('textbox', { name: 'Message' }).inputValue()).toBe('And then?')

  await registerByApi(page, createPerson())
  await deployByApi(page)
  await page.goto('/playground')
  await see(page.getByRole('button', { name: 'What is 27 + 15?' }))
  expect(await page.getByText('Tell me a story.').count()).toBe(0)
})

test('the prompts that the catalog suggests for the model fill in the message', async () => {
  const { page } = await openPlayground()
  await page.getByRole('button', { name: 'What is 27 + 15?' }).click()
  expect(await page.getByRole('textbox', { name: 'Message' }).inputValue()).toBe('What is 27 + 15?')
})

test('a person enters the result of a tool call, and the model answers with it', async () => {
  const { page, send } = await openPlayground()
  const tools = [{ type: 'function', function: { name: 'find_ship', parameters: { type: 'object' } } }]
  await page.getByLabel('Tools').fill('[{}]')
  await see(page.getByText('Enter a JSON array of functions, each with a name.'))
  await page.getByLabel('Tools').fill(JSON.stringify(tools))
  const called = { index: 0, id: 'call_7', function: { name: 'find_ship', arguments: '{"name":"Argo"}' } }
  const call = toChunk(`data: ${JSON.stringify({ choices: [{ delta: { tool_calls: [called] } }] })}\n\n`)
  engine.answer((socket) => socket.write(streamHead + call + finish))
  await send()
  await see(page.getByText('Calls find_ship'))
  expect(JSON.parse(engine.last().body)).toMatchObject({ tools })

  engine.answer((socket) => socket.write(`${streamHead}${piece('It is in berth 4.')}${finish}`))
  await page.getByLabel('Result of find_ship').fill('berth 4')
  await page.getByRole('button', { name: 'Send the result' }).click()
  await see(page.getByText('It is in berth 4.'))
  expect(JSON.parse(engine.last().body).messages).toMatchObject([
    { role: 'user', content: 'Tell me a story.' },
    { role: 'assistant', tool_calls: [{ id: 'call_7', type: 'function', function: called.function }] },
    { role: 'tool', tool_call_id: 'call_7', content: 'berth 4' },
  ])
})

test('a message to a model that reads images has the chosen and the dropped ones', async () => {
  const { page, send } = await openPlayground()
  expect(await page.getByRole('button', { name: 'Add images' }).count()).toBe(0)
  await page.route('**/deployable-models?model_type=LLM', async (route) => {
    const response = await route.fetch()
    const { items } = (await response.json()) as { items: { tags: string[] }[] }
    await route.fulfill({ response, json: { items: items.map((one) => ({ ...one, tags: ['vision'] })) } })
  })
  await page.reload()
  await see(page.getByRole('button', { name: 'Add images' }))
  const chosen = page.getByLabel('Images', { exact: true })
  const notes = { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('no image') }
  await chosen.setInputFiles(notes)
  await see(page.getByText('The browser cannot read this file as an image.'))
  const bytes = await page.evaluate(async () => {
    const canvas = Object.assign(document.createElement('canvas'), { width: 2_048, height: 4 })
    return canvas.toDataURL('image/png').split(',')[1] ?? ''
  })
  const ship = { name: 'ship.png', mimeType: 'image/png', buffer: Buffer.from(bytes, 'base64') }
  await chosen.setInputFiles([ship, ship])
  await see(page.getByRole('img', { name: 'Image 2' }))
  await page.getByRole('button', { name: 'Remove image 2' }).click()
  const size = (image: SVGElement | HTMLElement) => (image as HTMLImageElement).naturalWidth
  expect(await page.getByRole('img', { name: 'Image 1' }).evaluate(size)).toBe(1_024)

  await page.getByRole('textbox', { name: 'Message' }).evaluate((field, content) => {
    const data = new DataTransfer()
    const binary = Uint8Array.from(atob(content), (one) => one.charCodeAt(0))
    data.items.add(new File([binary], 'ship.png', { type: 'image/png' }))
    field.dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }))
  }, bytes)
  await see(page.getByRole('img', { name: 'Image 2' }))
  engine.answer((socket) => socket.write(`${streamHead}${piece('Two ships.')}${finish}`))
  await send()
  await see(page.getByText('Two ships.'))
  const image = { type: 'image_url', image_url: { url: expect.stringMatching(/^data:image\/jpeg;base64,/) } }
  expect(JSON.parse(engine.last().body).messages).toEqual([
    { role: 'user', content: [{ type: 'text', text: 'Tell me a story.' }, image, image] },
  ])
})

test('a reranking deployment opens the form that ranks documents', async () => {
  const { page } = await openPlayground()
  await page.route('**/model-deployments?scope=callable*', async (route) => {
    const response = await route.fetch()
    const { items, ...rest } = (await response.json()) as { items: object[] }
    await route.fulfill({
      response,
      json: { ...rest, items: items.map((one) => ({ ...one, model_type: 'rerank' })) },
    })
  })
  let asked: unknown
  await page.route('**/v1/rerank', (route) => {
    asked = route.request().postDataJSON()
    const results = [
      { index: 1, relevance_score: 0.9 },
      { index: 0, relevance_score: -0.2 },
    ]
    return route.fulfill({ json: { id: '1', model: 'm', results, usage: null } })
  })
  await page.reload()
  await page.getByLabel('Query', { exact: true }).fill('Where is the Argo?')
  await page.getByLabel('Documents', { exact: true }).fill('A desert\n\nBerth 4')
  await page.getByRole('button', { name: 'Rank' }).click()
  const ranked = page.getByRole('status').getByRole('listitem')
  await see(ranked.first().getByText('Berth 4'))
  await see(ranked.first().getByText('0.90'))
  await see(ranked.last().getByText('A desert'))
  expect(asked).toMatchObject({ query: 'Where is the Argo?', documents: ['A desert', 'Berth 4'] })
  await page.getByRole('button', { name: 'View code' }).click()
  await see(page.getByRole('dialog').getByText('/v1/rerank'))
})

test('an answer shows formulas, highlighted code and the direction of its script', async () => {
  const { page, send } = await openPlayground()
  const rich = [
    String.raw`The roots are \(x_1\) and $x_2$ for $5 and $10:`,
    String.raw`\[ x = \frac{-b \pm \sqrt{b^2 - 4ac}}{2a} \]`,
    '```python\ndef add(a, b):\n    return a + b  # 1\n```',
    'שלום עולם',
  ].join('\n\n')
  engine.answer((socket) => socket.write(`${streamHead}${piece(rich)}${finish}`))
  await send()
  const answer = page.getByRole('article')
  await see(answer.locator('.katex-display .mfrac'))
  expect(await answer.locator('.katex').count()).toBe(3)
  await see(answer.getByText('for $5 and $10:'))
  await see(answer.locator('pre .hljs-keyword', { hasText: 'def' }))
  const direction = (element: Element) => getComputedStyle(element).direction
  expect(await answer.getByText('שלום עולם').evaluate(direction)).toBe('rtl')
  expect(await answer.getByText('The roots are').evaluate(direction)).toBe('ltr')
  await page.getByRole('textbox', { name: 'Message' }).fill('שלום')
  expect(await page.getByRole('textbox', { name: 'Message' }).evaluate(direction)).toBe('rtl')
})

test('an answer renders as Markdown without HTML, images or javascript: links', async () => {
  const { page, send } = await openPlayground()
  const hostile =
    '**bold** <img src=x onerror="document.title=1"> [link](javascript:alert(1)) <script>alert(1)</script>'
  engine.answer((socket) => socket.write(`${streamHead}${piece(hostile)}${finish}`))
  await send()
  await see(page.locator('strong', { hasText: 'bold' }))
  const conversation = page.getByRole('main')
  expect(await conversation.locator('img, script').count()).toBe(0)
  await see(conversation.getByText('link'))
  expect(await conversation.getByRole('article').locator('a').count()).toBe(0)
})

test('the code sample of an embedding deployment calls /v1/embeddings even if its model was disabled', async () => {
  const { page } = await site.visit()
  await registerByApi(page, createPerson())
  const id = await deployByApi(page, 'berth-tiny-embedding')
  const { db } = site.server.application
  await db
    .updateTable('deployable_models')
    .set({ enabled: false })
    .where('model_name', '=', 'berth-tiny-embedding')
    .execute()
  await page.goto(`/deployments/${id}?tab=use`)
  await see(page.getByText('/v1/embeddings'))
})
