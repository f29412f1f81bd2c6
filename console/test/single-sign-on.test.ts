import { randomInt } from 'node:crypto'
import getPort, { portNumbers } from 'get-port'
import { test } from 'vitest'
import { client, newPerson, startTestProvider } from '../../server/test/support/oidc-provider.ts'
import type { TestProvider } from '../../server/test/support/oidc-provider.ts'
import { useConsole } from './support/console.ts'
import { startConsoleTestServer } from './support/test-server.ts'
import { callByApi, createPerson, heading, registerByApi, see, seeGone, signIn } from './support/steps.ts'

let provider: TestProvider
const site = useConsole(async () => {
  const port = await getPort({ host: '127.0.0.1', port: portNumbers(randomInt(20_000, 31_000), 32_000) })
  const address = `http://127.0.0.1:${port}`
  provider = await startTestProvider({ site: address })
  const server = await startConsoleTestServer({
    PORT: String(port),
    PUBLIC_URL: address,
    OIDC_ISSUER_URL: provider.issuer,
    OIDC_CLIENT_ID: client.id,
    OIDC_CLIENT_SECRET: client.secret,
    SSO_DISPLAY_NAME: 'Example Login',
    ORGANIZATION_DOMAINS: 'corp.test:Research:member',
  })
  return {
    ...server,
    url: address,
    close: async () => {
      await server.close()
      await provider.close()
    },
  }
})

const enter = 'Continue with Example Login'

test('a person sees their linked identity, and removes it once they have a password', async () => {
  const person = newPerson()
  const { email } = person
  provider.setPerson(person)
  const { page, allowPageErrors } = await site.visit()
  // The password reset ends the session.
  allowPageErrors(/401/)
  await page.goto('/sign-in?return_to=/profile')
  await page.getByRole('link', { name: enter }).click()
  await page.getByLabel('Organization').fill('Engines')
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.waitForURL('**/deployments')
  await page.goto('/profile')
  const identity = page.getByRole('listitem').filter({ hasText: person.sub })
  await see(identity.getByText('Example Login'))
  await see(page.getByText('You can remove this link once you can sign in with a password.'))
  await seeGone(identity.getByRole('button'))

  await callByApi(page.request, 'POST', '/v1/auth/password-reset/request', { email })
  await page.goto(await site.server.waitForMailedLink(email, 'Reset'))
  const password = 'difference engine'
  await page.getByLabel('New password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Set password' }).click()
  await page.waitForURL('**/sign-in')
  await page.goto('/sign-in?return_to=/profile')
  await signIn(page, { email, password, name: '', organization: '' })
  await identity.getByRole('button', { name: 'Remove the link to Example Login' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Password', { exact: true }).fill(password)
  await dialog.getByRole('button', { name: 'Remove' }).click()
  await see(page.getByText('Link removed. Your other sessions ended.'))
  await seeGone(identity)
})

test('a person joins the organization of their address’s domain, signs out at the provider too, and returns', async () => {
  const person = newPerson({ email: 'grace@corp.test' })
  const visitor = await site.visit()
  await registerByApi(visitor.page, { ...createPerson(), email: person.email })
  const { page } = await site.visit()
  provider.setPerson(person)
  await page.goto('/sign-in?return_to=/profile')
  await page.getByRole('link', { name: enter }).click()
  await see(page.getByText('People with an address of corp.test may join as Member.'))
  await page.getByRole('button', { name: 'Join Research' }).click()
  await page.waitForURL('**/deployments')
  await see(page.getByRole('complementary').getByText('Research'))

  await page.getByRole('button', { name: 'account menu' }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await page.getByRole('button', { name: 'Yes, sign me out' }).click()
  await page.waitForURL('**/sign-in')
})

test('the sign-in page says why another person with the same address is refused', async () => {
  const person = newPerson()
  const { page } = await site.visit()
  provider.setPerson(person)
  await page.goto('/sign-in')
  await page.getByRole('link', { name: enter }).click()
  await see(heading(page, /./))
  const { page: other } = await site.visit()
  provider.setPerson(newPerson({ email: person.email }))
  await other.goto('/sign-in')
  await other.getByRole('link', { name: enter }).click()
  await see(other.getByText(/^Another person at your provider already uses the account/))
})
