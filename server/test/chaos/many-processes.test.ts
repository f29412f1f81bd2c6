import { expect, onTestFinished, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import { runManyProcesses } from './many-processes.ts'

// `npm run test:many-processes` kills twenty times. Linux only.
test.skipIf(process.platform !== 'linux')(
  'two APIs and two workers, three kill -9 under load: no acknowledged change is lost, nothing is provisioned twice',
  { timeout: 300_000 },
  async () => {
    const database = await createTestDatabase()
    onTestFinished(() => database.drop())
    const summary = await runManyProcesses({ databaseUrl: database.url, kills: 3, seed: 20_260_801 })
    expect(summary.kills.api + summary.kills.worker).toBe(3)
    expect(summary.launches).toBeGreaterThan(3)
  },
)
