import { expect, test } from 'vitest'
import { useConsole } from './support/console.ts'
import { measureFirstView } from './support/first-view.ts'
import { startConsoleServer } from './support/server.ts'
import { deployByApi, createPerson, registerByApi } from './support/steps.ts'

const site = useConsole(startConsoleServer)

test('the first view loads at most 150 KB of compressed JavaScript', async () => {
  const { page } = await site.visit()
  await registerByApi(page, createPerson())
  await deployByApi(page)
  const scripts = await measureFirstView(page)
  const sum = scripts.reduce((bytes, script) => bytes + script.bytes, 0)
  expect(sum, scripts.map(({ path, bytes }) => `${path} ${bytes}`).join('\n')).toBeLessThan(150_000)
  expect(scripts.length).toBeGreaterThan(0)
})
