import { expect, test } from 'vitest'
import { runAdmin } from '../../server/test/support/admin.ts'
import { useConsole } from './support/console.ts'
import { startConsoleServer } from './support/server.ts'
import { createPerson, register, see, seeGone } from './support/steps.ts'

const site = useConsole(() => startConsoleServer())

test('members of a suspended organization learn why nothing works', async () => {
  const { page } = await site.visit()
  const person = createPerson()
  await register(page, person)
  const notice = page.getByText(/The operator of this server suspended/)
  await seeGone(notice)
  const operate = async (...args: string[]) => {
    const result = await runAdmin({ DATA_DIR: site.server.dataDirectory }, ['organization', ...args])
    expect(result.code, result.stderr).toBe(0)
  }
  await operate('suspend', '1', '--reason', 'unpaid')
  await page.reload()
  await see(notice)
  await operate('resume', '1')
  await page.reload()
  await seeGone(notice)
})
