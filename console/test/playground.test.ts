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
