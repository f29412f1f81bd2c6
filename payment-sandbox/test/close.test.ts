import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { startTestSandbox } from './support.ts'

test('closing cuts connections that are still closing, and no error escapes', async () => {
  for (let round = 0; round < 3; round += 1) {
    const world = await startTestSandbox()
    const answers = Array.from({ length: 20 }, () => sql`SELECT pg_sleep(0.05)`.execute(world.db))
    expect(await Promise.all(answers)).toHaveLength(20)
    // An uncaught error fails the run of the tests.
    await world.close()
  }
})
