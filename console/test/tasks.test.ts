import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import pg from 'pg'
import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestDatabase } from '../../server/test/support/database.ts'
import { openApp } from '../../server/test/support/second-factors.ts'
import { openVisitor } from './support/browser.ts'
import type { Visitor } from './support/browser.ts'
import { useConsole } from './support/console.ts'
import { createKeyboard, createPointer } from './support/hands.ts'
import type { Hand } from './support/hands.ts'
import { addDevice } from './support/passkeys.ts'
import { invoice } from './support/scenes.ts'
import { startConsoleServer } from './support/server.ts'
import {
  addAuthenticator,
  callByApi,
  createPerson,
  deployByApi,
  heading,
  joinByApi,
  registerByApi,
  see,
  seeGone,
  waitForStatus,
} from './support/steps.ts'
import type { Person } from './support/steps.ts'

let databaseUrl = ''
const site = useConsole(async () => {
  const database = await createTestDatabase('migrated')
  databaseUrl = database.url
  const server = await startConsoleServer({ DATABASE_URL: databaseUrl })
  return { ...server, close: () => server.close().then(() => database.drop()) }
})

const path = '/api/v1/model-deployments'
const tinyFile = resolve(import.meta.dirname, '../../catalog/weights/berth-tiny.gguf')

const button = (page: Page | Locator, name: string | RegExp) =>
  page.getByRole('button', { name, exact: true })
const link = (page: Page, name: string) => page.getByRole('link', { name, exact: true })
const tab = (page: Page, name: string) => page.getByRole('tab', { name, exact: true })
const dialog = (page: Page) => page.getByRole('dialog')
const passwordIn = (scope: Page | Locator) => scope.getByLabel('Password', { exact: true })

/** Nothing listens there: the Hub is out of reach. */
const withoutHub = { HF_ENDPOINT: 'http://127.0.0.1:9' }
const hands = { pointer: createPointer, keyboard: createKeyboard }
type HandName = keyof typeof hands

/** An organization with two running deployments, a failed one, and 308 of the past. */
interface Seed {
  ada: Person
  owner: Visitor
  chat: string
  /** Why the failed one did */
  cause: string
}
const seeds = new Map<HandName, Seed>()

beforeAll(async () => {
  for (const name of ['pointer', 'keyboard'] as const) seeds.set(name, await seed(name))
  await site.server.stop()
  await site.server.start(withoutHub)
})

async function seed(name: HandName): Promise<Seed> {
  const owner = await openVisitor(site.browser, site.server.url, {
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  // The tasks with an outage and without the Hub
  owner.allowPageErrors(/net::ERR_CONNECTION|status of 50\d/)
  const { request } = owner.page
  const ada = createPerson('Ada Lovelace', `Engines by ${name}`)
  await registerByApi(owner.page, ada)
  const { id: absent } = await callByApi<{ id: string }>(request, 'POST', path, absentVariant)
  const embedding = await deployByApi(owner.page, 'berth-tiny-embedding')
  await addPastDeployments(embedding)
  const chat = await deployByApi(owner.page)
  await callByApi(request, 'PATCH', `${path}/${chat}`, { alias: 'assistant' })
  await waitForStatus(request, absent, 'failed')
  const failed = await callByApi<{ failure_reason: string }>(request, 'GET', `${path}/${absent}`)
  return { ada, owner, chat, cause: failed.failure_reason.replace(/^\w+: /, '') }
}

/**
 * The tasks of four people: one calls models, one runs them, one answers for people and money, one keeps the
 * server. Each is done with the pointer and with the keyboard alone, in at most so many clicks from the
 * signed-in list of deployments, unless noted.
 */
describe.each(['pointer', 'keyboard'] as const)('with the %s', (name) => {
  let ada: Person
  let owner: Visitor
  let chat: string
  let cause: string

  beforeAll(() => {
    ;({ ada, owner, chat, cause } = seeds.get(name)!)
  })
  afterAll(async () => {
    await owner.context.close()
    expect(owner.pageErrors).toEqual([])
  })

  /** Starts at the list of deployments, and bounds and prints the clicks. */
  async function task(title: string, most: number, page: Page, run: (hand: Hand) => Promise<void>) {
    await page.goto('/deployments')
    await see(page.getByRole('main').getByRole('heading', { level: 1 }))
    await see(page.getByRole('main').getByRole('link').first())
    await count(title, most, page, run)
  }

  /** Starts where the page is. */
  async function count(title: string, most: number, page: Page, run: (hand: Hand) => Promise<void>) {
    const hand = hands[name](page)
    await run(hand)
    console.log(`${title} with the ${name}: ${hand.clicks} clicks, at most ${most}`)
    expect.soft(hand.clicks, title).toBeLessThanOrEqual(most)
  }

  async function toAccount(hand: Hand, page: Page) {
    await hand.press(page.getByRole('button', { name: /account menu$/ }))
    await hand.press(page.getByRole('menuitem', { name: 'Your account' }))
  }

  const enterMessage = async (hand: Hand, page: Page) => {
    const message = page.getByRole('textbox', { name: 'Message' })
    await expect.poll(() => message.evaluate((node) => node === document.activeElement)).toBe(true)
    await hand.type(message, 'Who are you?')
    await hand.enter()
    await see(page.getByText(/\d+ tokens in · \d+ out/))
  }

  test('1. register, deploy and chat, from the first visit', async () => {
    const { page } = await site.visit()
    await page.goto('/')
    await see(heading(page, 'Sign in'))
    await count('Register, deploy and chat', 7, page, async (hand) => {
      const person = createPerson()
      await hand.press(link(page, 'Create an account'))
      await hand.type(page.getByLabel('Your name'), person.name)
      await hand.type(page.getByLabel('Email'), person.email)
      await hand.type(passwordIn(page), person.password)
      await hand.type(page.getByLabel('Organization'), person.organization)
      await hand.press(button(page, 'Create account'))
      await hand.press(page.getByRole('button', { name: /^Deploy Berth/ }))
      await see(dialog(page).getByRole('region', { name: 'Hardware and price' }))
      await hand.press(button(dialog(page), 'Deploy'))
      await hand.press(link(page, 'Open in playground'))
      await enterMessage(hand, page)
    })
  })

  test('2. learn why a deployment failed, and what to do', async () => {
    const { page } = owner
    await task('See why it failed', 0, page, async () => {
      const failed = page.getByRole('row').filter({ has: link(page, 'qwen3') })
      await see(failed.getByText('Failed', { exact: true }))
      await see(failed.getByText(cause))
    })
    await task('See what to do about it', 1, page, async (hand) => {
      await hand.press(link(page, 'qwen3'))
      await see(heading(page, 'What to do'))
    })
  })

  test('3. find the most expensive model of the last week', async () => {
    const { page } = owner
    await task('Find the most expensive model', 3, page, async (hand) => {
      await hand.press(link(page, 'Usage'))
      await hand.choose(page.getByLabel('Group by'), 'Model')
      await hand.choose(page.getByLabel('Date range'), 'Last 7 days')
      // The first row is the answer.
      const rows = page.getByRole('region', { name: 'Usage by model' }).getByRole('rowheader')
      await expect.poll(() => rows.first().innerText()).toMatch(/^granite4/)
    })
  })

  test('4. share a model, invite a colleague, accept, and call it', async () => {
    const { page } = owner
    await task('Share a deployment', 3, page, async (hand) => {
      await hand.press(link(page, 'assistant'))
      await hand.press(button(page, 'Share'))
      await hand.press(button(dialog(page), 'Share'))
      await see(button(page, 'Stop sharing'))
    })
    const grace = createPerson('Grace Hopper')
    await task('Invite a colleague', 4, page, async (hand) => {
      await hand.press(link(page, 'Organization'))
      await hand.press(button(page, 'Invite'))
      await hand.type(dialog(page).getByLabel('Emails'), grace.email)
      await hand.press(button(dialog(page), 'Create invitations'))
      await hand.press(button(page, `Copy link for ${grace.email}`))
      await see(page.getByText(/^Copied\./))
    })
    const invitation = await page.evaluate(() => navigator.clipboard.readText())
    const { page: colleague } = await site.visit()
    await colleague.goto(invitation)
    await count('Accept an invitation', 1, colleague, async (hand) => {
      await hand.type(colleague.getByLabel('First name'), 'Grace')
      await hand.type(colleague.getByLabel('Last name'), 'Hopper')
      await hand.type(passwordIn(colleague), grace.password)
      await hand.press(button(colleague, 'Create account and join'))
      await see(heading(colleague, 'Your team shares 1 model'))
    })
    // The 17th task: the answer of a shared model, in one click less than the others have.
    await count('Reach an answer of a shared model', 2, colleague, async (hand) => {
      await hand.press(link(colleague, 'Chat with assistant'))
      await enterMessage(hand, colleague)
    })
  })

  test('5. put a deployment to sleep, wake it, and set when it sleeps and how it scales', async () => {
    const { page } = owner
    const choose = async (hand: Hand, item: string) => {
      await hand.press(button(page, 'Actions for assistant'))
      await hand.press(page.getByRole('menuitem', { name: item }))
    }
    await task('Put it to sleep', 2, page, async (hand) => {
      await choose(hand, 'Sleep')
      await waitForStatus(page.request, chat, 'sleeping')
    })
    await task('Wake it', 2, page, async (hand) => {
      await choose(hand, 'Wake')
      await waitForStatus(page.request, chat, 'running')
    })
    const edit = async (hand: Hand, change: () => Promise<void>) => {
      await hand.press(link(page, 'assistant'))
      await hand.press(button(page, 'Edit scaling and sleep'))
      await change()
      await hand.press(button(dialog(page), 'Save'))
      await seeGone(dialog(page))
    }
    await task('Set the idle minutes', 3, page, (hand) =>
      edit(hand, () => hand.type(dialog(page).getByLabel('Sleep after'), '45')),
    )
    await task('Set a schedule', 4, page, (hand) =>
      edit(hand, () => hand.press(button(dialog(page), 'Add hours'))),
    )
    await task('Set the most instances', 3, page, (hand) =>
      edit(hand, () => hand.type(dialog(page).getByLabel('At most'), '2')),
    )
    const { policy } = await callByApi<{ policy: object }>(page.request, 'GET', `${path}/${chat}`)
    expect(policy).toMatchObject({ idle_minutes: 45, max_instances: 2, schedules: [{}, {}] })
  })

  test('6. raise the context of a deployment', async () => {
    const { page } = owner
    // The bundled model's context is short, so that the list has the chosen one and the longest only.
    await callByApi(page.request, 'PATCH', `${path}/${chat}`, { min_context_tokens: 1_024 })
    await task('Raise the context', 3, page, async (hand) => {
      await hand.press(button(page, 'Actions for assistant'))
      await hand.press(page.getByRole('menuitem', { name: 'Change context' }))
      await hand.choose(dialog(page).getByLabel('Context'), 'As large as fits')
      await hand.press(button(dialog(page), 'Save'))
      await seeGone(dialog(page))
    })
  })

  test('7. activate billing with a test card, verify an invoice, and set a budget that blocks', async () => {
    const { page } = owner
    await task('Activate billing', 6, page, async (hand) => {
      await hand.press(link(page, 'Billing'))
      await hand.press(button(page, 'Activate billing'))
      await hand.press(button(dialog(page), 'Add a card'))
      await hand.press(link(page, 'Fill in the card that ends in 4242'))
      await hand.press(button(page, 'Save card'))
      await see(dialog(page).getByText('Visa •••• 4242'))
      await hand.press(button(dialog(page), 'Activate billing'))
      await see(page.getByText('Billing is active.'))
    })
    // The first invoice is a month away.
    await page.route('**/v1/billing/invoices', (route) => route.fulfill({ json: [invoice] }))
    await task('Verify an invoice', 3, page, async (hand) => {
      await hand.press(link(page, 'Billing'))
      await hand.press(page.getByRole('button', { name: /^Verify: / }))
      await see(dialog(page).getByText(/berth bill verify/))
    })
    await page.unrouteAll()
    await task('Set a budget that blocks', 4, page, async (hand) => {
      await hand.press(link(page, 'Billing'))
      await hand.press(button(page, 'Add budget'))
      await hand.type(dialog(page).getByLabel(/^Limit for/), '1000')
      await hand.choose(dialog(page).getByLabel('At the limit'), 'Stop new deployments')
      await hand.press(button(dialog(page), 'Add budget'))
      await see(page.getByText('The whole organization'))
    })
  })

  test('8. import a model while the Hub is out of reach, upload one, and deploy it', async () => {
    const { page } = owner
    await task('Learn that the Hub is out of reach', 3, page, async (hand) => {
      await hand.press(link(page, 'Catalog'))
      await hand.press(button(page, 'Add a model'))
      await hand.type(dialog(page).getByLabel('Hugging Face repository'), 'harbour/Pilot-GGUF')
      await hand.press(button(dialog(page), 'Check'))
      await see(dialog(page).getByRole('alert'))
    })
    await task('Upload a model', 4, page, async (hand) => {
      await hand.press(link(page, 'Catalog'))
      await hand.press(button(page, 'Add a model'))
      const choosing = page.waitForEvent('filechooser')
      await hand.press(dialog(page).getByLabel('or choose one'))
      const buffer = await readFile(tinyFile)
      const mimeType = 'application/octet-stream'
      await (await choosing).setFiles({ name: 'My pilot.gguf', mimeType, buffer })
      await hand.press(button(dialog(page), 'Add to catalog'))
      await see(page.getByRole('main').getByText('Your organization', { exact: true }))
    })
    await count('Deploy the uploaded model', 2, page, async (hand) => {
      await hand.press(button(page, 'Deploy').first())
      await hand.press(button(dialog(page), 'Deploy'))
      await see(link(page, 'Open in playground'))
    })
  })

  test('9. end a session, add an authenticator app and a passkey, renew codes, and change the password', async () => {
    const { page } = await site.visit()
    await addDevice(page)
    const person = createPerson()
    await registerByApi(page, person)
    const { page: other } = await site.visit()
    const { email, password } = person
    await callByApi(other.request, 'POST', '/v1/user/signin', { email, password })
    await task('End a session', 3, page, async (hand) => {
      await toAccount(hand, page)
      const end = page.getByRole('button', { name: /^End the session of/ })
      await hand.press(end)
      await seeGone(end)
    })
    await task('Add an authenticator app', 6, page, async (hand) => {
      await toAccount(hand, page)
      await hand.press(button(page, 'Set up an authenticator app'))
      await hand.type(passwordIn(dialog(page)), password)
      await hand.press(button(dialog(page), 'Continue'))
      const key = await dialog(page).locator('code').last().innerText()
      const uri = `otpauth://totp/Berth?issuer=Berth&secret=${key.replaceAll(' ', '')}`
      await hand.type(dialog(page).getByLabel('Code'), openApp(uri).code())
      await hand.press(button(dialog(page), 'Turn on'))
      await hand.press(button(dialog(page), 'I have saved them'))
      await see(page.getByText('10 recovery codes are left.'))
    })
    await task('Add a passkey', 4, page, async (hand) => {
      await toAccount(hand, page)
      await hand.press(button(page, 'Add a passkey'))
      await hand.type(dialog(page).getByLabel('Name'), 'Work laptop')
      await hand.type(passwordIn(dialog(page)), password)
      await hand.press(button(dialog(page), 'Continue'))
      await see(page.getByText('Work laptop'))
    })
    await task('Renew the recovery codes', 4, page, async (hand) => {
      await toAccount(hand, page)
      await hand.press(button(page, 'New recovery codes'))
      await hand.type(passwordIn(dialog(page)), password)
      await hand.press(button(dialog(page), 'New recovery codes'))
      await see(dialog(page).getByLabel('Recovery codes', { exact: true }))
    })
    await task('Change the password', 3, page, async (hand) => {
      await hand.press(button(page, /^Search or jump to…/))
      await hand.type(dialog(page).getByRole('combobox'), 'change password')
      await see(dialog(page).getByRole('option', { name: 'Change password' }))
      await hand.enter()
      await hand.type(page.getByLabel('Current password'), password)
      await hand.type(page.getByLabel('New password', { exact: true }), `${password} again`)
      await hand.press(button(page, 'Change password'))
      await see(page.getByText('Password changed. Your other sessions ended.'))
    })
  })

  test('10. add a program, create a session for a script, and read how a script calls a model', async () => {
    const { page } = owner
    await task('Add a program', 3, page, async (hand) => {
      await hand.press(link(page, 'Organization'))
      await hand.press(button(page, 'Add a program'))
      await hand.type(dialog(page).getByLabel('Name'), 'Nightly report')
      await hand.type(dialog(page).getByLabel('Networks'), '127.0.0.0/8')
      await hand.press(button(dialog(page), 'Add a program'))
      await see(heading(page, 'Copy the credentials'))
    })
    await task('Create a session for a script', 4, page, async (hand) => {
      await toAccount(hand, page)
      await hand.press(button(page, 'Create a session for scripts'))
      await hand.type(dialog(page).getByLabel('Name'), 'Notebook')
      await hand.type(passwordIn(dialog(page)), ada.password)
      await hand.press(button(dialog(page), 'Create session'))
      await see(heading(page, 'Copy your session'))
    })
    await task('Read how a script calls a model', 2, page, async (hand) => {
      await hand.press(link(page, 'assistant'))
      await hand.press(page.getByRole('radio', { name: 'Python', exact: true }))
      await see(page.getByLabel('Python code', { exact: true }))
    })
  })

  test('11. compare two models, stop an answer, and compare embedded texts', async () => {
    const { page } = owner
    const other = await deployByApi(page)
    await page.goto('/playground')
    await count('Compare two models', 1, page, async (hand) => {
      await hand.press(button(page, 'Compare'))
      await see(page.getByLabel('Deployment 2'))
    })
    await page.goto(`/playground?deployment=${chat}`)
    await site.server.signalEngines('SIGSTOP')
    await page.getByRole('textbox', { name: 'Message' }).fill('Tell me more.')
    await page.getByRole('textbox', { name: 'Message' }).press('Enter')
    await see(button(page, 'Stop'))
    try {
      await count('Stop an answer', 1, page, async (hand) => {
        await hand.press(button(page, 'Stop'))
        await see(page.getByText('Stopped.', { exact: true }))
      })
    } finally {
      await site.server.signalEngines('SIGCONT')
    }
    await page.goto('/playground')
    await count('Compare embedded texts', 2, page, async (hand) => {
      await hand.press(page.getByRole('radio', { name: 'Embeddings' }))
      await hand.press(button(page, 'Compare'))
      await see(page.getByText(/Most similar: texts/))
    })
    await callByApi(page.request, 'DELETE', `${path}/${other}`)
  })

  test('12. read and export the audit log', async () => {
    const { page } = owner
    await task('Read the audit log', 2, page, async (hand) => {
      await hand.press(link(page, 'Organization'))
      await hand.press(tab(page, 'Audit log'))
      await see(page.getByRole('button', { name: /^Shared|^Changed|^Created/ }))
    })
    await task('Export the audit log', 3, page, async (hand) => {
      await hand.press(link(page, 'Organization'))
      await hand.press(tab(page, 'Audit log'))
      const downloading = page.waitForEvent('download')
      await hand.press(button(page, 'Export CSV'))
      expect((await downloading).suggestedFilename()).toMatch(/\.csv$/)
    })
  })

  test('13. leave, remove a member whose deployment a colleague receives, and delete an account', async () => {
    const { page } = owner
    const { page: mary } = await site.visit()
    await joinByApi(page, mary, 'member', 'Mary Somerville')
    const left = await deployByApi(mary)
    const { page: leaver } = await site.visit()
    await joinByApi(page, leaver, 'viewer', 'Luigi Menabrea')
    await task('Leave an organization', 4, leaver, async (hand) => {
      await hand.press(link(leaver, 'Organization'))
      await hand.press(button(leaver, 'Actions for Luigi Menabrea'))
      await hand.press(leaver.getByRole('menuitem', { name: 'Leave' }))
      await hand.press(button(dialog(leaver), 'Leave'))
      await see(leaver.getByText(/^You left |Deploy your first model/))
    })
    await task('Remove a member', 5, page, async (hand) => {
      await hand.press(link(page, 'Organization'))
      await hand.press(button(page, 'Actions for Mary Somerville'))
      await hand.press(page.getByRole('menuitem', { name: 'Remove' }))
      await hand.type(dialog(page).getByRole('combobox'), 'ada')
      await hand.press(dialog(page).getByRole('option', { name: /^Ada Lovelace/ }))
      await hand.press(button(dialog(page), 'Remove'))
      await see(page.getByText('Mary Somerville was removed.'))
    })
    await waitForStatus(page.request, left, 'running')
    await callByApi(page.request, 'DELETE', `${path}/${left}`)
    const { page: single } = await site.visit()
    const barbara = createPerson('Barbara Liskov', 'Abstractions')
    await registerByApi(single, barbara)
    await task('Delete an account', 4, single, async (hand) => {
      await toAccount(hand, single)
      await hand.press(button(single, 'Delete account'))
      await hand.type(passwordIn(dialog(single)), barbara.password)
      await hand.press(button(dialog(single), 'Delete account'))
      await see(single.getByText('Your account is deleted.'))
    })
  })

  test('14. find one of 311 deployments by its name', async () => {
    const { page } = owner
    await task('Find one of 311 by its name', 2, page, async (hand) => {
      await hand.press(page.getByRole('radio', { name: 'All' }))
      await see(page.getByText(/of 31\d$/))
      await hand.type(page.getByRole('searchbox', { name: 'Search name, owner or id' }), 'svc-49')
      await see(link(page, 'svc-49'))
      await expect.poll(() => page.getByRole('row').count()).toBe(2)
    })
  })

  test('15. see what runs where, and how much memory is free', async () => {
    const { page } = await site.visit()
    const operator = createPerson('Hedy Lamarr', 'Operations')
    await registerByApi(page, operator)
    await addAuthenticator(page, operator)
    await site.server.admin('operator', 'grant', operator.email)
    await task('See what runs where, and the free memory', 1, page, async (hand) => {
      await hand.press(link(page, 'This server'))
      const row = page.getByRole('region', { name: 'What runs here' }).getByRole('row')
      await see(row.filter({ hasText: ada.organization }).filter({ hasText: 'berth-tiny' }))
      await see(page.getByRole('cell', { name: /^[\d.,]+\s[MG]iB$/ }))
    })
  })

  test('16. go on after an outage, an ended session, and a sign-out in another tab', async () => {
    const { page, context, allowPageErrors } = await site.visit()
    allowPageErrors(/net::ERR_|status of (401|50\d)/)
    const person = createPerson()
    await registerByApi(page, person)
    await page.goto('/organization?tab=settings')
    const description = page.getByLabel('Description')
    await description.fill('Half a sentence')
    await count('Go on after an outage', 0, page, async () => {
      const away = page.getByText('No connection to the server. This page may be out of date.')
      await site.server.stop()
      await see(away)
      await site.server.start(withoutHub)
      await seeGone(away)
      expect(await description.inputValue()).toBe('Half a sentence')
    })
    const cookies = await context.cookies()
    await page.request.post('/v1/user/logout')
    await context.addCookies(cookies)
    // The stream of news may tell the page before.
    await button(page, 'Save')
      .click({ timeout: 2_000 })
      .catch(() => {})
    await see(page.getByText('Your session has ended.'))
    await count('Go on after the session has ended', 1, page, async (hand) => {
      await hand.type(passwordIn(page), person.password)
      await hand.press(button(page, 'Sign in'))
      await expect.poll(() => description.inputValue()).toBe('Half a sentence')
    })
    const other = await context.newPage()
    await other.goto('/profile')
    await other.getByRole('button', { name: /account menu$/ }).click()
    await other.getByRole('menuitem', { name: 'Sign out' }).click()
    await count('Learn of a sign-out in another tab', 0, page, () => see(heading(page, 'Sign in')))
  })
})

/** Fits any machine, but its weights are at the Hub. */
const absentVariant = {
  model_name: 'qwen3',
  model_format: 'ggufv2',
  model_size_in_billions: 0.6,
  quantization: 'Q8_0',
}

/** Adds 308 past deployments of three models, with hours of two days ago, most of them of granite4. */
async function addPastDeployments(like: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    await client.query(
      `WITH added AS (
         INSERT INTO deployments (id, user_id, organization_id, alias, model_name, model_format,
           model_size_in_billions, quantization, inference_model_uid, variant, desired_state, status, created_at,
           updated_at, status_changed_at, terminated_at)
         SELECT made.id, user_id, organization_id, 'svc-' || n, (ARRAY['aya', 'granite4', 'qwen3'])[n % 3 + 1],
           model_format, model_size_in_billions, quantization, 'dep-' || made.id, variant, 'ended', 'terminated',
           now() - n * interval '1 hour' - interval '2 days', now(), now(), now() - interval '1 day'
         FROM deployments, generate_series(1, 308) AS n,
           LATERAL (SELECT gen_random_uuid() AS id, n AS made_for) AS made
         WHERE deployments.id = $1
         RETURNING id, organization_id, model_name
       )
       INSERT INTO usage_buckets (organization_id, deployment_id, meter, hour, dimensions, quantity, price_key,
         service_key, display_name, unit_amount, currency, sealed_at)
       SELECT organization_id, id, 'gpu_instance_seconds', date_trunc('hour', now(), 'UTC') - interval '2 days',
         '{"instance_type": "local-cpu", "region": "local"}',
         CASE model_name WHEN 'granite4' THEN 3600 ELSE 60 END,
         'gpu_instance_seconds.local-cpu.local.0.00001-usd', 'compute', 'CPU', 0.00001, 'usd', now()
       FROM added`,
      [like],
    )
  } finally {
    await client.end()
  }
}
