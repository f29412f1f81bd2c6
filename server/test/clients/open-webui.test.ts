import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import getPort from 'get-port'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import type { Page } from 'playwright-core'
import { launchBrowser, openVisitor } from '../../../console/test/support/browser.ts'
import type { Running } from '../../../cli/test/support/command.ts'
import { askOpenWebUi, openWebUiEnvironment } from './support/open-webui.ts'
import { signIn } from './support/signed-in.ts'
import type { SignedIn } from './support/signed-in.ts'

let started: SignedIn
let folder: string
let launched: Running
let url: string

/** Starts Open WebUI by `berth launch`, without its own accounts and without downloads. */
beforeAll(async () => {
  started = await signIn()
  folder = await mkdtemp(join(tmpdir(), 'berth-open-webui-'))
  const { env } = started.shell
  Object.assign(env, {
    PATH: `${process.env['TEST_OPEN_WEBUI']}/bin:${env['PATH']}`,
    DATA_DIR: folder,
    WEBUI_AUTH: 'False',
    ...openWebUiEnvironment,
  })
  const port = await getPort({ host: '127.0.0.1' })
  url = `http://127.0.0.1:${port}`
  launched = started.shell.start([
    'launch',
    'open-webui',
    '--',
    '--host',
    '127.0.0.1',
    '--port',
    String(port),
  ])
  await vi.waitUntil(async () => (await fetch(`${url}/health`).catch(() => null))?.ok === true, {
    timeout: 600_000,
    interval: 500,
  })
})
afterAll(async () => {
  launched?.child.kill()
  await launched?.result
  await started?.close()
  await rm(folder, { recursive: true, force: true })
})

interface Usage {
  prompt_tokens: number
  completion_tokens: number
}

const readBill = async (): Promise<Usage & { requests: number }> => {
  const { body } = await started.client.get(`/api/v1/model-deployments/${started.chatId}/usage`)
  return { requests: body.requests, prompt_tokens: body.input_tokens, completion_tokens: body.output_tokens }
}

test('Open WebUI shows the usage of streams as Berth bills it', async () => {
  const signedIn = await askOpenWebUi(url, '/api/v1/auths/signin', { email: '', password: '' })
  const { token } = (await signedIn.json()) as { token: string }
  /** Adds up all usage in a stream, as clients do. */
  const chat = async (more: object): Promise<Usage> => {
    const messages = [{ role: 'user', content: 'Tell me a story about a fox.' }]
    const given = { model: 'berth-tiny', messages, stream: true, ...more }
    const response = await askOpenWebUi(url, '/api/chat/completions', given, token)
    const stream = await response.text()
    expect(response.status, stream).toBe(200)
    const events = stream.split('\n').filter((line) => line.startsWith('data: {'))
    expect(events.length).toBeGreaterThan(5)
    const usages = events.flatMap((line) => (JSON.parse(line.slice(6)) as { usage?: Usage }).usage ?? [])
    const add = (name: keyof Usage) => usages.reduce((sum, usage) => sum + usage[name], 0)
    return { prompt_tokens: add('prompt_tokens'), completion_tokens: add('completion_tokens') }
  }
  const before = await readBill()
  const shown = await chat({ stream_options: { include_usage: true } })
  expect(shown.completion_tokens).toBeGreaterThan(5)
  await expect.poll(readBill).toEqual({
    requests: before.requests + 1,
    prompt_tokens: before.prompt_tokens + shown.prompt_tokens,
    completion_tokens: before.completion_tokens + shown.completion_tokens,
  })
  expect(await chat({})).toEqual({ prompt_tokens: 0, completion_tokens: 0 })
  await expect.poll(async () => (await readBill()).requests).toBe(before.requests + 2)
})

const answers = (page: Page) => page.locator('#response-content-container')

/** Types a message to a chat, and sends it. */
async function send(page: Page, message: string): Promise<void> {
  await page.locator('#chat-input').click()
  await page.keyboard.type(message)
  await page.locator('#send-message-button').click()
}

test('a person chats with a model in Open WebUI, and stops an answer', async () => {
  const { inFlight } = started.server.application.inference
  const browser = await launchBrowser()
  onTestFinished(() => browser.close())
  const { page } = await openVisitor(browser, url)
  await page.goto('/?models=berth-tiny')
  // It shows first what is new.
  const news = page.getByRole('button', { name: "Let's Go!" })
  await page.addLocatorHandler(news, () => news.click())
  await send(page, 'What is 27 + 15?')
  await expect.poll(() => answers(page).last().textContent()).toContain('42')
  await send(page, 'And what is 2 + 3?')
  await expect.poll(() => answers(page).count()).toBe(2)
  await expect.poll(() => answers(page).last().textContent()).toMatch(/\w/)
  await expect.poll(() => inFlight.total).toBe(0)

  await send(page, 'Count from 1 to 500.')
  await expect.poll(() => inFlight.total).toBe(1)
  // At once: a click waits until the button stands still, and the answer may end before that.
  await page.getByRole('button', { name: 'Stop', exact: true }).dispatchEvent('click')
  await expect.poll(() => inFlight.total).toBe(0)
})
