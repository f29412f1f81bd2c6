import { expect, onTestFinished, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import { runComponentKill } from './component-kill.ts'
import { openSimulatorBackend } from './simulator-backend.ts'

// `npm run test:component-kill -- --runtime simulator` runs 25 rounds. Linux only.
test.skipIf(process.platform !== 'linux')(
  'two APIs and two workers, three kill -9 under load: no acknowledged change is lost, nothing is provisioned twice',
  { timeout: 600_000 },
  async () => {
    const database = await createTestDatabase('migrated')
    onTestFinished(() => database.drop())
    const summary = await runComponentKill({
      openBackend: openSimulatorBackend,
      databaseUrl: database.url,
      rounds: 3,
      seed: 20_260_801,
    })
    expect(Object.values(summary.kills).reduce((sum, kills) => sum + kills)).toBe(3)
    expect(Object.keys(summary.kills).toSorted()).toEqual(['api', 'worker'])
    expect(summary.created).toBeGreaterThan(3)
  },
)
