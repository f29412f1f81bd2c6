import { execFile } from 'node:child_process'
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestServer } from '../../server/test/support/server.ts'
import { useConsole } from './support/console.ts'
import { addAuthenticator, deployByApi, createPerson, registerByApi, see } from './support/steps.ts'

const run = promisify(execFile)
const root = resolve(import.meta.dirname, '../..')
const site = useConsole(startTestServer)

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-samples-'))
  // Where `npm install openai` puts the package.
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

type Language = 'curl' | 'Python' | 'JavaScript'

/** Runs a sample as a reader would, in its own folder, and resolves to what it prints. */
async function runSample(language: Language, code: string, cookie: string, python = ''): Promise<string> {
  const name = { curl: 'sample.sh', Python: 'sample.py', JavaScript: /\w+\.mjs/.exec(code)?.[0] ?? '' }[
    language
  ]
  expect(name).not.toBe('')
  await writeFile(join(folder, name), code)
  const program = { curl: 'sh', Python: python, JavaScript: process.execPath }[language]
  const env = { PATH: process.env.PATH, BERTH_COOKIE: cookie }
  const { stdout } = await run(program, [name], { cwd: folder, env })
  return stdout
}

/**
 * Creates a session for scripts on the open page, and resolves to the cookie in the command that it shows.
 */
async function createSession(page: Page, password: string): Promise<string> {
  await page.getByRole('button', { name: 'Create a session for scripts' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill('Samples')
  await dialog.getByLabel('Password', { exact: true }).fill(password)
  await dialog.getByRole('button', { name: 'Create session' }).click()
  const command = await page.locator('pre[aria-label="Command that sets BERTH_COOKIE"]').textContent()
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'I have copied it' }).click()
  const { stdout } = await run('sh', ['-c', `${command}\nprintf %s "$BERTH_COOKIE"`])
  return stdout
}

/** What the samples print that the console shows for a chat model, an embedding model and the playground. */
async function runSamples(page: Page, language: Language, password: string, python?: string) {
  const [chat, embedding] = [await deployByApi(page), await deployByApi(page, 'berth-tiny-embedding')]
  const outputs: string[] = []
  await page.goto(`/deployments/${chat}`)
  const cookie = await createSession(page, password)
  const add = async (show: () => Promise<unknown>, label: string) => {
    await show()
    await page.getByRole('radio', { name: language, exact: true }).click()
    const code = await page.locator(`pre[aria-label="${label}"]`).textContent()
    outputs.push(await runSample(language, code ?? '', cookie, python))
  }
  for (const id of [chat, embedding]) {
    await add(() => page.goto(`/deployments/${id}`), `${language} code`)
  }
  await add(async () => {
    await page.goto(`/playground?deployment=${chat}`)
    await page.getByRole('textbox', { name: 'Message' }).fill('What is 2 plus 3?')
    await page.getByRole('button', { name: 'View code' }).click()
  }, language)
  return outputs
}

async function checkSamples(language: Language, python?: string): Promise<void> {
  const { page } = await site.visit()
  const person = createPerson()
  await registerByApi(page, person)
  await addAuthenticator(page, person)
  const [greeting = '', vectors = '', sum = ''] = await runSamples(page, language, person.password, python)
  expect(greeting).not.toBe('')
  expect(vectors).toMatch(/-?0\.\d{3}/)
  expect(sum).toMatch(language === 'curl' ? /"content":/ : /5/)
}

describe('the samples of the console run as shown, for an account with a second factor', () => {
  test('curl', () => checkSamples('curl'))
  test('JavaScript', () => checkSamples('JavaScript'))
  test.runIf(process.env.TEST_PYTHON_SAMPLES)('Python, with the newest client', async () => {
    const environment = join(folder, 'python')
    await run('python3', ['-m', 'venv', environment])
    const python = join(environment, 'bin/python')
    await run(python, ['-m', 'pip', 'install', '--quiet', 'openai'])
    await checkSamples('Python', python)
  })
})

test('a model page shows a curl command that runs', async () => {
  const { page } = await site.visit()
  const person = createPerson()
  await registerByApi(page, person)
  await deployByApi(page)
  await page.goto('/catalog/berth-tiny')
  const code = page.locator('pre').filter({ hasText: 'curl' })
  await see(code)
  const cookie = await createSession(page, person.password)
  expect(await runSample('curl', (await code.textContent()) ?? '', cookie)).toContain('"content":')
})
