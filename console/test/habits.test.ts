import { expect, test } from 'vitest'
import { useConsole } from './support/console.ts'
import { startConsoleServer } from './support/server.ts'
import { heading, inventPerson, registerByApi, see } from './support/steps.ts'

const site = useConsole(startConsoleServer)

test('a double click registers once, and spaces around a pasted address do no harm', async () => {
  const { page } = await site.visit()
  const person = inventPerson()
  const sent: string[] = []
  page.on('request', (request) => request.method() === 'POST' && sent.push(new URL(request.url()).pathname))
  await page.goto('/register')
  await page.getByLabel('Your name').fill(person.name)
  await page.getByLabel('E-mail').focus()
  await page.keyboard.insertText(`  ${person.email} `)
  await page.getByLabel('Password', { exact: true }).fill(person.password)
  await page.getByLabel('Organization').fill(person.organization)
  await page.getByRole('button', { name: 'Create account' }).dblclick()
  await see(heading(page, 'Deploy your first model'))
  await see(page.getByText(person.email, { exact: true }))
  expect(sent).toEqual(['/v1/user/register'])
})

test('copying on a page without TLS, where browsers keep the clipboard to themselves', async () => {
  const { page } = await site.visit()
  await page.addInitScript(() => Object.defineProperty(navigator, 'clipboard', { value: undefined }))
  await registerByApi(page, inventPerson())
  await page.goto('/catalog/berth-tiny')
  // It says so for a moment, and is called as before then.
  const copy = page.getByRole('button', { name: /^(Copy Name to call|Copied)$/ })
  await copy.focus()
  await page.keyboard.press('Enter')
  expect(await copy.evaluate((node) => node === document.activeElement)).toBe(true)

  await page.goto('/catalog')
  const search = page.getByRole('searchbox', { name: 'Search models' })
  await search.focus()
  await page.keyboard.press('Control+v')
  expect(await search.inputValue()).toBe('berth-tiny')
})

test('signing out in one tab leaves nothing in sight in another', async () => {
  const { page, context } = await site.visit()
  await registerByApi(page, inventPerson())
  await page.goto('/organization')
  await see(heading(page, 'Organization'))
  const other = await context.newPage()
  await other.goto('/profile')
  await other.getByRole('button', { name: 'Ada Lovelace' }).click()
  await other.getByRole('menuitem', { name: 'Sign out' }).click()
  await see(heading(other, 'Sign in'))
  await see(heading(page, 'Sign in'))
  expect(new URL(page.url()).searchParams.get('return_to')).toBe('/organization')
})
