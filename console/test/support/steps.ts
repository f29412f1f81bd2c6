import { randomBytes } from 'node:crypto'
import type { APIRequestContext, Locator, Page } from 'playwright-core'
import { waitUntil } from '../../../server/test/support/process.ts'
import { openApp } from '../../../server/test/support/second-factors.ts'
import { waitTimeout } from './server.ts'

/** A person with or without an account. */
export interface Person {
  name: string
  email: string
  password: string
  organization: string
}

/** Creates a person with a unique email address. */
export function createPerson(name = 'Ada Lovelace', organization = 'Analytical Engines'): Person {
  const id = randomBytes(4).toString('hex')
  const [first = 'somebody'] = name.toLowerCase().split(' ')
  return {
    name,
    email: `${first}-${id}@example.com`,
    password: `difference engine ${id}`,
    organization,
  }
}

/** Waits until an element is visible. */
export const see = (locator: Locator) => locator.filter({ visible: true }).first().waitFor()

/** Waits until an element is hidden or removed. */
export const seeGone = (locator: Locator) => locator.waitFor({ state: 'hidden' })

/** Registers a person who accepts an admin's invitation; returns the user id. */
export async function joinByApi(
  admin: Page,
  page: Page,
  role: 'viewer' | 'member' | 'admin',
  name = 'Mary Somerville',
): Promise<number> {
  const { email, password } = createPerson(name)
  const path = '/v1/organization/invitations'
  const { id } = await callByApi<{ id: number }>(admin.request, 'POST', path, { email, role })
  const { url } = await callByApi<{ url: string }>(admin.request, 'POST', `${path}/${id}/link`)
  const [first_name, last_name] = name.split(' ')
  const token = new URL(url).pathname.split('/').at(-1)
  const body = { token, password, first_name, last_name }
  await callByApi(page.request, 'POST', '/v1/invitations/register', body)
  const session = await callByApi<{ user: { id: number } }>(page.request, 'GET', '/v1/auth/session')
  return session.user.id
}

/** The heading of a page or dialog. */
export const heading = (page: Page, name: string | RegExp) => page.getByRole('heading', { name })

/** Registers on the registration page and waits for the deployments page. */
export async function register(page: Page, person: Person): Promise<void> {
  await page.goto('/register')
  await page.getByLabel('Your name').fill(person.name)
  await page.getByLabel('Email').fill(person.email)
  await page.getByLabel('Password', { exact: true }).fill(person.password)
  await page.getByLabel('Organization').fill(person.organization)
  await page.getByRole('button', { name: 'Create account' }).click()
  await page.waitForURL('**/deployments')
}

/** Signs in on the sign-in page, which must be open. */
export async function signIn(page: Page, { email, password }: Person): Promise<void> {
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await seeGone(page.getByRole('button', { name: 'Sign in' }))
}

/** Registers through the API; the page's browser context receives the session cookie. */
export async function registerByApi(page: Page, person: Person): Promise<void> {
  const { name, email, password, organization } = person
  await callByApi(page.request, 'POST', '/v1/user/register', { name, email, password, organization })
}

/** Adds an authenticator app through the API. */
export async function addAuthenticator(page: Page, { password }: Person): Promise<void> {
  const path = '/v1/user/second-factors/totp'
  const { uri } = await callByApi<{ uri: string }>(page.request, 'POST', path, { password })
  await callByApi(page.request, 'POST', `${path}/verify`, { code: openApp(uri).code() })
}

/** Deploys a model through the API, waits until it runs, and returns the deployment's id. */
export async function deployByApi(
  page: Page,
  model: 'berth-tiny' | 'berth-tiny-embedding' = 'berth-tiny',
): Promise<string> {
  const body = { model_name: model }
  const { id } = await callByApi<{ id: string }>(page.request, 'POST', '/api/v1/model-deployments', body)
  await waitForStatus(page.request, id, 'running')
  return id
}

/** Waits until a deployment has a status. */
export async function waitForStatus(request: APIRequestContext, id: string, status: string): Promise<void> {
  const path = `/api/v1/model-deployments/${id}?scope=organization`
  const hasStatus = async () => (await callByApi<{ status: string }>(request, 'GET', path)).status === status
  await waitUntil(hasStatus, waitTimeout, `deployment ${id} to be ${status}`)
}

/** Calls the API with the page's cookies; throws unless the status is a success. */
export async function callByApi<Body>(
  request: APIRequestContext,
  method: string,
  path: string,
  data?: object,
): Promise<Body> {
  const response = await request.fetch(path, { method, ...(data && { data }) })
  if (!response.ok()) throw new Error(`${method} ${path} failed: ${await response.text()}`)
  return (response.status() === 204 ? undefined : await response.json()) as Body
}

/** Deploys the suggested model from the empty list and waits until it runs. */
export async function deployFirstModel(page: Page): Promise<void> {
  await see(heading(page, 'Deploy your first model'))
  await page.getByRole('button', { name: /^Deploy / }).click()
  const dialog = page.getByRole('dialog')
  await see(dialog.getByRole('region', { name: 'Hardware and price' }))
  await dialog.getByRole('button', { name: 'Deploy', exact: true }).click()
  await page.waitForURL('**/deployments/*')
  await see(page.getByRole('link', { name: 'Open in playground' }))
}

/**
 * Activates billing without a saved card: enters a card on the payment processor's page, then finishes the
 * activation.
 */
export async function activateBilling(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Activate billing' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Add a card' }).click()
  await enterCard(page)
  await see(dialog.getByText('Visa •••• 4242'))
  await dialog.getByRole('button', { name: 'Activate billing' }).click()
  await see(page.getByText('Billing is active.'))
}

/**
 * Enters a card on the sandbox's checkout page, approves the bank verification, and waits for the console.
 */
export async function enterCard(page: Page, number = '4242 4242 4242 4242', bankAsks = false): Promise<void> {
  await page.waitForURL('**/sandbox/billing/checkout/**')
  await page.getByLabel('Card number').fill(number)
  await page.getByLabel('Expires').fill('12 / 34')
  await page.getByLabel('CVC').fill('123')
  await page.getByLabel('Name on the card').fill('Ada Lovelace')
  await page.getByRole('button', { name: 'Save card' }).click()
  if (bankAsks) await page.getByRole('button', { name: 'Approve' }).click()
  await page.waitForURL(({ pathname }) => pathname === '/billing')
}
