import { expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import { runBillingKills } from './billing-kill.ts'

// `npm run test:billing-kill` runs thirty rounds of each step.
test(
  'kill -9 between any two queries of activating, reporting usage and invoicing: one customer, one subscription, no usage lost or doubled',
  { timeout: 600_000 },
  async () => {
    const database = await createTestDatabase('migrated')
    try {
      const summary = await runBillingKills({ databaseUrl: database.url, rounds: 3, seed: 20_261_120 })
      expect(summary.rounds).toEqual({ activation: 3, usage: 3, invoice: 3, payment: 3 })
      expect(Object.values(summary.kills).reduce((sum, kills) => sum + kills)).toBeGreaterThan(6)
    } finally {
      await database.drop()
    }
  },
)
