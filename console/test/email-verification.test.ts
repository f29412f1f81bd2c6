import { afterAll, beforeAll, expect, test } from 'vitest'
import { startMailServer } from '../../server/test/support/mail.ts'
import type { MailServer } from '../../server/test/support/mail.ts'
import { useConsole } from './support/console.ts'
import { startConsoleTestServer } from './support/test-server.ts'
import { createPerson, register, see, seeGone, signIn } from './support/steps.ts'

let mails: MailServer
beforeAll(async () => {
  mails = await startMailServer()
})
afterAll(() => mails.stop())
const site = useConsole(async () =>
  startConsoleTestServer({ MAIL_URL: mails.url, EMAIL_CONFIRMATION: 'required' }),
)

test('a new person verifies their email through the link, after signing in where it was opened', async () => {
  const person = createPerson()
  const { page } = await site.visit()
  await register(page, person)
  const notice = page.getByText('Verify your email to deploy models and invite people')
  await see(notice)
  await page.getByRole('button', { name: 'Send it again' }).click()
  await see(page.getByText('We sent a new link.'))
  const token = await mails.waitForVerification(person.email, 2)

  const { page: phone, allowPageErrors } = await site.visit({ viewport: { width: 390, height: 800 } })
  allowPageErrors(/401/)
  await phone.goto(`/verify-email?token=${token}`)
  await signIn(phone, person)
  await phone.getByRole('button', { name: 'Verify email' }).click()
  await phone.waitForURL('**/deployments')
  expect(await phone.getByText('Verify your email to deploy').count()).toBe(0)
  await page.reload()
  await seeGone(notice)
})
