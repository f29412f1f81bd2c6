import { test } from 'vitest'
import { runAdmin } from '../../server/test/support/admin.ts'
import { administer } from '../../server/test/support/administer-database.ts'
import { createTestDatabase } from '../../server/test/support/database.ts'
import { useConsole } from './support/console.ts'
import { startConsoleServer } from './support/server.ts'
import { createPerson, register, see, seeGone } from './support/steps.ts'

let databaseUrl = ''
const site = useConsole(async () => {
  const database = await createTestDatabase('migrated')
  databaseUrl = database.url
  await administer(databaseUrl, `INSERT INTO database_identities (identity) VALUES ('that of the original')`)
  const server = await startConsoleServer({ DATABASE_URL: databaseUrl })
  return { ...server, close: () => server.close().then(() => database.drop()) }
})

test('in a copied database people learn why nothing changes, until the operator decides', async () => {
  const { page } = await site.visit()
  await register(page, createPerson())
  const notice = page.getByText(/This database was restored from a copy/)
  await see(notice)
  await page.clock.install()
  await page.reload()
  await see(notice)
  const settings = { DATABASE_URL: databaseUrl, DATA_DIR: site.server.dataDirectory }
  const { code, stderr } = await runAdmin(settings, ['installation', 'take-over'])
  if (code !== 0) throw new Error(stderr)
  await page.clock.fastForward('00:31')
  await seeGone(notice)
})
