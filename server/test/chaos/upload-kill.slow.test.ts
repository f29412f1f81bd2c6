import { expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import { runUploadKills } from './upload-kill.ts'

// `npm run test:upload-kill` runs fifty rounds.
test(
  'four kill -9 during uploads and imports: each goes on or is gone, and no file stays without an upload',
  { timeout: 300_000 },
  async () => {
    const database = await createTestDatabase('migrated')
    try {
      const summary = await runUploadKills({ databaseUrl: database.url, rounds: 4, seed: 20_261_126 })
      expect(summary).toMatchObject({ rounds: 4, uploads: 8, imports: 4 })
    } finally {
      await database.drop()
    }
  },
)
